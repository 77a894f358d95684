"""The way into every page: who asks, whether they may, and what becomes of what goes wrong.

A route is made by `page` or `action` and by nothing else, so that no handler can forget a check.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from intention_kernel.clock import Clock
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import InfrastructureError
from intention_kernel.identity.principal import Principal
from intention_kernel.ports.identity import Permission
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from receipt_reconciler.web.console import refusal
from receipt_reconciler.web.console.denials import note_denied
from receipt_reconciler.web.console.forms import MOST_OPEN_BYTES, Form, read_form
from receipt_reconciler.web.console.origin import is_own
from receipt_reconciler.web.console.refusal import Refusal
from receipt_reconciler.web.console.rendering import rendered, url
from receipt_reconciler.web.console.sessions import recognised
from receipt_reconciler.web.desk import Desk

logger = logging.getLogger(__name__)

THEMES = ("system", "light", "dark")
THEME_COOKIE = "theme"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of somebody who was recognised, with the form that they sent."""

    request: Request
    desk: Desk
    who: Principal
    form: Form = field(default_factory=Form)

    @property
    def clock(self) -> Clock:
        """The process's."""
        return self.desk.clock

    def word(self, name: str) -> str:
        """A parameter of the address; empty where there is none."""
        return self.request.query_params.get(name, "")

    def part(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    def page(self, template: str, *, status: int = 200, **view: object) -> Response:
        """A page in the layout that all have."""
        return rendered(template, status, **_layout(self.request, self.desk, self.who), **view)

    def sent_on(self, path: str, said: str | None = None) -> Response:
        """After a form: to a page, with a sentence of `saying` about what was done."""
        there, _, place = path.partition("#")
        return RedirectResponse(url(there, said=said) + (f"#{place}" if place else ""), 303)


Handler = Callable[[Ask], Awaitable[Response]]
OpenHandler = Callable[[Request, Desk, Form], Awaitable[Response]]


def page(path: str, handler: Handler, permission: Permission | None = None) -> Route:
    """A page for those who are signed in and hold the permission."""

    async def answer(request: Request, desk: Desk) -> Response:
        return await handler(await _asked(request, desk, permission))

    return _route(path, answer, "GET")


def action(path: str, handler: Handler, permission: Permission | None = None, *, changes: bool = True) -> Route:
    """What a form does; `changes` False: it may be done at a console that is read-only, too."""

    async def answer(request: Request, desk: Desk) -> Response:
        ask = await _asked(request, desk, permission)
        if changes and desk.read_only:
            raise refusal.READ_ONLY
        return await handler(Ask(request, desk, ask.who, await read_form(request)))

    return _route(path, answer, "POST")


def open_page(path: str, handler: OpenHandler) -> Route:
    """A page for everybody."""

    async def answer(request: Request, desk: Desk) -> Response:
        return await handler(request, desk, Form())

    return _route(path, answer, "GET")


def open_action(path: str, handler: OpenHandler) -> Route:
    """A form for everybody; other sites' are refused all the same."""

    async def answer(request: Request, desk: Desk) -> Response:
        return await handler(request, desk, await read_form(request, MOST_OPEN_BYTES))

    return _route(path, answer, "POST")


def bare_page(request: Request, desk: Desk, template: str, status: int = 200, **view: object) -> Response:
    """A page for somebody who is not signed in."""
    return rendered(template, status, **_layout(request, desk, None), **view)


def _route(path: str, answer: Callable[[Request, Desk], Awaitable[Response]], method: str) -> Route:
    async def endpoint(request: Request) -> Response:
        desk: Desk = request.app.state.desk
        try:
            if method == "POST" and not is_own(request.headers):
                raise refusal.FOREIGN
            return await answer(request, desk)
        except Refusal as refused:
            return await _refused(request, desk, refused)
        except InfrastructureError as error:
            logger.warning("%s", error)
            return bare_page(request, desk, "error.html", 503, refusal=refusal.away("It may be restarting"))

    return Route(path, endpoint, methods=[method], include_in_schema=False)


async def _asked(request: Request, desk: Desk, permission: Permission | None) -> Ask:
    who = await recognised(request, desk)
    if who is None:
        raise _SignInFirst
    if permission is not None and not who.may(permission):
        where: dict[str, JsonValue] = {"method": request.method, "path": request.url.path}
        await note_denied(request, desk, who.user, permission, where)
        raise refusal.not_allowed(permission)
    return Ask(request, desk, who)


_SignInFirst = Refusal(401, "Sign in", "")


async def _refused(request: Request, desk: Desk, refused: Refusal) -> Response:
    if refused is _SignInFirst:
        wanted = request.url.path if request.method == "GET" else "/"
        query = f"?{request.url.query}" if request.method == "GET" and request.url.query else ""
        return RedirectResponse(url("/login", next=wanted + query), 303)
    return await error_page(request, desk, refused)


async def error_page(request: Request, desk: Desk, refused: Refusal) -> Response:
    """With the menu of who is signed in, as far as the store can tell."""
    try:
        who = await recognised(request, desk)
    except InfrastructureError:
        who = None
    return rendered("error.html", refused.status, **_layout(request, desk, who), refusal=refused)


def _layout(request: Request, desk: Desk, who: Principal | None) -> dict[str, object]:
    theme = request.cookies.get(THEME_COOKIE, "system")
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return {
        "who": who,
        "may": (lambda permission: who is not None and who.may(permission)),
        "theme": theme if theme in THEMES else "system",
        "themes": THEMES,
        "read_only": desk.read_only,
        "here": here if request.method == "GET" else "/",
        "path": request.url.path,
        "said": request.query_params.get("said", ""),
    }

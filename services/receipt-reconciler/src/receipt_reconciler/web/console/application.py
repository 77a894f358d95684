"""The console's application: its routes, and a page for whatever is none of them."""

from __future__ import annotations

from ipaddress import ip_address

from intention_kernel.identity.passwords import Passwords
from intention_kernel.identity.rate_limit import Attempts
from intention_kernel.identity.signing_in import OF_A_NAME, SESSION_SECONDS, SigningIn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from receipt_reconciler.web.api.entry import routed
from receipt_reconciler.web.console.asking import bare_page, error_page
from receipt_reconciler.web.console.denials import OF_A_USER
from receipt_reconciler.web.console.refusal import Refusal
from receipt_reconciler.web.console.routes import console_routes
from receipt_reconciler.web.desk import Desk


def console_application(
    desk: Desk, passwords: Passwords, *, secure: bool, session_seconds: float = SESSION_SECONDS
) -> ASGIApp:
    """Everything that is not the API. `secure`: cookies are for TLS only, see `is_loopback`."""
    app = Starlette(routes=console_routes(), exception_handlers={HTTPException: _of_framework, Exception: _unexpected})
    app.router.redirect_slashes = False
    app.state.desk = desk
    app.state.passwords = passwords
    app.state.signing_in = SigningIn(desk.identity, passwords, desk.clock, session_seconds=session_seconds)
    app.state.attempts = Attempts(OF_A_NAME, desk.clock)
    app.state.denials = Attempts(OF_A_USER, desk.clock)
    app.state.secure = secure
    return _Entry(app)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches it, so that there need be no TLS."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Entry:
    """Gives the router a path whose segments are still apart: ids may hold slashes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(routed(scope), receive, send)


async def _of_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    refused = Refusal(404, "No such page", "There is no page of that address.")
    if error.status_code == 405:
        refused = Refusal(405, "Not like this", "That address takes a form of this console, or none.")
    return await error_page(request, request.app.state.desk, refused)


async def _unexpected(request: Request, _: Exception) -> Response:
    """The error goes on to whoever serves, who logs it."""
    refused = Refusal(
        500, "That failed", "It is in the server's log. Whether it was done, the page will show: look again."
    )
    return bare_page(request, request.app.state.desk, "error.html", 500, refusal=refused)

"""`/login`, `/logout` and the theme."""

from __future__ import annotations

from math import ceil

from intention_kernel.identity.principals import sign_out
from intention_kernel.identity.signing_in import Attempt, SignedIn, SigningIn, TooManyAttempts, WrongNameOrPassword
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from receipt_reconciler.web.console.asking import THEME_COOKIE, THEMES, bare_page
from receipt_reconciler.web.console.forms import Form
from receipt_reconciler.web.console.origin import local_path
from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.sessions import forget_secret, is_secure, keep_secret, recognised, secret_of
from receipt_reconciler.web.desk import Desk

_THEME_SECONDS = 365 * 86_400


async def login_page(request: Request, desk: Desk, _: Form) -> Response:
    """The form; who is signed in already goes on."""
    wanted = local_path(request.query_params.get("next"))
    if await recognised(request, desk) is not None:
        return RedirectResponse(wanted, 303)
    return _page(request, desk, wanted)


async def login(request: Request, desk: Desk, form: Form) -> Response:
    """A new secret at every sign-in; the session that the browser had is over."""
    wanted = local_path(form.text("next"))
    signing_in: SigningIn = request.app.state.signing_in
    address = "unknown" if request.client is None else request.client.host
    answer = await signing_in.sign_in(Attempt(form.line("name"), form.text("password"), address))
    match answer:
        case SignedIn(secret=secret):
            before = secret_of(request)
            if before is not None:
                await sign_out(desk.identity, before)
            signed_in = RedirectResponse(wanted, 303)
            keep_secret(request, signed_in, secret)
            return signed_in
        case WrongNameOrPassword():
            return _page(request, desk, wanted, form.line("name"), 401, "The name or the password is wrong.")
        case TooManyAttempts(retry_after_seconds=seconds):
            wait = ceil(seconds)
            problem = f"That was tried too often. Try again in {wait} seconds."
            response = _page(request, desk, wanted, form.line("name"), 429, problem)
            response.headers["Retry-After"] = str(wait)
            return response


async def logout(request: Request, desk: Desk, _: Form) -> Response:
    """The session is over in the store too, not only in this browser."""
    secret = secret_of(request)
    if secret is not None:
        await sign_out(desk.identity, secret)
    response = RedirectResponse(url("/login", said="signed_out"), 303)
    forget_secret(request, response)
    return response


async def theme(request: Request, _: Desk, form: Form) -> Response:
    """Remembered by the browser."""
    chosen = form.text("theme")
    response = RedirectResponse(local_path(form.text("next")), 303)
    if chosen in THEMES:
        secure = is_secure(request)
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=_THEME_SECONDS, path="/", secure=secure, httponly=True, samesite="lax"
        )
    return response


def _page(
    request: Request, desk: Desk, wanted: str, name: str = "", status: int = 200, problem: str | None = None
) -> Response:
    return bare_page(request, desk, "login.html", status, next=wanted, name=name, problem=problem)

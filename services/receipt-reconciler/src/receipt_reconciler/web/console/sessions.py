"""The cookie of a sign-in: what it is called, how it is set, and whose it is."""

from __future__ import annotations

from intention_kernel.identity.principal import Principal
from intention_kernel.identity.principals import principal_of_session
from starlette.requests import Request
from starlette.responses import Response

from receipt_reconciler.web.desk import Desk


def cookie_name(*, secure: bool) -> str:
    """With the prefix that makes browsers refuse it from anybody but this host, over TLS; loopback has no TLS."""
    return "__Host-intention" if secure else "intention"


def secret_of(request: Request) -> str | None:
    """What the browser sent; None where it sent nothing."""
    return request.cookies.get(cookie_name(secure=is_secure(request)))


def keep_secret(request: Request, response: Response, secret: str) -> None:
    """A cookie that no script reads, that no other site sends, and that ends with the browser: the store ends it sooner."""
    secure = is_secure(request)
    response.set_cookie(cookie_name(secure=secure), secret, path="/", secure=secure, httponly=True, samesite="lax")


def forget_secret(request: Request, response: Response) -> None:
    """Have the browser drop it."""
    secure = is_secure(request)
    response.delete_cookie(cookie_name(secure=secure), path="/", secure=secure, httponly=True, samesite="lax")


def is_secure(request: Request) -> bool:
    """Whether cookies of this console are for TLS only: everywhere but on loopback."""
    secure: bool = request.app.state.secure
    return secure


async def recognised(request: Request, desk: Desk) -> Principal | None:
    """Whose session it is now; asked once a request."""
    if not hasattr(request.state, "who"):
        secret = secret_of(request)
        request.state.who = None if secret is None else await principal_of_session(desk.identity, secret)
    who: Principal | None = request.state.who
    return who

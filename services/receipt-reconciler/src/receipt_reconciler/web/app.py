"""The web application: the API under /v1, the console beside it."""

from __future__ import annotations

from intention_kernel.identity.passwords import Passwords
from intention_kernel.identity.signing_in import SESSION_SECONDS
from starlette.types import ASGIApp, Receive, Scope, Send

from receipt_reconciler.web.api.application import api_application
from receipt_reconciler.web.console.application import console_application
from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.headers import SafeHeaders


def web_application(
    desk: Desk, passwords: Passwords, *, secure: bool, session_seconds: float = SESSION_SECONDS
) -> ASGIApp:
    """Everything that is served on the console's port. `secure`: its cookies are for TLS only."""
    console = console_application(desk, passwords, secure=secure, session_seconds=session_seconds)
    return SafeHeaders(_ByPath(api_application(desk), console))


class _ByPath:
    """Two applications with nothing in common: a token opens the one, a cookie the other."""

    def __init__(self, api: ASGIApp, console: ASGIApp) -> None:
        self._api = api
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_api = path == "/v1" or path.startswith("/v1/")
        await (self._api if is_api else self._console)(scope, receive, send)

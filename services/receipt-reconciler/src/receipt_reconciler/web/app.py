"""The web application: the API under /v1, the console beside it."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from receipt_reconciler.web.api.application import api_application
from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.headers import SafeHeaders


def web_application(desk: Desk) -> ASGIApp:
    """Everything that is served on the console's port."""
    console = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    console.state.desk = desk
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

"""The web application: the API under /v1, the console beside it."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp

from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.headers import SafeHeaders


def web_application(desk: Desk) -> ASGIApp:
    """Everything that is served on the console's port."""
    app = FastAPI(title="Intention Kernel: the operator's queue", version="1", docs_url=None, redoc_url=None)
    app.state.desk = desk
    return SafeHeaders(app)

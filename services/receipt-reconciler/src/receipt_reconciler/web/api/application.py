"""The API's application: its routes, what each request passes before them, and how it fails.

`python -m receipt_reconciler.web.api.application [FILE]` writes its OpenAPI document.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from receipt_reconciler.web.api import (
    auditing,
    conversing,
    deciding,
    given_up,
    governing,
    people,
    proposals,
    receipts,
    streaming,
    working,
)
from receipt_reconciler.web.api.callers import Rates
from receipt_reconciler.web.api.entry import Entry
from receipt_reconciler.web.api.openapi import openapi_text
from receipt_reconciler.web.api.refusing import refuse_with_problems
from receipt_reconciler.web.api.routes import refuse_unknown
from receipt_reconciler.web.desk import Desk

_ROUTERS = (
    receipts.router,
    working.router,
    deciding.router,
    proposals.router,
    conversing.router,
    given_up.router,
    auditing.router,
    people.router,
    governing.router,
    streaming.router,
)

ROUTES = tuple(route for router in _ROUTERS for route in router.routes if isinstance(route, APIRoute))
"""All of them; each names its permission."""


def api_application(desk: Desk, rates: Rates | None = None) -> ASGIApp:
    """Everything under /v1. `rates` None: those of `callers`."""
    app = api_routes()
    app.state.desk = desk
    app.state.rates = rates or Rates.of(desk.clock)
    document = document_text().encode()

    async def openapi(request: Request) -> Response:
        refuse_unknown(request, ())
        return Response(document, media_type="application/json")

    app.add_route("/v1/openapi.json", openapi, methods=["GET"], include_in_schema=False)
    return Entry(app)


def api_routes() -> FastAPI:
    """The routes alone: what they take and answer needs no store."""
    app = FastAPI(
        title="Intention Kernel: the operator's queue",
        version="1",
        description="What a person needs to find out what became of external effects, and to decide (docs/api.md).",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    refuse_with_problems(app)
    for router in _ROUTERS:
        app.include_router(router)
    return app


@cache
def document_text() -> str:
    """The committed file's text."""
    return openapi_text(api_routes(), ROUTES)


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "schemas/openapi.json")
    path.write_text(document_text(), encoding="utf-8")
    sys.stdout.write(f"{path}\n")

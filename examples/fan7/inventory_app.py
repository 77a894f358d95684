"""The inventory's HTTP endpoints over one store, with the faults that a test or a demo asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from intention_kernel.failpoints import failpoint
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from examples.fan7.inventory_store import Applied, Conflict, InventoryStore, Outcome, Refused, Repeated
from examples.fan7.inventory_wire import (
    ABSENT,
    BadRequestError,
    Body,
    FaultsBody,
    ReservationBody,
    WorkOrderBody,
    decode_key,
    ledger_member,
    parse_body,
    problem,
    read_body,
)
from examples.loopback import NoReply, RouteOnRawPath

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Faults:
    """What goes wrong next; each counts down to zero. They live in the process and end with it."""

    drop_replies: int = 0
    refuse: int = 0

    def takes_reply(self) -> bool:
        """Whether this reply gets lost; counts it."""
        taken = self.drop_replies > 0
        self.drop_replies -= taken
        return taken

    def refuses(self) -> bool:
        """Whether this request is turned away before anything is committed; counts it."""
        refused = self.refuse > 0
        self.refuse -= refused
        return refused


def _receipt(content: bytes) -> Response:
    return Response(content, media_type="application/json")


class Inventory:
    """The endpoints over one store. Store calls are short and run on the event loop, one after the other."""

    def __init__(self, store: InventoryStore) -> None:
        self._store = store
        self._faults = Faults()

    async def put_reservation(self, request: Request) -> Response:
        return await self._put(
            request, ReservationBody, lambda key, body: self._store.reserve(key, body.sku, body.quantity)
        )

    async def put_work_order(self, request: Request) -> Response:
        return await self._put(
            request, WorkOrderBody, lambda key, body: self._store.write_work_order(key, body.reservation, body.task)
        )

    async def get_reservation(self, request: Request) -> Response:
        return self._get(request, self._store.reservation)

    async def get_work_order(self, request: Request) -> Response:
        return self._get(request, self._store.work_order)

    async def get_stock(self, request: Request) -> Response:
        sku = decode_key(request.path_params["key"])
        available = self._store.available(sku)
        if available is None:
            return problem(404, "No such sku", f"The inventory has no sku {sku!r}.", type=ABSENT)
        return JSONResponse({"sku": sku, "available": available})

    async def get_ledger(self, _: Request) -> Response:
        return JSONResponse([ledger_member(entry) for entry in self._store.ledger()])

    async def post_faults(self, request: Request) -> Response:
        body = parse_body(FaultsBody, await read_body(request))
        if body.dropReplies is not None:
            self._faults.drop_replies = body.dropReplies
        if body.refuse is not None:
            self._faults.refuse = body.refuse
        return JSONResponse({"dropReplies": self._faults.drop_replies, "refuse": self._faults.refuse})

    def _get(self, request: Request, find: Callable[[str], bytes | None]) -> Response:
        key = decode_key(request.path_params["key"])
        receipt = find(key)
        if receipt is None:
            return problem(404, "No such key", f"Nothing is applied under the key {key!r}.", type=ABSENT)
        return _receipt(receipt)

    async def _put(self, request: Request, model: type[Body], apply: Callable[[str, Body], Outcome]) -> Response:
        key = decode_key(request.path_params["key"])
        body = parse_body(model, await read_body(request))
        logger.info("asked to write %s", key)
        if self._faults.refuses():
            raise HTTPException(503, "Refused before anything was committed, as POST /faults asked for.")
        outcome = apply(key, body)
        if isinstance(outcome, Applied):
            await failpoint("provider.after_commit")
        return self._reply(outcome)

    def _reply(self, outcome: Outcome) -> Response:
        match outcome:
            case Applied(receipt) | Repeated(receipt):
                return NoReply() if self._faults.takes_reply() else _receipt(receipt)
            case Conflict(fingerprint):
                detail = (
                    f"The key belongs to another payload (SHA-256 {fingerprint}). Nothing was changed; use a new key."
                )
                return problem(409, "The key is taken", detail)
            case Refused(detail):
                return problem(422, "Not possible", f"{detail} Nothing was changed.")


async def _bad_request(_: Request, error: Exception) -> Response:
    assert isinstance(error, BadRequestError)
    return problem(422, "Bad request", f"{error.detail} Nothing was changed.")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reply = problem(error.status_code, HTTPStatus(error.status_code).phrase, error.detail)
    reply.headers.update(error.headers or {})
    return reply


def inventory_app(store: InventoryStore) -> ASGIApp:
    """The service over `store`. The caller keeps the store and closes it."""
    inventory = Inventory(store)
    routes = [
        Route("/reservations/{key:path}", inventory.put_reservation, methods=["PUT"]),
        Route("/reservations/{key:path}", inventory.get_reservation, methods=["GET"]),
        Route("/work-orders/{key:path}", inventory.put_work_order, methods=["PUT"]),
        Route("/work-orders/{key:path}", inventory.get_work_order, methods=["GET"]),
        Route("/stock/{key:path}", inventory.get_stock, methods=["GET"]),
        Route("/ledger", inventory.get_ledger, methods=["GET"]),
        Route("/faults", inventory.post_faults, methods=["POST"]),
    ]
    return RouteOnRawPath(
        Starlette(routes=routes, exception_handlers={BadRequestError: _bad_request, HTTPException: _http_error})
    )

"""The shop's HTTP endpoints over one store, with the faults that were asked for."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from intention_kernel.failpoints import failpoint
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from examples.loopback import NoReply, RouteOnRawPath
from examples.retail.rules.operations import OPERATIONS, Read, Write
from examples.retail.rules.outcomes import Refusal
from examples.retail.shop_faults import Attempt, Faults
from examples.retail.shop_store import Applied, Conflict, Repeated, ShopStore, Written
from examples.retail.shop_wire import (
    BadRequestError,
    JsonObject,
    decode_name,
    failure,
    faults_member,
    key_of,
    ledger_member,
    parse_faults,
    read_object,
    stored,
    world_of,
)


def _broken() -> Response:
    # The same before and after the commit: whoever reads it cannot know which it was.
    return failure(500, "internal", "Something went wrong. Whether anything was changed is not known.")


class Shop:
    """The endpoints over one store. Store calls are short and run on the event loop, one after the other."""

    def __init__(self, store: ShopStore) -> None:
        self._store = store
        self._faults = Faults()

    async def post_operation(self, request: Request) -> Response:
        name = decode_name(request.path_params["name"], "The operation")
        world = world_of(request)
        operation = OPERATIONS.get(name)
        if operation is None:
            return failure(404, "operation_not_found", f"The shop has no operation {name!r}.")
        if isinstance(operation, Read):
            return self._read(world, operation, await read_object(request))
        return await self._write(world, key_of(request), operation, await read_object(request))

    async def get_operation(self, request: Request) -> Response:
        key = decode_name(request.path_params["key"], "The key")
        outcome = self._store.outcome(world_of(request), key)
        if outcome is None:
            return failure(404, "absent", f"Nothing is applied under the key {key!r} in this world.")
        return stored(outcome)

    async def get_changes(self, request: Request) -> Response:
        return JSONResponse(self._store.changes(decode_name(request.path_params["world"], "The world")))

    async def get_ledger(self, _: Request) -> Response:
        return JSONResponse([ledger_member(entry) for entry in self._store.ledger()])

    async def post_faults(self, request: Request) -> Response:
        self._faults.turn(parse_faults(await read_object(request)))
        return JSONResponse(faults_member(self._faults))

    async def get_health(self, _: Request) -> Response:
        return JSONResponse({"status": "ready"})

    def _read(self, world: str, operation: Read, kwargs: JsonObject) -> Response:
        answer = self._store.read(world, operation, kwargs)
        if isinstance(answer, Refusal):
            return failure(422, answer.code, answer.message)
        return JSONResponse({"operation": operation.name, "result": answer.result})

    async def _write(self, world: str, key: str, operation: Write, kwargs: JsonObject) -> Response:
        attempt = self._faults.attempt(world, key)
        if self._faults.strikes("refuse", attempt):
            return failure(503, "unavailable", "The shop takes no writes at the moment. Nothing was changed.")
        if self._faults.strikes("failBeforeCommit", attempt):
            return _broken()
        # A write that waits is applied even when the client gave up, as a request that is stuck on its way would be.
        await asyncio.sleep(self._faults.delay_seconds(attempt))
        written = self._store.write(world, key, operation, kwargs)
        if isinstance(written, Applied):
            await failpoint("provider.after_commit")
        return self._reply(attempt, written)

    def _reply(self, attempt: Attempt, written: Written) -> Response:
        match written:
            case Applied(outcome) | Repeated(outcome):
                return self._told(attempt, outcome)
            case Conflict(fingerprint):
                message = f"The key belongs to another payload (SHA-256 {fingerprint}). Nothing was changed."
                return failure(409, "key_taken", message)
            case Refusal(code, message):
                return failure(422, code, message)

    def _told(self, attempt: Attempt, outcome: bytes) -> Response:
        if self._faults.strikes("failAfterCommit", attempt):
            return _broken()
        return NoReply() if self._faults.strikes("dropReply", attempt) else stored(outcome)


async def _bad_request(_: Request, error: Exception) -> Response:
    return failure(400, "bad_request", str(error))


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    reply = failure(status, status.name.lower(), error.detail)
    reply.headers.update(error.headers or {})
    return reply


def shop_app(store: ShopStore) -> ASGIApp:
    """The service over `store`. The caller keeps the store and closes it."""
    shop = Shop(store)
    routes = [
        Route("/operations/{name:path}", shop.post_operation, methods=["POST"]),
        Route("/operations/{key:path}", shop.get_operation, methods=["GET"]),
        Route("/worlds/{world}/changes", shop.get_changes, methods=["GET"]),
        Route("/ledger", shop.get_ledger, methods=["GET"]),
        Route("/faults", shop.post_faults, methods=["POST"]),
        Route("/healthz", shop.get_health, methods=["GET"]),
    ]
    return RouteOnRawPath(
        Starlette(routes=routes, exception_handlers={BadRequestError: _bad_request, HTTPException: _http_error})
    )

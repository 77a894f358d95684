"""What the shop reads and writes on the wire: keys and worlds, JSON bodies, errors as {"code", "message"}, the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from intention_kernel.contracts.json_codec import loads
from intention_kernel.errors import JsonError
from pydantic import JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from examples.retail.shop_faults import Faults, FaultsBody
from examples.retail.shop_store import LedgerEntry

KEY_HEADER = "Idempotency-Key"
WORLD_HEADER = "X-World"
LONGEST_NAME_BYTES = 1024
LONGEST_BODY_BYTES = 64 * 1024

JsonObject: TypeAlias = Mapping[str, JsonValue]


class BadRequestError(Exception):
    """A request that says nothing the shop could do; the message says what to send instead. Answered with 400."""


async def read_object(request: Request) -> JsonObject:
    """The body as a JSON object; raises BadRequestError where it is none, or beyond 64 KiB without reading on."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY_BYTES:
            raise BadRequestError(f"The body is longer than {LONGEST_BODY_BYTES} bytes; send less.")
    try:
        value = loads(bytes(body))
    except JsonError as error:
        raise BadRequestError(f"The body is not JSON in UTF-8 ({error}); send an object.") from None
    if not isinstance(value, dict):
        raise BadRequestError("The body is no JSON object; send one.")
    return value


def parse_faults(body: JsonObject) -> FaultsBody:
    """The body of `POST /faults`; raises BadRequestError that names every wrong member."""
    try:
        return FaultsBody.model_validate(body)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise BadRequestError(wrong) from None


def world_of(request: Request) -> str:
    """The world that the request is for; raises BadRequestError where it names none."""
    return decode_name(request.headers.get(WORLD_HEADER, ""), WORLD_HEADER)


def key_of(request: Request) -> str:
    """The key of a write; raises BadRequestError where it has none."""
    return decode_name(request.headers.get(KEY_HEADER, ""), KEY_HEADER)


def decode_name(encoded: str, what: str) -> str:
    """A key or a world, percent-decoded, in headers as in paths; raises BadRequestError unless 1 to 1024 bytes of UTF-8."""
    raw = unquote_to_bytes(encoded)
    if not 1 <= len(raw) <= LONGEST_NAME_BYTES:
        raise BadRequestError(f"{what} has {len(raw)} bytes; send 1 to {LONGEST_NAME_BYTES}.")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadRequestError(f"{what} is not UTF-8; percent-encode the bytes of its UTF-8 form.") from None


def failure(status: int, code: str, message: str) -> Response:
    """Everything but a 200: a code for programs and a message that says what to do."""
    return JSONResponse({"code": code, "message": message}, status)


def stored(outcome: bytes) -> Response:
    """An outcome, byte for byte as it was first given."""
    return Response(outcome, media_type="application/json")


def ledger_member(entry: LedgerEntry) -> dict[str, object]:
    """An entry of `GET /ledger`."""
    return {
        "sequence": entry.sequence,
        "world": entry.world,
        "key": entry.key,
        "operation": entry.operation,
        "kwargs": json.loads(entry.kwargs),
        "fingerprint": entry.fingerprint,
        "reference": entry.reference,
        "appliedAt": entry.applied_at,
    }


def faults_member(faults: Faults) -> dict[str, object]:
    """The answer of `POST /faults`: the switches as they are now, and how often each has struck."""
    switches = {fault: switch.model_dump(exclude_none=True) for fault, switch in faults.switches.items()}
    return {"seed": faults.seed, "switches": switches, "struck": dict(faults.struck)}

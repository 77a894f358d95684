"""What the inventory reads and writes on the wire: keys in paths, exact JSON bodies, problems, ledger members."""

from __future__ import annotations

import json
from typing import Annotated, NoReturn, TypeVar
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from examples.fan7.inventory_store import LedgerEntry

LONGEST_KEY_BYTES = 1024
LONGEST_BODY_BYTES = 64 * 1024
LARGEST_QUANTITY = 1_000_000

ABSENT = "urn:fan7:inventory:absent"
"""Problem type of a 404 that answers the question; a wrong path is another 404, from which nobody may conclude that."""

Body = TypeVar("Body", bound=BaseModel)


class BadRequestError(Exception):
    """A request that says nothing the inventory could do; `detail` says what to send instead. Answered with 422."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


# The length check refuses half surrogate pairs too, which SQLite could not store.
Text = Annotated[str, Field(min_length=1, max_length=10_000)]
Count = Annotated[int, Field(ge=0, le=LARGEST_QUANTITY)]


class _Exact(BaseModel):
    """Right types only: no number for a text, no 2.0 or true for a whole number, no member that nobody asked for."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ReservationBody(_Exact):
    """`PUT /reservations/{key}`."""

    sku: Text
    quantity: Annotated[int, Field(ge=1, le=LARGEST_QUANTITY)]


class WorkOrderBody(_Exact):
    """`PUT /work-orders/{key}`; `reservation` is the key of one."""

    reservation: Text
    task: Text


class FaultsBody(_Exact):
    """`POST /faults`: how many of the next keyed writes commit without a reply, or are refused before they commit."""

    dropReplies: Count | None = None
    refuse: Count | None = None


async def read_body(request: Request) -> bytes:
    """The whole body; raises BadRequestError beyond 64 KiB, without reading on."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY_BYTES:
            raise BadRequestError(f"The body is longer than {LONGEST_BODY_BYTES} bytes; send less.")
    return bytes(body)


def parse_body(model: type[Body], content: bytes) -> Body:
    """The body as `model`; raises BadRequestError that names every wrong member and what the right ones are."""
    try:
        value: object = json.loads(content.decode(), object_pairs_hook=_members_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"The body is not JSON in UTF-8 ({error}); send {_expected(model)}.") from None
    if not isinstance(value, dict):
        raise BadRequestError(f"The body is no JSON object; send {_expected(model)}.")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise BadRequestError(f"{wrong}. Send {_expected(model)}.") from None


def decode_key(encoded: str) -> str:
    """The key or sku that a path ends with, percent-decoded; raises BadRequestError unless it is 1 to 1024 bytes of UTF-8."""
    raw = unquote_to_bytes(encoded)
    if not 1 <= len(raw) <= LONGEST_KEY_BYTES:
        raise BadRequestError(f"The key has {len(raw)} bytes; use one of 1 to {LONGEST_KEY_BYTES}.")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadRequestError("The key is not UTF-8; percent-encode the bytes of its UTF-8 form.") from None


def problem(status: int, title: str, detail: str, *, type: str = "about:blank") -> Response:
    """An RFC 9457 problem; `detail` says what to do."""
    body = {"type": type, "title": title, "status": status, "detail": detail}
    return Response(json.dumps(body), status, media_type="application/problem+json")


def ledger_member(entry: LedgerEntry) -> dict[str, object]:
    """An entry of `GET /ledger`."""
    return {
        "id": entry.id,
        "kind": entry.kind,
        "key": entry.key,
        "payload": json.loads(entry.payload),
        "fingerprint": entry.fingerprint,
        "reference": entry.reference,
        "appliedAt": entry.applied_at,
    }


def _members_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member occurs twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _expected(model: type[BaseModel]) -> str:
    members = ", ".join(
        f'"{name}": {"text" if field.annotation is str else "whole number"}'
        for name, field in model.model_fields.items()
    )
    return f"an object {{{members}}}"

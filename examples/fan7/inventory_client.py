"""What FAN-7 knows of the inventory: a small HTTP client that never tries anything twice by itself.

A lost reply or a time-out is the caller's to judge: it propagates as an `httpx.TransportError` and proves nothing about
the write. So does every status that the inventory does not promise, as an `httpx.HTTPStatusError`, and every reply that
is not the inventory's, as a `pydantic.ValidationError`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self
from urllib.parse import quote

import httpx
from intention_kernel.failpoints import failpoint
from pydantic import JsonValue, TypeAdapter
from typing_extensions import TypedDict


class ReservationReceipt(TypedDict):
    """The inventory's receipt for a reservation; the same bytes at every repeat."""

    key: str
    sku: str
    quantity: int
    reference: str
    fingerprint: str
    reservedAt: str


class WorkOrderReceipt(TypedDict):
    """The inventory's receipt for a work order; the same bytes at every repeat."""

    key: str
    reservation: str
    task: str
    reference: str
    fingerprint: str
    writtenAt: str


class LedgerMember(TypedDict):
    """One effect that happened at the inventory; ids count from 1 in the order of the effects."""

    id: int
    kind: str
    key: str
    payload: dict[str, JsonValue]
    fingerprint: str
    reference: str
    appliedAt: str


class _Stock(TypedDict):
    sku: str
    available: int


class _Problem(TypedDict):
    type: str
    detail: str


_ABSENT = "urn:fan7:inventory:absent"

_RESERVATION = TypeAdapter(ReservationReceipt)
_WORK_ORDER = TypeAdapter(WorkOrderReceipt)
_LEDGER = TypeAdapter(list[LedgerMember])
_STOCK = TypeAdapter(_Stock)
_PROBLEM = TypeAdapter(_Problem)


class InventoryError(Exception):
    """The inventory answered and said no: nothing was changed by this request."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class InventoryRefused(InventoryError):
    """The world or the body does not allow it (422): no stock, no such sku, no such reservation."""


class InventoryConflict(InventoryError):
    """The key belongs to another payload (409)."""


class InventoryClient:
    """One connection pool to one inventory; an async context manager."""

    def __init__(self, base_url: str, *, timeout_seconds: float = 10) -> None:
        # trust_env off: a proxy between us and the inventory would answer in its name.
        self._http = httpx.AsyncClient(base_url=base_url, timeout=timeout_seconds, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def reserve(self, key: str, sku: str, quantity: int) -> ReservationReceipt:
        """Reserve once per key. Raises InventoryRefused, InventoryConflict; httpx errors where the outcome is unknown."""
        content = await self._put(f"/reservations/{_segment(key)}", {"sku": sku, "quantity": quantity})
        return _RESERVATION.validate_json(content)

    async def find_reservation(self, key: str) -> ReservationReceipt | None:
        """The reservation under that key, None where there is none at this moment."""
        content = await self._find(f"/reservations/{_segment(key)}")
        return None if content is None else _RESERVATION.validate_json(content)

    async def write_work_order(self, key: str, reservation: str, task: str) -> WorkOrderReceipt:
        """Write a work order once per key; errors as `reserve`."""
        content = await self._put(f"/work-orders/{_segment(key)}", {"reservation": reservation, "task": task})
        return _WORK_ORDER.validate_json(content)

    async def find_work_order(self, key: str) -> WorkOrderReceipt | None:
        """The work order under that key, None where there is none at this moment."""
        content = await self._find(f"/work-orders/{_segment(key)}")
        return None if content is None else _WORK_ORDER.validate_json(content)

    async def stock(self, sku: str) -> int | None:
        """Units that nobody reserved, None for an unknown sku."""
        content = await self._find(f"/stock/{_segment(sku)}")
        return None if content is None else _STOCK.validate_json(content)["available"]

    async def ledger(self) -> list[LedgerMember]:
        """Every effect that ever happened at the inventory, oldest first."""
        response = await self._http.get("/ledger")
        return _LEDGER.validate_json(response.raise_for_status().content)

    async def drop_replies(self, count: int) -> None:
        """Have the next `count` keyed writes commit and then lose their reply."""
        response = await self._http.post("/faults", json={"dropReplies": count})
        response.raise_for_status()

    async def _put(self, path: str, body: dict[str, str | int]) -> bytes:
        await failpoint("runner.before_send")
        response = await self._http.put(path, json=body)
        if response.status_code == 409:
            raise InventoryConflict(409, _problem(response)["detail"])
        if response.status_code == 422:
            raise InventoryRefused(422, _problem(response)["detail"])
        return response.raise_for_status().content

    async def _find(self, path: str) -> bytes | None:
        response = await self._http.get(path)
        if response.status_code == 404 and _problem(response)["type"] == _ABSENT:
            return None
        return response.raise_for_status().content


def _segment(key: str) -> str:
    if key in {".", ".."}:
        raise ValueError(f"{key!r} cannot be a key: in a URL it is a step between folders, even percent-encoded")
    return quote(key, safe="")


def _problem(response: httpx.Response) -> _Problem:
    return _PROBLEM.validate_json(response.content)

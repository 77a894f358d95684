"""The outside world: orders that can be read, and a provider that pays money back, once for each key. Both in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from intention_kernel.contracts.json_codec import JsonValue


class Order(TypedDict):
    """An order as the shop keeps it. `vouchers_cents` is the part that was paid with vouchers."""

    total_cents: int
    vouchers_cents: int
    age_days: int
    damaged: bool
    email: str


class UnknownOrderError(Exception):
    """The shop has no order with that number."""


def _orders() -> dict[int, Order]:
    return {
        7: Order(total_cents=4990, vouchers_cents=1000, age_days=12, damaged=True, email="ada@example.org"),
        8: Order(total_cents=1990, vouchers_cents=0, age_days=90, damaged=False, email="bob@example.org"),
    }


@dataclass(slots=True)
class Shop:
    """`payments` is what really left the house, by key; `calls` every call that asked for it."""

    orders: dict[int, Order] = field(default_factory=_orders)
    payments: dict[str, dict[str, int]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    async def order(self, order_id: int) -> Order:
        """Raises UnknownOrderError."""
        if order_id not in self.orders:
            raise UnknownOrderError(order_id)
        return self.orders[order_id]

    async def pay(self, key: str, parts: dict[str, int]) -> JsonValue:
        """The irreversible call. Returns the receipt."""
        self.calls.append(key)
        self.payments[key] = parts
        return {"reference": f"P-{len(self.payments)}", "paidCents": sum(parts.values())}

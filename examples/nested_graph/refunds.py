"""Refunds as the agent knows them: the domain port, and the values that cross it. No graph library is named here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Protocol, runtime_checkable

from intention_kernel.contracts.json_codec import JsonValue
from pydantic import BaseModel, ConfigDict, Field

Cents = Annotated[int, Field(strict=True, ge=0)]

Tell = Callable[[str, JsonValue], Awaitable[None]]
"""(name, data): progress, as an event of the capability's step."""

Pay = Callable[[Mapping[str, int]], Awaitable[JsonValue]]
"""Pay these cents by means of payment, through the capability's effect, and return the shop's receipt. What it raises has to
reach the capability."""


class Question(BaseModel):
    """Which order the customer wants money back for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order_id: Annotated[int, Field(strict=True, ge=1)]


class Assessment(BaseModel):
    """What is due for an order, and why. What a graph's state holds beyond it is dropped."""

    model_config = ConfigDict(frozen=True)

    order_id: int
    amount_cents: Cents
    reason: Annotated[str, Field(min_length=1)]


class Refund(BaseModel):
    """What is to be paid. It says everything that the paying graph may rely on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order_id: Annotated[int, Field(strict=True, ge=1)]
    amount_cents: Annotated[int, Field(strict=True, ge=1, description="As assessed")]


class PaidOut(BaseModel):
    """What was paid, and the shop's reference for it."""

    model_config = ConfigDict(frozen=True)

    reference: Annotated[str, Field(min_length=1)]
    note: Annotated[str, Field(min_length=1)]


@runtime_checkable
class RefundWork(Protocol):
    """The port `refunds`. Both return JSON that the capability validates; how they come to it is their own affair."""

    async def assess(self, question: Question, tell: Tell) -> JsonValue:
        """An Assessment. It only reads. Raises UnknownOrderError."""
        ...

    async def pay_out(self, refund: Refund, pay: Pay, tell: Tell) -> JsonValue:
        """A PaidOut. Until `pay` has returned it depends on `refund` alone, so that a second run pays the same."""
        ...

"""What goes into the spine: a delivered request, the body that runs its turn, and the draft that the body returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from intention_kernel.contracts.result import TurnStatus
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.durability.turn_scope import TurnScope
from intention_kernel.ports.effect_store import EffectStore
from intention_kernel.ports.rejections import Rejections
from intention_kernel.ports.turn_store import Begun, Continuation, HeldReceipt, Origin, TurnStore


class DurableStore(TurnStore, EffectStore, Rejections, Protocol):
    """The whole boundary; an adapter is one of these."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request as Kafka delivered it.

    `nonce` is kept while the store cannot be reached, so that the same begin is repeated, and renewed otherwise (R1).
    `alone` says that nothing else runs beside it (R6); `held_too_long` that it is to be set aside, and why (R8).
    """

    request: TurnRequest
    origin: Origin
    nonce: UUID
    alone: bool = False
    held_too_long: str | None = None


@dataclass(frozen=True, slots=True)
class PackedEvents:
    """A turn's events as one block of final bytes."""

    block: bytes
    count: int


Render = Callable[[int, str], PackedEvents]
"""(first sequence, incarnation) -> the events, numbered. Pure, so that they can be numbered again (R36)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """How the turn will end, once it is committed. `blocked` are the effect keys that its steps wait for."""

    status: TurnStatus
    checkpoint: bytes
    result: bytes
    render: Render
    blocked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """The turn as its body finds it: what begin answered, and what a continuation resumes."""

    delivery: Delivery
    begun: Begun
    continuation: Continuation | None

    @property
    def resumed_turn_id(self) -> str | None:
        """The turn that a continuation goes on with."""
        return self.continuation.resumed_turn_id if self.continuation else None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn is set aside, and the receipts that it holds (R32)."""

    reason: str
    detail: str
    attempts: int
    receipts: tuple[HeldReceipt, ...]


class TurnBody(Protocol):
    """A build's way to run turns of one agent."""

    @property
    def fingerprint(self) -> str:
        """Written with the checkpoint."""
        ...

    @property
    def accepts(self) -> tuple[str, ...]:
        """The fingerprints whose threads it goes on with, its own among them (R8)."""
        ...

    @property
    def timeout_seconds(self) -> float:
        """The most that one attempt may take; a request's deadlineSeconds may say less."""
        ...

    async def run(self, opened: Opened, scope: TurnScope) -> Draft:
        """Run the program. What it raises fails the attempt."""
        ...

    def failed(self, opened: Opened, failure: Failure) -> Render:
        """The `turn.failed` event. Must not raise."""
        ...

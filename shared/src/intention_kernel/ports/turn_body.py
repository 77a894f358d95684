"""What goes into the durable boundary, and what it offers back: a delivery, the body that runs its turn, the scope that
the body works in, and the draft that it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol
from uuid import UUID

from intention_kernel.agent.context import EffectResult, Operation, ReceiptReference
from intention_kernel.agent.effect import Effect
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.result import TurnStatus
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.errors import TurnHeldError
from intention_kernel.ports.turn_store import Begun, Continuation, HeldReceipt, Origin


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request as Kafka delivered it.

    `nonce` is kept while the store cannot be reached, so that the same begin is repeated, and renewed otherwise (R1).
    `alone` says that nothing else runs beside it (R6); `held_too_long` that it is to be set aside, and why (R8);
    `restored` that a database that is lost may have had it already (R39).
    """

    request: TurnRequest
    origin: Origin
    nonce: UUID
    alone: bool = False
    held_too_long: str | None = None
    restored: bool = False


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


@dataclass(frozen=True, slots=True)
class TurnAttempt:
    """What every statement of an attempt carries. `end_seconds` is the turn's deadline on the monotonic clock.

    `restored` says that its effects may have been made by a database that is lost (R39).
    """

    thread_id: str
    turn_id: str
    agent_id: str
    tenant_id: str | None
    fence: int
    number: int
    host_context: bytes
    requested_at_ms: int
    lease_seconds: float
    end_seconds: float
    restored: bool = False


@dataclass(frozen=True, slots=True)
class UncertainStep:
    """An effect of this turn whose outcome is unknown.

    `waits_for` is the key of the receipt that has to be settled, a twin's perhaps; `title` the effect's own word for it;
    `told` says that the program was told, rather than cancelled while it waited.
    """

    effect_key: str
    receipt_id: str
    waits_for: str
    title: str
    told: bool


class TurnScope(Protocol):
    """One attempt's door to effects and to the journal. What it answers is durable."""

    @property
    def attempt(self) -> TurnAttempt: ...

    @property
    def uncertain(self) -> Mapping[str, UncertainStep]:
        """By effect key: what this attempt met and nobody knows."""
        ...

    @property
    def receipts(self) -> Mapping[str, ReceiptReference]:
        """By effect key: every effect that this attempt met, in order."""
        ...

    async def run_effect(self, effect: Effect, key: str, operation: Operation, payload: JsonValue) -> EffectResult:
        """The effect's value, with at most one call. Returns once the outcome is durable (R18); errors in errors.py."""
        ...

    async def recorded(self, name: str, request: JsonValue, operation: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """A model's or step's result; from the journal where an earlier attempt recorded the same request (R16)."""
        ...

    async def finish(self, effect_keys: Iterable[str]) -> None:
        """Effects of these keys that are under way are cancelled, since nobody waits for them any more, and their outcome is
        recorded before it returns."""
        ...

    def hold(self, why: TurnHeldError) -> NoReturn:
        """Raise it, and let the turn wait for a build that fits, whatever the body makes of it: no attempt is used (R8).

        For bodies alone: TurnHeldError out of an application's code is a failure like any other.
        """
        ...

    async def close(self) -> None:
        """Nothing may start any more; effects under way are cancelled and their outcome is recorded before it returns."""
        ...


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

"""What a program is given, as a protocol, so that an agent's definition needs no runtime (interface 1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from intention_kernel.agent.effect import EffectAuthority, Ports
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.event import EventCategory
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.contracts.turn_request import TurnInput


@dataclass(frozen=True, slots=True)
class ReceiptReference:
    """The durable identity of an effect's outcome."""

    receipt_id: str
    effect_key: str
    state: ReceiptState
    attempt: int


@dataclass(frozen=True, slots=True)
class EffectResult:
    """The provider's value and the receipt that keeps it."""

    value: JsonValue
    receipt: ReceiptReference


@dataclass(frozen=True, slots=True)
class User:
    """Trigger: a user's request."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Trigger: this receipt was settled; `run_effect` with its key answers with the settlement."""

    receipt: ReceiptReference


Trigger = User | Settled
Operation = Callable[[EffectAuthority], Awaitable[JsonValue]]
"""The external write. Once its coroutine has ended it must not send anything any more (protocol R22 c): do not leave threads
or tasks of your own behind, and where a thread is needed, have it check `authority.not_after` before it sends. HTTP clients
have their own retries off (R19).
"""


class EventEmitter(Protocol):
    """Events of the program, in order; committed with the turn, mirrored live."""

    async def emit(self, name: str, data: JsonValue, category: EventCategory = "trace") -> None:
        """Raises JsonError where `data` is not JSON."""
        ...


class TurnContext(Protocol):
    """One turn as its program sees it. Values, not handles: a retry of the turn sees the same ones.

    `deadline` is aware UTC; the program's task is cancelled at it. `checkpoint` is read-only.
    """

    @property
    def thread_id(self) -> str: ...
    @property
    def turn_id(self) -> str: ...
    @property
    def agent_id(self) -> str: ...
    @property
    def tenant_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def input(self) -> TurnInput: ...
    @property
    def host_context(self) -> Mapping[str, JsonValue]: ...
    @property
    def trigger(self) -> Trigger: ...
    @property
    def checkpoint(self) -> Checkpoint: ...
    @property
    def ports(self) -> Ports: ...
    @property
    def deadline(self) -> datetime: ...
    @property
    def events(self) -> EventEmitter: ...

    def now(self) -> datetime:
        """The turn's time: the request record's timestamp, the same on every attempt (protocol R17)."""
        ...

    def new_id(self, kind: str) -> str:
        """The next id of that kind in this turn: the same on every attempt."""
        ...

    async def run_effect(self, key: str, operation: Operation, *, payload: JsonValue, effect: str) -> EffectResult:
        """The value of the effect `effect:key`, calling `operation` at most once for it.

        Raises EffectUncertainError, EffectConflictError, EffectNotAppliedError or EffectClosedError; see errors.py.
        The key is unique per thread across turns: use the id of the business operation.
        """
        ...

    async def recorded(self, name: str, request: JsonValue, operation: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """The result of a model call or step, from the journal where an earlier attempt recorded it.

        Raises TurnHeldError where the journal has another request under that name and ordinal.
        """
        ...

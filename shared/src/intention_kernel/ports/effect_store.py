"""The durable boundary of an effect: prepare before the call, end after it (protocol 3 and 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from intention_kernel.contracts.receipt import ReceiptState, Summary
from intention_kernel.ports.turn_store import Contended, Fenced, JournalEntry


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the receipt `prepared`, renew the lease and append the journal, in one transaction, or refuse.

    `attempt_id` is random per attempt and makes the call repeatable (R14). The provider's certificate (`deduplicates`,
    `key_window_seconds`) is pinned at the first prepare (R26). `instance` and `boot` name the process that will call.
    `restored` says that a database that is lost may have had this attempt: the receipt becomes `uncertain`, unless its last
    outcome is known since the recovery, and the answer is Uncertain (R39).
    """

    thread_id: str
    turn_id: str
    effect_key: str
    effect_id: str
    fingerprint: bytes
    payload: bytes
    host_context: bytes
    summary: Summary
    fence: int
    attempt_id: UUID
    agent_id: str
    tenant_id: str | None
    lease_seconds: float
    call_timeout_seconds: float
    deduplicates: bool
    key_window_seconds: float | None
    twins: bool
    instance: str
    boot: UUID
    requested_at_ms: int
    journal: tuple[JournalEntry, ...]
    restored: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """Call the provider now, once."""

    attempt: int
    version: int


@dataclass(frozen=True, slots=True)
class Taken:
    """The key belongs to another payload, whatever its state."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The effect is done: its value, without a call."""

    value: bytes
    attempt: int


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Nobody knows; no call. `receipt_id` and `effect_key` may be a twin's (R20)."""

    receipt_id: str
    effect_key: str


@dataclass(frozen=True, slots=True)
class FailedAlready:
    """This very attempt is recorded as failed: a late repeat of its prepare."""


PrepareAnswer = Prepared | Taken | Completed | Uncertain | FailedAlready | Fenced | Contended


@dataclass(frozen=True, slots=True)
class EndAttempt:
    """What became of one attempt.

    `returned` says that the operation's coroutine has ended: it can send nothing any more (R22 c). The outcome in
    `journal` is what the program will be told; the store writes `uncertain` instead where the answer does not stand (R25).
    That it `failed` speaks of this attempt's own call: where a resolver has repeated that (R26), or nobody was called because a
    lost database may have made it (R39), it is ignored.
    """

    thread_id: str
    turn_id: str
    effect_key: str
    attempt_id: UUID
    fence: int
    outcome: Literal["completed", "failed", "uncertain"]
    value: bytes | None
    detail: str
    returned: bool
    requested_at_ms: int
    journal: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class EndAnswer:
    """How the record took it: recorded, settled (late, R24), agrees, contradicts (R25), ignored; and the state now.

    `contradicted` says that another answer disagrees with that state: whatever it is, the program is told uncertain.
    """

    how: Literal["recorded", "settled", "agrees", "contradicts", "ignored"]
    state: ReceiptState
    contradicted: bool = False

    @property
    def stands(self) -> bool:
        """Whether the answer is what the record says, so that the program may be told."""
        return self.how in {"recorded", "settled", "agrees"} and not self.contradicted


class EffectStore(Protocol):
    """Receipts, as attempts write them. Reconciliation writes them through its own port."""

    async def prepare(self, prepare: Prepare) -> PrepareAnswer: ...

    async def end(self, end: EndAttempt) -> EndAnswer | Contended: ...

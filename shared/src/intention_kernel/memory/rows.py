"""What the memory adapter keeps, one class per table of design 5. Heads and receipts change in place; the rest is appended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from intention_kernel.contracts.event import WireRecord
from intention_kernel.contracts.receipt import ReceiptState, Summary
from intention_kernel.contracts.result import TurnStatus
from intention_kernel.ports.redrives import RejectionState
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import JournalEntry, SetAside

ItemKind = Literal["effect", "orphaned"]


@dataclass(slots=True)
class Head:
    """A thread's head. `lease_nonce` None: nobody holds it; `lease_until_seconds` is on the monotonic clock."""

    revision: int = 0
    next_sequence: int = 1
    checkpoint: bytes | None = None
    agent_id: str | None = None
    tenant_id: str | None = None
    fingerprint: str | None = None
    schema_revision: int | None = None
    fence: int = 0
    lease_nonce: UUID | None = None
    lease_until_seconds: float = 0.0
    turn_id: str | None = None
    turn_digest: bytes | None = None
    attempts: int = 0
    crashes: int = 0
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One committed turn."""

    thread_id: str
    turn_id: str
    revision: int
    status: TurnStatus
    digest: bytes
    request: bytes
    requested_at_ms: int
    result: bytes
    first_sequence: int
    event_count: int
    fence: int
    committed_at: datetime


@dataclass(slots=True)
class JournalRows:
    """The journal of one unfinished turn; `requested_at_ms` is the clock of the attempt that began it (protocol R17)."""

    requested_at_ms: int
    entries: dict[str, JournalEntry] = field(default_factory=dict)


@dataclass(slots=True)
class ReceiptRow:
    """One effect. `prepared_at`, `call_deadline` and `returned_at` are wall time."""

    receipt_id: str
    thread_id: str
    effect_key: str
    effect_id: str
    turn_id: str
    agent_id: str
    tenant_id: str | None
    state: ReceiptState
    attempt: int
    attempt_id: UUID
    fence: int
    fingerprint: bytes
    payload: bytes
    host_context: bytes
    summary: Summary
    deduplicates: bool
    key_window_seconds: float | None
    first_prepared_at: datetime
    prepared_at: datetime
    call_deadline: datetime
    instance: str
    boot: UUID
    value: bytes | None = None
    reference: str | None = None
    contradicted: bool = False
    settlements: int = 0
    version: int = 1
    returned_at: datetime | None = None
    recovery: int = 0
    """How many recoveries there had been when the attempt was prepared (protocol R39)."""


@dataclass(frozen=True, slots=True)
class TransitionRow:
    """One line of a receipt's history; the receipt is a fold of its lines."""

    version: int
    from_state: ReceiptState | None
    state: ReceiptState
    attempt: int
    contradicted: bool
    settlements: int
    cause: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """An answer that came late or disagreed, as it was given (protocol R24, R25)."""

    thread_id: str
    effect_key: str
    attempt_id: UUID
    outcome: ReceiptState
    value: bytes | None
    detail: str


@dataclass(slots=True)
class ItemRow:
    """A receipt's place in the operator queue; `issue` is the number of its newest continuation (protocol R27, R31).

    `turn_id` is the set-aside turn of an orphaned item.
    """

    thread_id: str
    effect_key: str
    settlement: int
    kind: ItemKind
    reason: str
    phase: Literal["open", "decided", "done", "failed"] = "open"
    issue: int = 1
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """What the broker has not acknowledged; identity is thread, topic and dedupe (protocol R35).

    `topic` is a name of interface 2 without prefix. `first_sequence` is set for events, whose `dedupe` is its text.
    """

    thread_id: str
    topic: str
    dedupe: str
    first_sequence: int | None
    records: tuple[WireRecord, ...]


@dataclass(slots=True)
class SetAsideRow:
    """One time that a turn was given up; `base_digest` is of the checkpoint that its journal was written on (protocol R33)."""

    aside: SetAside
    revision: int
    base_digest: bytes | None
    state: RejectionState = "open"
    decision_id: UUID | None = None


@dataclass(slots=True)
class RejectedRow:
    """A record that can never run; `fence` and `revision` are those of the commit that rejected it, if it was one (R5)."""

    rejection: Rejection
    digest: bytes
    fence: int | None = None
    revision: int | None = None
    state: RejectionState = "open"
    decision_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Who decided what of which set-aside turn or rejected record, and why."""

    actor: str
    action: Literal["redrive", "drop"]
    thread_id: str | None
    turn_id: str | None
    reason: str

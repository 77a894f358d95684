"""The operator queue: what people read before they decide, and how their decision is written (design 7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState, ReceiptTransition, Summary
from intention_kernel.ports.queue_filter import Filter
from intention_kernel.ports.queue_work import (
    AuditLine,
    AuditQuery,
    Held,
    IdTaken,
    Note,
    Noted,
    NotesFull,
    Operation,
    Work,
    WorkAnswer,
    Written,
)
from intention_kernel.ports.receipt_ledger import Changed, Late, OpenReceipt, Resolution, Settlement, Unknown

Phase = Literal["open", "decided", "done", "failed"]
ItemKind = Literal["effect", "orphaned"]


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One line of the queue. `reason` says why it is there; `next_look_at` None: nothing happens without a person.

    `waits_for` is the continuation of a decided item, or the turn that was set aside of an orphaned one. `blocks` is how
    many turns wait for the receipt, `urgent` that it is contradicted and open, `key_closes_at` when its provider forgets the key (None: it keeps none), `cause` what
    moved the receipt last. A claim counts until `claimed_until`. `now` is the store's clock at the read, one for all.
    """

    receipt_id: str
    thread_id: str
    turn_id: str
    effect_key: str
    effect_id: str
    kind: ItemKind
    phase: Phase
    settlement: int
    reason: str
    opened_at: datetime
    looks: int
    next_look_at: datetime | None
    waits_for: str | None
    state: ReceiptState
    contradicted: bool
    version: int
    summary: Summary
    agent_id: str
    tenant_id: str | None
    cause: str
    urgent: bool
    blocks: int
    key_closes_at: datetime | None
    claimed_by: str | None
    claimed_until: datetime | None
    snoozed_until: datetime | None
    snoozed_until_change: bool
    now: datetime


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended, in the order of the queue: the members that the order is made of."""

    urgent: bool
    blocks: int
    key_closes_at: datetime | None
    opened_at: datetime
    thread_id: str
    effect_key: str
    settlement: int
    kind: ItemKind


@dataclass(frozen=True, slots=True)
class ItemHistory:
    """One item of a receipt, open or over."""

    settlement: int
    kind: ItemKind
    phase: Phase
    reason: str
    opened_at: datetime
    closed_at: datetime | None
    looks: int
    issue: int
    turn_id: str | None
    next_look_at: datetime | None


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation: what a resolver or a late answer said, against which version of the receipt."""

    settlement: int
    receipt_version: int
    source: str
    finding: str
    detail: str
    value: JsonValue
    reference: str | None
    started_at: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was written."""

    decision_id: str
    settlement: int
    resolution: Resolution
    reference: str | None
    reason_code: str | None
    reason: str
    evidence: str | None
    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReceiptCase:
    """Everything that is known of one receipt, read at one moment.

    `workers_stopped_at` is when a person first said so of the present attempt (protocol R22 c). `audit` are the last lines,
    the newest first.
    """

    open: OpenReceipt
    workers_stopped_at: datetime | None
    items: tuple[ItemHistory, ...]
    observations: tuple[Seen, ...]
    decisions: tuple[Decided, ...]
    transitions: tuple[ReceiptTransition, ...]
    blocked_turns: tuple[str, ...]
    work: Work
    notes: tuple[Written, ...]
    audit: tuple[AuditLine, ...]


@dataclass(frozen=True, slots=True)
class Contest:
    """A person says that a settlement is wrong. `contest_id` makes it repeatable."""

    thread_id: str
    effect_key: str
    seen_version: int
    contest_id: str
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Contested:
    """The receipt is contradicted and its item is open. A repeat answers the same."""

    version: int


@dataclass(frozen=True, slots=True)
class NotSettled:
    """Nothing settled it, so there is nothing to contest."""

    state: ReceiptState


@dataclass(frozen=True, slots=True)
class Alone:
    """Nobody but the person who decides has contested it."""


@dataclass(frozen=True, slots=True)
class Decides:
    """Settled, with the turn that goes on by it; looking only, it would be. A repeat answers the same."""

    settlement: int
    state: ReceiptState
    version: int
    continuation: str | None


ContestAnswer = Contested | NotSettled | Held | Changed | Unknown
DecideAnswer = Decides | Alone | Held | Changed | Late | Unknown


class OperatorQueue(Protocol):
    """Every call raises InfrastructureError where the store cannot answer, and may then be repeated with the same values."""

    async def items(self, query: Filter, reader: str, after: Place | None, limit: int) -> tuple[QueueItem, ...]:
        """In the order of the queue: contradicted receipts, then what most turns wait for, then whose provider forgets the key
        first, then the oldest. `reader` is who `owner:me` means."""
        ...

    async def case(self, receipt_id: str) -> ReceiptCase | None:
        """None where there is no such receipt."""
        ...

    async def decide(self, settlement: Settlement, *, contested: bool, look_only: bool) -> DecideAnswer:
        """Compare-and-set on the receipt's version (protocol R23); `contested`: move or confirm what a person contested, by another
        person, on evidence (R25). Another person's claim is honoured. `look_only`: the same path, with nothing written."""
        ...

    async def contest(self, contest: Contest) -> ContestAnswer:
        """Compare-and-set on the version that was shown; no state changes (protocol R25). Honours claims."""
        ...

    async def state_workers_stopped(self, case: ReceiptCase, actor: str, detail: str) -> None:
        """Record the statement, of the present attempt."""
        ...

    async def work(self, operation: Operation) -> WorkAnswer:
        """Claim, take over, release, snooze, wake or probe, with its audit line."""
        ...

    async def note(self, note: Note) -> Noted | IdTaken | NotesFull | Unknown:
        """Keep a comment or evidence, with its audit line."""
        ...

    async def audit(self, query: AuditQuery) -> tuple[AuditLine, ...]:
        """The newest first."""
        ...

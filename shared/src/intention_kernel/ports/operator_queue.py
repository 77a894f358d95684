"""The operator queue: what people read before they decide, and how their decision is written (design 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState, ReceiptTransition, Summary
from intention_kernel.ports.receipt_ledger import Changed, OpenReceipt, Resolution, SettleAnswer, Settlement, Unknown

Phase = Literal["open", "decided", "done", "failed"]
ItemKind = Literal["effect", "orphaned"]


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One line of the queue. `reason` says why it is there; `next_look_at` None: nothing happens without a person.

    `waits_for` is the continuation of a decided item, or the turn that was set aside of an orphaned one. `now` is the
    store's clock at the read, for ages.
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
    now: datetime


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

    `workers_stopped_at` is when a person first said so of the present attempt (protocol R22 c).
    """

    open: OpenReceipt
    workers_stopped_at: datetime | None
    items: tuple[ItemHistory, ...]
    observations: tuple[Seen, ...]
    decisions: tuple[Decided, ...]
    transitions: tuple[ReceiptTransition, ...]
    blocked_turns: tuple[str, ...]


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


ContestAnswer = Contested | NotSettled | Changed | Unknown


class OperatorQueue(Protocol):
    """Every call raises InfrastructureError where the store cannot answer."""

    async def items(self, phases: Sequence[Phase], limit: int) -> tuple[QueueItem, ...]:
        """Contradicted receipts on top, then the oldest first."""
        ...

    async def case(self, receipt_id: str) -> ReceiptCase | None:
        """None where there is no such receipt."""
        ...

    async def settle(self, settlement: Settlement) -> SettleAnswer:
        """As ReceiptLedger.settle."""
        ...

    async def contest(self, contest: Contest) -> ContestAnswer:
        """Compare-and-set on the version that was shown; no state changes (protocol R25)."""
        ...

    async def decide_contest(self, settlement: Settlement) -> SettleAnswer | Alone:
        """Move or confirm what a person contested, by another person, on evidence (protocol R25)."""
        ...

    async def state_workers_stopped(self, case: ReceiptCase, actor: str, detail: str) -> None:
        """Record the statement, of the present attempt."""
        ...

"""Receipts as reconciliation reads and settles them (protocol 4).

Every call raises InfrastructureError where the store cannot answer, and may then be repeated with the same values.
Times are the store's, aware UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import Receipt, ReceiptState

Resolution = Literal["applied", "not_applied"]
Finding = Literal["found", "absent", "inconclusive", "error"]


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What is known of the attempts that may still take effect (protocol R22).

    `died_at` is when the calling process was proved dead: its clean stop, or the start of its newer boot. The provider's
    certificate (`deduplicates`, `key_window_seconds`) is the one pinned at the first prepare. `retry_unfinished` says that
    a retry by a reconciler was never seen to end.
    """

    first_prepared_at: datetime
    prepared_at: datetime
    call_deadline: datetime
    returned_at: datetime | None
    instance: str
    died_at: datetime | None
    deduplicates: bool
    key_window_seconds: float | None
    retry_unfinished: bool


@dataclass(frozen=True, slots=True)
class OpenReceipt:
    """A receipt under an open item, read before anybody looks at the provider.

    `receipt.version` is what a settlement compares with (R23), `looked_at` when the read was made, `settlement` the number
    of the settlement to come, `looks` how often this item was looked at without a settlement.
    """

    receipt: Receipt
    host_context: JsonValue
    attempts: AttemptFacts
    settlement: int
    looks: int
    looked_at: datetime


@dataclass(frozen=True, slots=True)
class Observation:
    """What a resolver saw; `value` is JSON bytes."""

    thread_id: str
    effect_key: str
    settlement: int
    receipt_version: int
    source: str
    finding: Finding
    detail: str
    value: bytes | None
    reference: str | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Settlement:
    """A decision with its evidence. `decision_id` makes it repeatable; `value` is JSON bytes, set exactly where applied.

    `not_after` is until when "not applied" is admitted (R22 a), None for ever.
    """

    thread_id: str
    effect_key: str
    seen_version: int
    resolution: Resolution
    value: bytes | None
    reference: str | None
    decision_id: str
    reason_code: str | None
    reason: str
    evidence: str | None
    actor: str
    not_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """Durable, with decision, audit line, notice and the request of its continuation. A repeat answers the same."""

    settlement: int
    state: ReceiptState
    version: int


@dataclass(frozen=True, slots=True)
class Changed:
    """Not as it was seen: the receipt moved, was contradicted, or a retry of it is running. `state` is the one now."""

    state: ReceiptState
    version: int
    retrying: bool = False


@dataclass(frozen=True, slots=True)
class Late:
    """The time in which the settlement was admitted is over."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no such receipt."""


SettleAnswer = Settled | Changed | Late | Unknown


@dataclass(frozen=True, slots=True)
class RetryBegun:
    """Recorded: repeat the call now, once. `version` names this retry; `earlier_unfinished`: one before it never ended."""

    version: int
    earlier_unfinished: bool


@dataclass(frozen=True, slots=True)
class RetryRefused:
    """No call: the provider's window is closed, or the receipt changed."""

    window_closed: bool


@dataclass(frozen=True, slots=True)
class RetryAnswer:
    """What the repeated call answered. `attempt` is the attempt that it repeated, `ended` that no retry of it still runs."""

    settlement: Settlement
    attempt: int
    retry_id: UUID
    ended: bool


@dataclass(frozen=True, slots=True)
class Scanned:
    """How many prepared receipts became uncertain, and how many items were opened."""

    uncertain: int
    opened: int


@dataclass(frozen=True, slots=True)
class Cared:
    """What became of decided items: done, next issue asked for, published again, given up (protocol R31)."""

    done: int
    reissued: int
    republished: int
    failed: int


@dataclass(frozen=True, slots=True)
class CareTerms:
    """Seconds to the first look at a decided item, doubling up to `longest_seconds`; after `again_seconds` its request is
    published again. After `most_issues` continuations that were set aside the item fails."""

    first_seconds: float
    again_seconds: float
    longest_seconds: float
    most_issues: int


class ReceiptLedger(Protocol):
    """What a reconciler does to receipts and items. Several reconcilers may work side by side."""

    async def scan(self, limit: int) -> Scanned:
        """Prepared without a live lease becomes uncertain; uncertain or contradicted gets its item (R27)."""
        ...

    async def claim(self, limit: int, hold_seconds: float) -> tuple[OpenReceipt, ...]:
        """Open items that are due, which nobody else gets for `hold_seconds`."""
        ...

    async def observe(self, observation: Observation) -> None:
        """Keep it."""
        ...

    async def postpone(self, due: OpenReceipt, reason: str, seconds: float | None) -> None:
        """Say why the item stays open, and look again in `seconds`; None: not without a person."""
        ...

    async def settle(self, settlement: Settlement) -> SettleAnswer:
        """Compare-and-set (R23). Whether "not applied" is admitted is the caller's to know (R22)."""
        ...

    async def begin_retry(
        self, due: OpenReceipt, call_seconds: float, margin_seconds: float
    ) -> RetryBegun | RetryRefused:
        """Record a retry before it is sent; nobody settles the receipt while it runs (R26).

        The call, and a margin after it, must end inside the provider's window.
        """
        ...

    async def answer_retry(self, answer: RetryAnswer) -> Literal["settled", "agrees", "contradicts"]:
        """An answer of the attempt (R24, R25); the retry is over."""
        ...

    async def end_retry(self, due: OpenReceipt, begun: RetryBegun, *, ended: bool) -> None:
        """The retry brought no answer; `ended` says that no retry of this attempt still runs."""
        ...

    async def care(self, limit: int, terms: CareTerms) -> Cared:
        """Decided items that are due (R31)."""
        ...

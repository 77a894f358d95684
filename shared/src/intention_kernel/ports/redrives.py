"""What people do about turns that were set aside and records that were rejected: send them again, or give them up (protocol R33).

Every call raises InfrastructureError where the store cannot answer, and may then be repeated with the same decision id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.contracts.topics import Topics

_TOPICS = Topics()

RejectionState = Literal["open", "redriven", "dropped"]


@dataclass(frozen=True, slots=True)
class SetAsideRef:
    """One time that a turn was set aside: its thread, and the revision of that."""

    thread_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class RejectedRef:
    """A rejected record: its origin, and the digest of its bytes (protocol R34)."""

    topic: str
    partition: int
    offset: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who decides, and why; kept in the audit log. `decision_id` makes it repeatable."""

    decision_id: UUID
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClaimedReceipt:
    """A receipt that the turn's journal claims."""

    receipt_id: str
    effect_key: str
    state: ReceiptState
    contradicted: bool


@dataclass(frozen=True, slots=True)
class RedriveView:
    """What a person needs to know before a turn runs again.

    `later_turns` are the first of the `later_count` turns that were committed since; `is_rebased` says that the thread's
    memory is another one now, so that of the turn's journal only the claims stay.
    """

    turn_id: str
    later_count: int
    later_turns: tuple[str, ...]
    is_rebased: bool
    receipts: tuple[ClaimedReceipt, ...]


@dataclass(frozen=True, slots=True)
class TurnRedriven:
    """The turn's request is on its way; of a look: it could be."""

    view: RedriveView


@dataclass(frozen=True, slots=True)
class ReceiptsOpen:
    """Nobody knows what became of one of its receipts: settle it first."""

    view: RedriveView


@dataclass(frozen=True, slots=True)
class WouldRunLate:
    """Its thread went on: it would run after turns that came later, which has to be meant."""

    view: RedriveView


@dataclass(frozen=True, slots=True)
class Dropped:
    """Given up for ever."""


@dataclass(frozen=True, slots=True)
class RecordRedriven:
    """The record's bytes are on their way, to be judged again; of a look: they could be."""


@dataclass(frozen=True, slots=True)
class Unsendable:
    """No build would ever take that record."""

    problem: str


@dataclass(frozen=True, slots=True)
class NotOpen:
    """It is redriven or dropped already."""

    state: RejectionState


@dataclass(frozen=True, slots=True)
class NoSuchRecord:
    """There is none."""


RedriveTurnAnswer = TurnRedriven | ReceiptsOpen | WouldRunLate | NotOpen | NoSuchRecord
RedriveRecordAnswer = RecordRedriven | Unsendable | NotOpen | NoSuchRecord
DropAnswer = Dropped | NotOpen | NoSuchRecord


class Redrives(Protocol):
    """Each call is one transaction: the row, what is sent, and the audit line."""

    async def redrive_turn(
        self, ref: SetAsideRef, ruling: Ruling, *, after_later_turns: bool, look_only: bool = False
    ) -> RedriveTurnAnswer:
        """Enqueue the turn's request as it came. `look_only` changes nothing."""
        ...

    async def drop_turn(self, ref: SetAsideRef, ruling: Ruling) -> DropAnswer:
        """A redelivery of it is answered as before; its journal goes, its receipts stay as they are."""
        ...

    async def redrive_record(self, ref: RejectedRef, ruling: Ruling, *, look_only: bool = False) -> RedriveRecordAnswer:
        """Enqueue a rejected record as it came, for the topic that it came from. `look_only` changes nothing."""
        ...

    async def drop_record(self, ref: RejectedRef, ruling: Ruling) -> DropAnswer:
        """Say that nobody will send it again."""
        ...


@dataclass(frozen=True, slots=True)
class SentAgain:
    """Where a record goes again: the topic without its prefix, and the text whose UTF-8 is its key."""

    topic: str
    key: str


def sent_again(ref: RejectedRef, key: bytes | None, value: bytes | None) -> SentAgain | Unsendable:
    """To the topic that it came from; Unsendable where no build would ever take it (interface 2).

    A decision's key says nothing: one that cannot be ours is replaced by the digest of the record.
    """
    if value is None:
        return Unsendable("the record has no value")
    of_decisions = ref.topic.endswith(_TOPICS.resolutions)
    thread_id = _thread_of_key(key)
    if isinstance(thread_id, str):
        return SentAgain(_TOPICS.resolutions if of_decisions else _TOPICS.requests, thread_id)
    return SentAgain(_TOPICS.resolutions, ref.digest.hex()) if of_decisions else thread_id


def _thread_of_key(key: bytes | None) -> str | Unsendable:
    """The thread that a record could be a request of."""
    try:
        thread_id = (key or b"").decode()
    except UnicodeDecodeError:
        return Unsendable("the record's key is not UTF-8, and a request's key is its thread id")
    problem = identifier_problem(thread_id)
    return thread_id if problem is None else Unsendable(f"the record's key names no thread: it {problem}")

"""The durable boundary of a turn: begin, renew, commit, set aside, release (protocol 1 and 9).

Every call is idempotent by its nonce or fence and may be repeated with the same values after an unknown outcome (R11).
Each raises InfrastructureError where the store cannot answer; then nothing may be concluded. One row's refusal is its
answer, never an exception. Leases and deadlines are on the store's clock; seconds here are spans from the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.contracts.result import TurnStatus


@dataclass(frozen=True, slots=True)
class Begin:
    """Take the thread for one attempt of one turn.

    `nonce` makes this call repeatable (R1). `accepts` are the fingerprints that this build can go on with; None accepts
    any, which is how a turn that was held too long is set aside. `attempts_limit` attempts may begin (R6).
    """

    thread_id: str
    turn_id: str
    digest: bytes
    nonce: UUID
    agent_id: str
    tenant_id: str | None
    accepts: tuple[str, ...] | None
    schema_revision: int
    attempts_limit: int
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One recorded result of an unfinished turn (R15, R16).

    `entry` is the identity inside the turn: kind, name and ordinal. A claim says that `effect_key` was prepared; an
    outcome is what the program saw of it (`outcome` value, uncertain, failed; `body` the value); a recorded result has
    the digest of its request. Appended once, never changed.
    """

    entry: str
    kind: Literal["claim", "outcome", "recorded"]
    effect_key: str | None = None
    outcome: Literal["value", "uncertain", "failed"] | None = None
    request_digest: bytes = b""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Begun:
    """The thread is ours under `fence`. `attempt` counts from 1; `crashes` are earlier attempts that never let go (R6).

    `checkpoint` None is a new thread. `agent_id` and `tenant_id` are those of the thread's first committed turn, if any.
    `requested_at_ms` is the clock of the journal's attempt where there is a journal (R17).
    """

    fence: int
    attempt: int
    crashes: int
    revision: int
    next_sequence: int
    incarnation: str
    checkpoint: bytes | None
    agent_id: str | None
    tenant_id: str | None
    journal: tuple[JournalEntry, ...]
    requested_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Exhausted:
    """As Begun, but the attempts are used up: the only thing to do is to set the turn aside."""

    begun: Begun


@dataclass(frozen=True, slots=True)
class Replayed:
    """The turn is committed: `result` is its stored result document. No lease is taken."""

    result: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """The turn id is taken by other content. No lease is taken."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt holds the thread."""


@dataclass(frozen=True, slots=True)
class Contended:
    """The row is locked right now; ask again at once."""


@dataclass(frozen=True, slots=True)
class Held:
    """The build does not fit the thread (R8). No lease is taken, no attempt counted."""

    fingerprint: str
    schema_revision: int


@dataclass(frozen=True, slots=True)
class AlreadySetAside:
    """The turn was given up and waits for a redrive."""

    reason: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """The thread was deleted."""


BeginAnswer = Begun | Exhausted | Replayed | Conflict | Busy | Contended | Held | AlreadySetAside | Deleted


@dataclass(frozen=True, slots=True)
class BlockedStep:
    """A step of the turn `turn_id` waits for the receipt of `effect_key`."""

    effect_key: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class ContinuationOf:
    """What a continuation's commit needs to know: the receipt it answers, and the turn that it resumed, if any (R30)."""

    effect_key: str
    settlement: int
    issue: int
    resumed_turn_id: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a turn: result, next checkpoint and events, all or nothing.

    `blocked` are the steps that now wait; of a continuation, all that its resumed turn waits for from now on (R30).
    `claimed` are the effect keys that this attempt met, or need not (R15). `events` is the packed block of `event_count`
    records numbered from `next_sequence`. `request` is the request's wire bytes. `journal` is what no prepare or end
    carried yet: kept, under the turn that first blocked, only where something stays blocked; newer entries replace older
    ones there, so that the next continuation replays what this one saw.
    """

    thread_id: str
    turn_id: str
    digest: bytes
    fence: int
    revision: int
    next_sequence: int
    agent_id: str
    tenant_id: str | None
    fingerprint: str
    schema_revision: int
    checkpoint: bytes
    request: bytes
    requested_at_ms: int
    result: bytes
    status: TurnStatus
    events: bytes
    event_count: int
    blocked: tuple[BlockedStep, ...] = ()
    claimed: tuple[str, ...] = ()
    journal: tuple[JournalEntry, ...] = ()
    continuation: ContinuationOf | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record came from, and its bytes; `headers` may hold anything a producer sent."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """Give a turn up by a fenced commit (R5): the row, the `turn.failed` event, and what it holds as an orphaned item."""

    thread_id: str
    turn_id: str
    digest: bytes
    fence: int
    revision: int
    next_sequence: int
    reason: str
    detail: str
    attempts: int
    origin: Origin
    events: bytes
    event_count: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Durable. A repeat of a commit that is durable already answers the same."""

    revision: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """Another attempt has the thread: begin again (R4)."""


@dataclass(frozen=True, slots=True)
class Resequence:
    """Number the events from here and commit again; the program does not run again (R36)."""

    next_sequence: int


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Earlier attempts prepared these keys and this one never met them (R15)."""

    effect_keys: tuple[str, ...]


CommitAnswer = Committed | Replayed | Fenced | Resequence | Unclaimed | Contended


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a continuation resumes, read under its lease.

    `resumed_turn_id` is the oldest turn blocked on the receipt, with the request and journal it left; None: nothing waits.
    """

    effect_key: str
    receipt_id: str
    state: ReceiptState
    attempt: int
    resumed_turn_id: str | None
    request: bytes | None
    requested_at_ms: int | None
    journal: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class HeldReceipt:
    """A receipt that a turn holds, for the event that says what became of it."""

    receipt_id: str
    effect_key: str
    state: ReceiptState


class TurnStore(Protocol):
    """One thread's turns. Turns of different threads share nothing that a caller can see."""

    async def begin(self, begin: Begin) -> BeginAnswer: ...

    async def renew(self, thread_id: str, fence: int, lease_seconds: float) -> bool:
        """Push the lease's deadline; False where the fence is not ours or the lease is over (R3: it never revives)."""
        ...

    async def commit(self, commit: Commit) -> CommitAnswer: ...

    async def set_aside(self, aside: SetAside) -> CommitAnswer: ...

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        """Let the thread go without an outcome. An infrastructure release gives the attempt back (R6)."""
        ...

    async def continuation(self, thread_id: str, receipt_id: str, settlement: int) -> Continuation | None:
        """None where no such settlement exists: the request is forged (R28). Call it while holding the lease."""
        ...

    async def held_receipts(self, thread_id: str, turn_id: str) -> tuple[HeldReceipt, ...]:
        """The receipts that the journal of this unfinished turn claims (R32)."""
        ...

"""What the contract suites need of an adapter beside its ports: time that can be moved, and readers of what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from intention_kernel.contracts.event import WireRecord
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.contracts.result import TurnStatus
from intention_kernel.ports.effect_store import EffectStore
from intention_kernel.ports.redrives import Redrives
from intention_kernel.ports.rejections import Rejections
from intention_kernel.ports.retention import Retention
from intention_kernel.ports.turn_store import JournalEntry, Origin, TurnStore


class BoundaryStore(TurnStore, EffectStore, Rejections, Protocol):
    """The three ports of the durable boundary in one adapter."""


@dataclass(frozen=True, slots=True)
class StoredHead:
    """A thread's head. `lease_seconds` is what remains of the lease, 0 where nobody holds the thread."""

    revision: int
    next_sequence: int
    fence: int
    lease_seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One committed turn."""

    turn_id: str
    revision: int
    status: TurnStatus
    request: bytes
    result: bytes
    first_sequence: int
    event_count: int


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """One receipt."""

    receipt_id: str
    effect_key: str
    state: ReceiptState
    attempt: int
    version: int
    settlements: int
    contradicted: bool
    payload: bytes
    value: bytes | None
    title: str
    deduplicates: bool
    key_window_seconds: float | None
    returned: bool


@dataclass(frozen=True, slots=True)
class StoredTransition:
    """One line of a receipt's history."""

    version: int
    from_state: ReceiptState | None
    state: ReceiptState
    attempt: int
    contradicted: bool
    settlements: int


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A receipt's place in the operator queue."""

    settlement: int
    kind: Literal["effect", "orphaned"]
    phase: Literal["open", "decided", "done", "failed"]


@dataclass(frozen=True, slots=True)
class StoredOutboxRow:
    """What waits for the broker, with the records that the relay would send."""

    topic: str
    dedupe: str
    first_sequence: int | None
    records: tuple[WireRecord, ...]


class BoundaryHarness(Protocol):
    """One adapter under test. Readers see what is committed; none of them changes anything.

    Lists are in the order of revision, version, settlement or outbox position.
    """

    @property
    def store(self) -> BoundaryStore: ...

    @property
    def redrives(self) -> Redrives: ...

    @property
    def retention(self) -> Retention: ...

    async def expire_lease(self, thread_id: str) -> None:
        """Make the thread's lease be over, as if its time had passed; its holder is not told."""
        ...

    async def publish(self, thread_id: str) -> None:
        """As if the broker had acknowledged all that waits for it."""
        ...

    async def scan(self) -> None:
        """One whole pass of the reconciler's scanner."""
        ...

    async def settle(
        self, receipt_id: str, seen_version: int, outcome: Literal["completed", "failed"], value: bytes | None
    ) -> bool:
        """Settle on evidence that was admitted before (protocol R22); False where the receipt changed (R23)."""
        ...

    async def head(self, thread_id: str) -> StoredHead | None: ...

    async def turns(self, thread_id: str) -> tuple[StoredTurn, ...]: ...

    async def journal(self, thread_id: str, turn_id: str) -> tuple[JournalEntry, ...]: ...

    async def receipts(self, thread_id: str) -> tuple[StoredReceipt, ...]: ...

    async def transitions(self, thread_id: str, effect_key: str) -> tuple[StoredTransition, ...]: ...

    async def items(self, thread_id: str, effect_key: str) -> tuple[StoredItem, ...]: ...

    async def blocked_steps(self, thread_id: str) -> frozenset[tuple[str, str]]:
        """Pairs of effect key and turn id."""
        ...

    async def outbox(self, thread_id: str) -> tuple[StoredOutboxRow, ...]: ...

    async def set_aside(self, thread_id: str) -> tuple[tuple[str, Origin], ...]:
        """Turn id and origin of every turn of the thread that was given up."""
        ...

    async def rejected(self, topic: str, partition: int) -> tuple[tuple[str, Origin], ...]:
        """Reason and origin of every rejected record of that partition, in the order of offsets."""
        ...

    async def audited(self, thread_id: str) -> tuple[tuple[str, str], ...]:
        """Who redrove or dropped something of the thread: actor and `redrive` or `drop`, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """Everything that is stored about one thread, to see that a call changed nothing. The lease's rest is left out."""

    head: tuple[int, int, int, int] | None
    turns: tuple[StoredTurn, ...]
    receipts: tuple[StoredReceipt, ...]
    transitions: tuple[tuple[StoredTransition, ...], ...]
    items: tuple[tuple[StoredItem, ...], ...]
    blocked_steps: frozenset[tuple[str, str]]
    outbox: tuple[StoredOutboxRow, ...]
    set_aside: tuple[tuple[str, Origin], ...]


async def snapshot(boundary: BoundaryHarness, thread_id: str) -> ThreadSnapshot:
    """What is stored about the thread now."""
    head = await boundary.head(thread_id)
    receipts = await boundary.receipts(thread_id)
    keys = [receipt.effect_key for receipt in receipts]
    return ThreadSnapshot(
        head=(head.revision, head.next_sequence, head.fence, head.attempts) if head else None,
        turns=await boundary.turns(thread_id),
        receipts=receipts,
        transitions=tuple([await boundary.transitions(thread_id, key) for key in keys]),
        items=tuple([await boundary.items(thread_id, key) for key in keys]),
        blocked_steps=await boundary.blocked_steps(thread_id),
        outbox=await boundary.outbox(thread_id),
        set_aside=await boundary.set_aside(thread_id),
    )


async def receipt_of(boundary: BoundaryHarness, thread_id: str, effect_key: str) -> StoredReceipt:
    """The receipt of that key. Raises LookupError where there is none."""
    for receipt in await boundary.receipts(thread_id):
        if receipt.effect_key == effect_key:
            return receipt
    raise LookupError(effect_key)

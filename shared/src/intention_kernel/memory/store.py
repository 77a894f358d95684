"""The memory adapter: the three ports of the durable boundary over dicts and lists, for tests, evaluations and examples.

Every call is atomic because it never waits. It is durable only as long as the process; leases are on the injected clock.
"""

from __future__ import annotations

from typing import Literal

from intention_kernel.clock import Clock
from intention_kernel.memory import commits, effects, ledger, turns
from intention_kernel.memory.tables import Tables
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt, Prepare, PrepareAnswer
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import (
    Begin,
    BeginAnswer,
    Commit,
    CommitAnswer,
    Continuation,
    HeldReceipt,
    SetAside,
)


class MemoryStore:
    """TurnStore, EffectStore and Rejections, and the reconciler's two moves, so that a test can settle.

    `tables` is for reading what is stored: heads, turns, receipts, transitions, items, outbox, set-aside and rejected rows.
    """

    def __init__(self, clock: Clock) -> None:
        self.tables = Tables(clock)

    async def begin(self, begin: Begin) -> BeginAnswer:
        """See TurnStore; never Contended."""
        return turns.begin(self.tables, begin)

    async def renew(self, thread_id: str, fence: int, lease_seconds: float) -> bool:
        """See TurnStore."""
        return turns.renew(self.tables, thread_id, fence, lease_seconds)

    async def commit(self, commit: Commit) -> CommitAnswer:
        """See TurnStore."""
        return commits.commit(self.tables, commit)

    async def set_aside(self, aside: SetAside) -> CommitAnswer:
        """See TurnStore."""
        return commits.set_aside(self.tables, aside)

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        """See TurnStore."""
        turns.release(self.tables, thread_id, fence, count_attempt=count_attempt)

    async def continuation(self, thread_id: str, receipt_id: str, settlement: int) -> Continuation | None:
        """See TurnStore."""
        return turns.continuation(self.tables, thread_id, receipt_id, settlement)

    async def held_receipts(self, thread_id: str, turn_id: str) -> tuple[HeldReceipt, ...]:
        """See TurnStore."""
        return turns.held_receipts(self.tables, thread_id, turn_id)

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        """See EffectStore."""
        return effects.prepare(self.tables, prepare)

    async def end(self, end: EndAttempt) -> EndAnswer:
        """See EffectStore. Raises KeyError where the receipt was never prepared."""
        return effects.end(self.tables, end)

    async def reject(self, rejection: Rejection) -> None:
        """See Rejections."""
        commits.reject(self.tables, rejection)

    async def reject_begun(self, rejection: Rejection, *, fence: int, revision: int) -> CommitAnswer:
        """See Rejections."""
        return commits.reject_begun(self.tables, rejection, fence, revision)

    async def scan(self, limit: int = 100) -> int:
        """Make receipts whose attempt is over uncertain and open items; how many were opened (protocol R27)."""
        return ledger.scan(self.tables, limit)

    async def settle(
        self,
        receipt_id: str,
        seen_version: int,
        outcome: Literal["completed", "failed"],
        value: bytes | None = None,
        *,
        reference: str | None = None,
    ) -> bool:
        """Settle an uncertain receipt; False where it changed since `seen_version` (protocol R23)."""
        return ledger.settle(self.tables, receipt_id, seen_version, outcome, value, reference)

"""The memory adapter under the contract suites: its clock is moved by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from intention_kernel.clock import ManualClock
from intention_kernel.memory.redrives import MemoryRedrives
from intention_kernel.memory.retention import MemoryRetention
from intention_kernel.memory.store import MemoryStore
from intention_kernel.ports.turn_store import JournalEntry, Origin
from intention_kernel.testing.boundary_harness import (
    StoredHead,
    StoredItem,
    StoredOutboxRow,
    StoredReceipt,
    StoredTransition,
    StoredTurn,
)


class MemoryHarness:
    """A BoundaryHarness over a memory store of its own."""

    def __init__(self) -> None:
        self._clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self._store = MemoryStore(self._clock)
        self._tables = self._store.tables

    @property
    def store(self) -> MemoryStore:
        """The store under test."""
        return self._store

    @property
    def redrives(self) -> MemoryRedrives:
        """What people do about what was given up, over the same tables."""
        return MemoryRedrives(self._tables)

    @property
    def retention(self) -> MemoryRetention:
        """What may be forgotten of them."""
        return MemoryRetention(self._tables)

    async def expire_lease(self, thread_id: str) -> None:
        """Ends this thread's lease only: moving the clock would end every thread's."""
        self._tables.heads[thread_id].lease_until_seconds = self._clock.monotonic_seconds()

    async def publish(self, thread_id: str) -> None:
        self._tables.outbox[:] = [row for row in self._tables.outbox if row.thread_id != thread_id]

    async def scan(self) -> None:
        await self._store.scan(limit=1_000_000)

    async def settle(
        self, receipt_id: str, seen_version: int, outcome: Literal["completed", "failed"], value: bytes | None
    ) -> bool:
        return await self._store.settle(receipt_id, seen_version, outcome, value)

    async def head(self, thread_id: str) -> StoredHead | None:
        head = self._tables.heads.get(thread_id)
        if head is None:
            return None
        remaining = head.lease_until_seconds - self._clock.monotonic_seconds()
        lease_seconds = remaining if head.lease_nonce is not None else 0.0
        return StoredHead(head.revision, head.next_sequence, head.fence, max(lease_seconds, 0.0), head.attempts)

    async def turns(self, thread_id: str) -> tuple[StoredTurn, ...]:
        rows = [row for (owner, _), row in self._tables.turns.items() if owner == thread_id]
        return tuple(
            StoredTurn(
                turn_id=row.turn_id,
                revision=row.revision,
                status=row.status,
                request=row.request,
                result=row.result,
                first_sequence=row.first_sequence,
                event_count=row.event_count,
            )
            for row in sorted(rows, key=lambda row: row.revision)
        )

    async def journal(self, thread_id: str, turn_id: str) -> tuple[JournalEntry, ...]:
        rows = self._tables.journal.get((thread_id, turn_id))
        return tuple(rows.entries.values()) if rows else ()

    async def receipts(self, thread_id: str) -> tuple[StoredReceipt, ...]:
        return tuple(
            StoredReceipt(
                receipt_id=row.receipt_id,
                effect_key=row.effect_key,
                state=row.state,
                attempt=row.attempt,
                version=row.version,
                settlements=row.settlements,
                contradicted=row.contradicted,
                payload=row.payload,
                value=row.value,
                title=row.summary.title,
                deduplicates=row.deduplicates,
                key_window_seconds=row.key_window_seconds,
                returned=row.returned_at is not None,
            )
            for row in self._tables.receipts_of(thread_id)
        )

    async def transitions(self, thread_id: str, effect_key: str) -> tuple[StoredTransition, ...]:
        rows = self._tables.transitions.get((thread_id, effect_key), [])
        return tuple(
            StoredTransition(row.version, row.from_state, row.state, row.attempt, row.contradicted, row.settlements)
            for row in rows
        )

    async def items(self, thread_id: str, effect_key: str) -> tuple[StoredItem, ...]:
        rows = [row for key, row in sorted(self._tables.items.items()) if key[:2] == (thread_id, effect_key)]
        return tuple(StoredItem(row.settlement, row.kind, row.phase) for row in rows)

    async def blocked_steps(self, thread_id: str) -> frozenset[tuple[str, str]]:
        return frozenset((key, turn_id) for owner, key, turn_id in self._tables.blocked_steps if owner == thread_id)

    async def outbox(self, thread_id: str) -> tuple[StoredOutboxRow, ...]:
        return tuple(
            StoredOutboxRow(row.topic, row.dedupe, row.first_sequence, row.records)
            for row in self._tables.outbox
            if row.thread_id == thread_id
        )

    async def set_aside(self, thread_id: str) -> tuple[tuple[str, Origin], ...]:
        rows = [row.aside for (owner, _), row in self._tables.set_aside.items() if owner == thread_id]
        return tuple((aside.turn_id, aside.origin) for aside in rows)

    async def rejected(self, topic: str, partition: int) -> tuple[tuple[str, Origin], ...]:
        rows = [row.rejection for key, row in sorted(self._tables.rejected.items()) if key[:2] == (topic, partition)]
        return tuple((rejection.reason, rejection.origin) for rejection in rows)

    async def audited(self, thread_id: str) -> tuple[tuple[str, str], ...]:
        return tuple((row.actor, row.action) for row in self._tables.audit_log if row.thread_id == thread_id)

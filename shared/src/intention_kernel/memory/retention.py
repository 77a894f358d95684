"""What may be forgotten of a thread (protocol R38)."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.contracts.result import StoredResult
from intention_kernel.memory.rows import Head, ReceiptRow, TurnRow
from intention_kernel.memory.tables import Tables
from intention_kernel.ports.retention import Deletion, Thinned

_NOTHING = b"null"
_Key = TypeVar("_Key", bound=tuple[object, ...])
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class MemoryRetention:
    """See the port. A memory store keeps no events of a turn, and its audit log is of redrives and drops alone."""

    tables: Tables

    async def thin(self, thread_id: str, older_seconds: float, limit: int) -> Thinned:
        before = self.tables.clock.now() - timedelta(seconds=older_seconds)
        turns = [row for (owner, _), row in self.tables.turns.items() if owner == thread_id]
        old = [row for row in turns if row.committed_at <= before and row.request and not self._is_needed(row)][:limit]
        for row in old:
            shown = StoredResult(row.revision, row.status, None, (), ()).to_json(replayed=False)
            self.tables.turns[thread_id, row.turn_id] = replace(row, request=b"", result=dumps(shown))
        receipts = [row for row in self.tables.receipts_of(thread_id) if self._is_over(row, before)][:limit]
        for receipt in receipts:
            receipt.payload = receipt.host_context = _NOTHING
            receipt.summary = replace(receipt.summary, title="")
        return Thinned(len(old), len(receipts))

    async def delete(self, thread_id: str, actor: str, reason: str) -> Deletion:
        head = self.tables.heads.get(thread_id)
        if head is None or head.deleted:
            return "deleted" if head else "not_found"
        refused = self._not_over(thread_id, head)
        if refused is not None:
            return refused
        tables = self.tables
        _forget(tables.turns, thread_id)
        _forget(tables.journal, thread_id)
        _forget(tables.receipts, thread_id)
        _forget(tables.transitions, thread_id)
        _forget(tables.items, thread_id)
        _forget(tables.set_aside, thread_id)
        tables.blocked_steps[:] = [step for step in tables.blocked_steps if step[0] != thread_id]
        tables.observations[:] = [row for row in tables.observations if row.thread_id != thread_id]
        for key in [key for key, row in tables.rejected.items() if row.rejection.thread_id == thread_id]:
            del tables.rejected[key]
        tables.heads[thread_id] = Head(
            revision=head.revision, next_sequence=head.next_sequence, fence=head.fence + 1, deleted=True
        )
        return "deleted"

    def _is_needed(self, turn: TurnRow) -> bool:
        """It waits for something, or its events are not published yet."""
        waits = any((owner, name) == (turn.thread_id, turn.turn_id) for owner, _, name in self.tables.blocked_steps)
        return waits or any(
            (row.thread_id, row.first_sequence) == (turn.thread_id, turn.first_sequence) for row in self.tables.outbox
        )

    def _is_over(self, receipt: ReceiptRow, before: datetime) -> bool:
        """Settled for good, old, and not thinned yet."""
        place = (receipt.thread_id, receipt.effect_key)
        is_settled = receipt.state in ("completed", "failed") and not receipt.contradicted
        waits = any(step[:2] == place for step in self.tables.blocked_steps)
        items = any(key[:2] == place and item.phase != "done" for key, item in self.tables.items.items())
        return is_settled and receipt.prepared_at <= before and bool(receipt.summary.title) and not (waits or items)

    def _not_over(self, thread_id: str, head: Head) -> Deletion | None:
        tables = self.tables
        if tables.lease_is_live(head):
            return "busy"
        if any(row.state in ("prepared", "uncertain") or row.contradicted for row in tables.receipts_of(thread_id)):
            return "receipts"
        if any(key[0] == thread_id and item.phase != "done" for key, item in tables.items.items()):
            return "items"
        return "outbox" if any(row.thread_id == thread_id for row in tables.outbox) else None


def _forget(rows: MutableMapping[_Key, _Row], thread_id: str) -> None:
    """The rows whose key begins with the thread."""
    for key in [key for key in rows if key[0] == thread_id]:
        del rows[key]

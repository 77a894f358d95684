"""What people do about set-aside turns and rejected records (protocol R33)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.event import WireRecord
from intention_kernel.contracts.identifiers import RESERVED_TURN_PREFIX
from intention_kernel.memory.rows import AuditRow, OutboxRow, RejectedRow, SetAsideRow
from intention_kernel.memory.tables import TOPICS, Tables, enqueue, memory_digest
from intention_kernel.ports.redrives import (
    ClaimedReceipt,
    DropAnswer,
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    RedriveRecordAnswer,
    RedriveTurnAnswer,
    RedriveView,
    RejectedRef,
    Ruling,
    SetAsideRef,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
    sent_again,
)

_SHOWN_TURNS = 20


@dataclass(frozen=True, slots=True)
class MemoryRedrives:
    """See the port."""

    tables: Tables

    async def redrive_turn(
        self, ref: SetAsideRef, ruling: Ruling, *, after_later_turns: bool, look_only: bool = False
    ) -> RedriveTurnAnswer:
        row = self.tables.set_aside.get((ref.thread_id, ref.revision))
        if row is None:
            return NoSuchRecord()
        later = _later_turns(self.tables, ref)
        view = _view(self.tables, row, later)
        if row.state == "redriven" and row.decision_id == ruling.decision_id:
            return TurnRedriven(view)
        if row.state != "open":
            return NotOpen(row.state)
        if any(receipt.state in ("prepared", "uncertain") or receipt.contradicted for receipt in view.receipts):
            return ReceiptsOpen(view)
        messages = [turn_id for turn_id in later if not turn_id.startswith(RESERVED_TURN_PREFIX)]
        if (messages or view.is_rebased) and not after_later_turns:
            return WouldRunLate(view)
        if not look_only:
            self._end_turn(row, ruling, "redriven")
            record = WireRecord((), row.aside.origin.value)
            enqueue(self.tables, OutboxRow(ref.thread_id, TOPICS.requests, f"redrive:{ref.revision}", None, (record,)))
        return TurnRedriven(view)

    async def drop_turn(self, ref: SetAsideRef, ruling: Ruling) -> DropAnswer:
        row = self.tables.set_aside.get((ref.thread_id, ref.revision))
        known = _known(row, ruling)
        if known is not None or row is None:
            return known or NoSuchRecord()
        self._end_turn(row, ruling, "dropped")
        self.tables.journal.pop((ref.thread_id, row.aside.turn_id), None)
        return Dropped()

    async def redrive_record(self, ref: RejectedRef, ruling: Ruling, *, look_only: bool = False) -> RedriveRecordAnswer:
        row = self.tables.rejected.get((ref.topic, ref.partition, ref.offset, ref.digest))
        if row is None:
            return NoSuchRecord()
        origin = row.rejection.origin
        again = sent_again(ref, origin.key, origin.value)
        if isinstance(again, Unsendable):
            return again
        if row.state == "redriven" and row.decision_id == ruling.decision_id:
            return RecordRedriven()
        if row.state != "open":
            return NotOpen(row.state)
        if look_only:
            return RecordRedriven()
        self._end_record(row, ruling, "redriven")
        dedupe = f"redrive:{ref.topic}:{ref.partition}:{ref.offset}:{ref.digest.hex()}"
        enqueue(self.tables, OutboxRow(again.key, again.topic, dedupe, None, (WireRecord((), origin.value),)))
        return RecordRedriven()

    async def drop_record(self, ref: RejectedRef, ruling: Ruling) -> DropAnswer:
        row = self.tables.rejected.get((ref.topic, ref.partition, ref.offset, ref.digest))
        known = _known(row, ruling)
        if known is not None or row is None:
            return known or NoSuchRecord()
        self._end_record(row, ruling, "dropped")
        return Dropped()

    def _end_turn(self, row: SetAsideRow, ruling: Ruling, state: Literal["redriven", "dropped"]) -> None:
        """The row, its audit line; what the turn holds is nobody's question any more (protocol R32)."""
        row.state, row.decision_id = state, ruling.decision_id
        for item in self.tables.items.values():
            if item.kind == "orphaned" and (item.thread_id, item.turn_id) == (row.aside.thread_id, row.aside.turn_id):
                item.phase = "done"
        self._audit(ruling, state, row.aside.thread_id, row.aside.turn_id)

    def _end_record(self, row: RejectedRow, ruling: Ruling, state: Literal["redriven", "dropped"]) -> None:
        row.state, row.decision_id = state, ruling.decision_id
        self._audit(ruling, state, row.rejection.thread_id, row.rejection.turn_id)

    def _audit(
        self, ruling: Ruling, state: Literal["redriven", "dropped"], thread_id: str | None, turn_id: str | None
    ) -> None:
        action: Literal["redrive", "drop"] = "redrive" if state == "redriven" else "drop"
        self.tables.audit_log.append(AuditRow(ruling.actor, action, thread_id, turn_id, ruling.reason))


def _known(row: SetAsideRow | RejectedRow | None, ruling: Ruling) -> DropAnswer | None:
    """What a drop has to answer without doing anything; None: it is open."""
    if row is None:
        return NoSuchRecord()
    if row.state == "dropped" and row.decision_id == ruling.decision_id:
        return Dropped()
    return None if row.state == "open" else NotOpen(row.state)


def _later_turns(tables: Tables, ref: SetAsideRef) -> list[str]:
    rows = [row for (owner, _), row in tables.turns.items() if owner == ref.thread_id and row.revision > ref.revision]
    return [row.turn_id for row in sorted(rows, key=lambda row: row.revision)]


def _view(tables: Tables, row: SetAsideRow, later: list[str]) -> RedriveView:
    thread_id, turn_id = row.aside.thread_id, row.aside.turn_id
    held = [tables.receipts[thread_id, key] for key in sorted(tables.claims(thread_id, turn_id))]
    return RedriveView(
        turn_id=turn_id,
        later_count=len(later),
        later_turns=tuple(later[:_SHOWN_TURNS]),
        is_rebased=row.base_digest != memory_digest(tables.heads[thread_id]),
        receipts=tuple(
            ClaimedReceipt(receipt.receipt_id, receipt.effect_key, receipt.state, receipt.contradicted)
            for receipt in held
        ),
    )

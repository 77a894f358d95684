"""The tables of one memory store, and the few moves that several calls share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from intention_kernel.clock import Clock
from intention_kernel.contracts.event import WireRecord
from intention_kernel.contracts.identifiers import continuation_turn_id
from intention_kernel.contracts.receipt import LEGAL_TRANSITIONS, ReceiptState
from intention_kernel.contracts.topics import Topics
from intention_kernel.contracts.turn_request import ReconciliationTrigger, TurnRequest, encode_turn_request
from intention_kernel.memory.rows import (
    AuditRow,
    Head,
    ItemRow,
    JournalRows,
    ObservationRow,
    OutboxRow,
    ReceiptRow,
    RejectedRow,
    SetAsideRow,
    TransitionRow,
    TurnRow,
)
from intention_kernel.ports.turn_store import JournalEntry

TOPICS = Topics()


@dataclass(slots=True)
class Tables:
    """Everything that is stored. Keys begin with the thread id, as in the database."""

    clock: Clock
    recoveries: int = 0
    heads: dict[str, Head] = field(default_factory=dict)
    turns: dict[tuple[str, str], TurnRow] = field(default_factory=dict)
    journal: dict[tuple[str, str], JournalRows] = field(default_factory=dict)
    receipts: dict[tuple[str, str], ReceiptRow] = field(default_factory=dict)
    transitions: dict[tuple[str, str], list[TransitionRow]] = field(default_factory=dict)
    observations: list[ObservationRow] = field(default_factory=list)
    blocked_steps: list[tuple[str, str, str]] = field(default_factory=list)
    """(thread, effect key, turn), oldest first."""
    items: dict[tuple[str, str, int, str], ItemRow] = field(default_factory=dict)
    outbox: list[OutboxRow] = field(default_factory=list)
    set_aside: dict[tuple[str, int], SetAsideRow] = field(default_factory=dict)
    """By thread and revision, in the order of revisions."""
    rejected: dict[tuple[str, int, int, bytes], RejectedRow] = field(default_factory=dict)
    audit_log: list[AuditRow] = field(default_factory=list)

    def lease_is_live(self, head: Head) -> bool:
        """Somebody holds the thread now."""
        return head.lease_nonce is not None and head.lease_until_seconds > self.clock.monotonic_seconds()

    def receipts_of(self, thread_id: str) -> list[ReceiptRow]:
        """The thread's receipts in the order of their keys, as every lock is taken (protocol R9)."""
        return [row for (owner, _), row in sorted(self.receipts.items()) if owner == thread_id]

    def last_aside(self, thread_id: str, turn_id: str) -> SetAsideRow | None:
        """The last time that the turn was set aside."""
        rows = [row for (owner, _), row in self.set_aside.items() if (owner, row.aside.turn_id) == (thread_id, turn_id)]
        return rows[-1] if rows else None

    def claims(self, thread_id: str, turn_id: str) -> list[str]:
        """The effect keys that the turn's journal claims (protocol R15)."""
        rows = self.journal.get((thread_id, turn_id))
        entries = rows.entries.values() if rows else ()
        return [entry.effect_key for entry in entries if entry.kind == "claim" and entry.effect_key is not None]


def move_receipt(tables: Tables, receipt: ReceiptRow, state: ReceiptState, cause: str) -> None:
    """Make a legal move and append it to the history; an illegal one is a defect of this adapter."""
    illegal = (receipt.state, state) not in LEGAL_TRANSITIONS or (receipt.state == "failed" and receipt.contradicted)
    if illegal:
        raise AssertionError(f"a receipt cannot go from {receipt.state} to {state}")
    earlier, receipt.state = receipt.state, state
    receipt.version += 1
    append_transition(tables, receipt, earlier, cause)


def append_transition(tables: Tables, receipt: ReceiptRow, earlier: ReceiptState | None, cause: str) -> None:
    """One line of history: what the receipt is now."""
    line = TransitionRow(
        version=receipt.version,
        from_state=earlier,
        state=receipt.state,
        attempt=receipt.attempt,
        contradicted=receipt.contradicted,
        settlements=receipt.settlements,
        cause=cause,
        at=tables.clock.now(),
    )
    tables.transitions.setdefault((receipt.thread_id, receipt.effect_key), []).append(line)


def append_journal(
    tables: Tables, thread_id: str, turn_id: str, requested_at_ms: int, entries: Iterable[JournalEntry]
) -> None:
    """Append what is not there yet; a line is never changed (protocol R16)."""
    for entry in entries:
        rows = tables.journal.setdefault((thread_id, turn_id), JournalRows(requested_at_ms))
        rows.entries.setdefault(entry.entry, entry)


def enqueue(tables: Tables, row: OutboxRow) -> None:
    """Insert an outbox row once (protocol R35)."""
    identity = (row.thread_id, row.topic, row.dedupe)
    if all((known.thread_id, known.topic, known.dedupe) != identity for known in tables.outbox):
        tables.outbox.append(row)


def enqueue_events(tables: Tables, thread_id: str, first_sequence: int, records: tuple[WireRecord, ...]) -> None:
    """The events of one turn: one row, numbered from `first_sequence`."""
    if records:
        enqueue(tables, OutboxRow(thread_id, TOPICS.events, str(first_sequence), first_sequence, records))


def ask_continuation(tables: Tables, receipt: ReceiptRow, issue: int) -> None:
    """Ask for the continuation of the receipt's newest settlement; idempotent by its turn id (protocol R28, R29)."""
    turn_id = continuation_turn_id(receipt.receipt_id, receipt.settlements, issue)
    request = TurnRequest(
        schema_version=1,
        thread_id=receipt.thread_id,
        turn_id=turn_id,
        agent_id=receipt.agent_id,
        tenant_id=receipt.tenant_id,
        trigger=ReconciliationTrigger(receipt_id=receipt.receipt_id, settlement=receipt.settlements),
    )
    record = WireRecord((("content-type", b"application/json"),), encode_turn_request(request))
    enqueue(tables, OutboxRow(receipt.thread_id, TOPICS.requests, turn_id, None, (record,)))
    _decide_item(tables, receipt, issue)


def next_issue(tables: Tables, receipt: ReceiptRow) -> int:
    """The issue number whose continuation has not run yet: the asked one until its turn row exists (protocol R31)."""
    key = (receipt.thread_id, receipt.effect_key, receipt.settlements, "effect")
    issue = tables.items[key].issue if key in tables.items else 1
    asked = continuation_turn_id(receipt.receipt_id, receipt.settlements, issue)
    over = (receipt.thread_id, asked) in tables.turns or tables.last_aside(receipt.thread_id, asked) is not None
    return issue + 1 if over else issue


def open_item(tables: Tables, receipt: ReceiptRow, reason: str) -> None:
    """Open the item that the next settlement will close, unless it is there (protocol R27)."""
    number = receipt.settlements + 1
    item = ItemRow(receipt.thread_id, receipt.effect_key, number, "effect", reason)
    tables.items.setdefault((receipt.thread_id, receipt.effect_key, number, "effect"), item)


def open_orphaned(tables: Tables, receipt: ReceiptRow, turn_id: str) -> None:
    """What a set-aside turn holds has an owner again, also where it was set aside before (protocol R32)."""
    number = receipt.settlements + 1
    item = ItemRow(receipt.thread_id, receipt.effect_key, number, "orphaned", "set_aside", turn_id=turn_id)
    tables.items[receipt.thread_id, receipt.effect_key, number, "orphaned"] = item


def memory_digest(head: Head) -> bytes | None:
    """What a journal's base is told by: two turns with the same memory have the same base (protocol R33)."""
    return None if head.checkpoint is None else hashlib.sha256(head.checkpoint).digest()


def record_digest(value: bytes | None) -> bytes:
    """The digest of a record's bytes, part of a rejected record's identity (protocol R34)."""
    return hashlib.sha256(value or b"").digest()


def _decide_item(tables: Tables, receipt: ReceiptRow, issue: int) -> None:
    """The settled item waits for this continuation; an answer that came before the scan makes it (protocol R24)."""
    number = receipt.settlements
    fresh = ItemRow(receipt.thread_id, receipt.effect_key, number, "effect", "late answer")
    item = tables.items.setdefault((receipt.thread_id, receipt.effect_key, number, "effect"), fresh)
    item.phase = "decided"
    item.issue = issue

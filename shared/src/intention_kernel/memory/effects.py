"""Prepare and end an attempt (protocol 3 and 9)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from intention_kernel import ids
from intention_kernel.memory.rows import Head, ObservationRow, ReceiptRow
from intention_kernel.memory.tables import Tables, append_journal, append_transition, ask_continuation, move_receipt
from intention_kernel.ports.effect_store import (
    Completed,
    EndAnswer,
    EndAttempt,
    FailedAlready,
    Prepare,
    PrepareAnswer,
    Prepared,
    Taken,
    Uncertain,
)
from intention_kernel.ports.turn_store import Fenced, JournalEntry

EndHow = Literal["recorded", "settled", "agrees", "contradicts", "ignored"]
SettledState = Literal["completed", "failed"]


def prepare(tables: Tables, ask: Prepare) -> PrepareAnswer:
    """Fence and lease first, and renew it; then the receipt; the journal only with `prepared` (protocol R3, R14, R15)."""
    head = tables.heads.get(ask.thread_id)
    if head is None or head.fence != ask.fence or not tables.lease_is_live(head):
        return Fenced()
    head.lease_until_seconds = tables.clock.monotonic_seconds() + ask.lease_seconds
    answer = _decide(tables, ask)
    if isinstance(answer, Prepared):
        append_journal(tables, ask.thread_id, ask.turn_id, ask.requested_at_ms, ask.journal)
    return answer


def end(tables: Tables, ask: EndAttempt) -> EndAnswer:
    """Record what became of an attempt, whenever it arrives. Raises KeyError where the receipt was never prepared."""
    receipt = tables.receipts[ask.thread_id, ask.effect_key]
    how = _take_answer(tables, receipt, ask)
    if ask.returned and receipt.attempt_id == ask.attempt_id and receipt.returned_at is None:
        receipt.returned_at = tables.clock.now()
    _journal_end(tables, ask, stands=how not in ("contradicts", "ignored") and not receipt.contradicted)
    return EndAnswer(how, receipt.state, receipt.contradicted)


def _decide(tables: Tables, ask: Prepare) -> PrepareAnswer:
    receipt = tables.receipts.get((ask.thread_id, ask.effect_key))
    if receipt is not None:
        known = _known(tables, receipt, ask)
        if known is not None:
            return known
    twin = None if ask.twins else _open_twin(tables, ask)
    if twin is not None:
        if twin.state == "prepared" and twin.fence != ask.fence:
            move_receipt(tables, twin, "uncertain", "found_prepared")  # so that its late answer is a settlement
        return Uncertain(twin.receipt_id, twin.effect_key)
    is_restored = ask.restored and (receipt is None or receipt.recovery < tables.recoveries)
    if receipt is None:
        receipt = _first_attempt(tables, ask)
    else:
        _next_attempt(tables, receipt, ask)
    if is_restored:
        return _leave_to_resolvers(tables, receipt, ask)
    return Prepared(receipt.attempt, receipt.version)


def _known(tables: Tables, receipt: ReceiptRow, ask: Prepare) -> PrepareAnswer | None:
    """What the receipt says already; None: a failed one whose next attempt this is."""
    mine = receipt.attempt_id == ask.attempt_id
    if receipt.fingerprint != ask.fingerprint:
        return Taken()
    if receipt.state == "completed" and not receipt.contradicted and receipt.value is not None:
        return Completed(receipt.value, receipt.attempt)
    if receipt.state == "failed" and not receipt.contradicted:
        return FailedAlready() if mine else None
    if receipt.state == "prepared" and not receipt.contradicted and mine:
        return Prepared(receipt.attempt, receipt.version)
    if receipt.state == "prepared" and not mine:
        move_receipt(tables, receipt, "uncertain", "found_prepared")
    return Uncertain(receipt.receipt_id, receipt.effect_key)


def _leave_to_resolvers(tables: Tables, receipt: ReceiptRow, ask: Prepare) -> Uncertain:
    """A database that is lost may have had this attempt: nobody is called (protocol R39)."""
    asked_at = datetime.fromtimestamp(ask.requested_at_ms / 1000, UTC)
    receipt.first_prepared_at = min(receipt.first_prepared_at, asked_at)
    receipt.returned_at = tables.clock.now()
    move_receipt(tables, receipt, "uncertain", "restore")
    append_journal(tables, ask.thread_id, ask.turn_id, ask.requested_at_ms, ask.journal)
    return Uncertain(receipt.receipt_id, receipt.effect_key)


def _open_twin(tables: Tables, ask: Prepare) -> ReceiptRow | None:
    """An open receipt of the same capability and payload under another key (protocol R20)."""
    for row in tables.receipts_of(ask.thread_id):
        same = (row.effect_id, row.fingerprint) == (ask.effect_id, ask.fingerprint)
        is_open = row.state in ("prepared", "uncertain") or row.contradicted
        if same and is_open and row.effect_key != ask.effect_key:
            return row
    return None


def _first_attempt(tables: Tables, ask: Prepare) -> ReceiptRow:
    now = tables.clock.now()
    receipt = ReceiptRow(
        receipt_id=ids.receipt_id(ask.thread_id, ask.effect_key),
        thread_id=ask.thread_id,
        effect_key=ask.effect_key,
        effect_id=ask.effect_id,
        turn_id=ask.turn_id,
        agent_id=ask.agent_id,
        tenant_id=ask.tenant_id,
        state="prepared",
        attempt=1,
        attempt_id=ask.attempt_id,
        fence=ask.fence,
        fingerprint=ask.fingerprint,
        payload=ask.payload,
        host_context=ask.host_context,
        summary=ask.summary,
        deduplicates=ask.deduplicates,
        key_window_seconds=ask.key_window_seconds,
        first_prepared_at=now,
        prepared_at=now,
        call_deadline=now + timedelta(seconds=ask.call_timeout_seconds),
        instance=ask.instance,
        boot=ask.boot,
        recovery=tables.recoveries,
    )
    tables.receipts[ask.thread_id, ask.effect_key] = receipt
    append_transition(tables, receipt, None, "prepare")
    return receipt


def _next_attempt(tables: Tables, receipt: ReceiptRow, ask: Prepare) -> None:
    """Attempt + 1 on the same receipt; the provider's certificate stays as first pinned (protocol R26)."""
    receipt.attempt += 1
    receipt.attempt_id = ask.attempt_id
    receipt.fence = ask.fence
    receipt.turn_id = ask.turn_id
    receipt.host_context = ask.host_context
    receipt.value = None
    receipt.returned_at = None
    receipt.prepared_at = tables.clock.now()
    receipt.call_deadline = receipt.prepared_at + timedelta(seconds=ask.call_timeout_seconds)
    receipt.instance = ask.instance
    receipt.boot = ask.boot
    receipt.recovery = tables.recoveries
    move_receipt(tables, receipt, "prepared", "prepare")


def _take_answer(tables: Tables, receipt: ReceiptRow, ask: EndAttempt) -> EndHow:
    mine = receipt.attempt_id == ask.attempt_id
    if mine and receipt.state == "prepared":
        receipt.value = ask.value if ask.outcome == "completed" else None
        move_receipt(tables, receipt, ask.outcome, ask.outcome)
        return "recorded"
    if mine and receipt.state == ask.outcome:
        return "agrees"
    if ask.outcome == "uncertain" or (mine and ask.outcome == "failed" and _is_of_a_lost_database(tables, receipt)):
        return "ignored"
    if mine and receipt.state == "uncertain" and not receipt.contradicted:
        _observe(tables, ask)
        settle_receipt(tables, receipt, ask.outcome, ask.value, "late_answer")
        return "settled"
    if not mine and ask.outcome == "failed":
        return "agrees"
    _contradict(tables, receipt, ask)
    return "contradicts"


def _is_of_a_lost_database(tables: Tables, receipt: ReceiptRow) -> bool:
    """The attempt was never granted: that it did nothing says nothing of the call that it stands for (protocol R39)."""
    lines = tables.transitions[receipt.thread_id, receipt.effect_key]
    return any(line.attempt == receipt.attempt and line.cause == "restore" for line in lines)


def settle_receipt(tables: Tables, receipt: ReceiptRow, outcome: SettledState, value: bytes | None, cause: str) -> None:
    """Move an uncertain receipt on evidence, close its item, ask for the continuation (protocol R23, R24, R29)."""
    receipt.value = value if outcome == "completed" else None
    receipt.settlements += 1
    move_receipt(tables, receipt, outcome, cause)
    ask_continuation(tables, receipt, issue=1)


def _contradict(tables: Tables, receipt: ReceiptRow, ask: EndAttempt) -> None:
    """Keep the answer, change no state, flag the receipt once (protocol R25)."""
    _observe(tables, ask)
    if not receipt.contradicted:
        receipt.contradicted = True
        receipt.version += 1
        append_transition(tables, receipt, receipt.state, "contradicted")


def _observe(tables: Tables, ask: EndAttempt) -> None:
    row = ObservationRow(ask.thread_id, ask.effect_key, ask.attempt_id, ask.outcome, ask.value, ask.detail)
    if row not in tables.observations:
        tables.observations.append(row)


def _journal_end(tables: Tables, ask: EndAttempt, *, stands: bool) -> None:
    """Only an attempt that still has the thread writes the journal, and as the record has it (protocol R16)."""
    head: Head | None = tables.heads.get(ask.thread_id)
    if head is None or head.fence != ask.fence or head.lease_nonce is None:
        return
    entries = [entry if stands else _as_uncertain(entry) for entry in ask.journal]
    append_journal(tables, ask.thread_id, ask.turn_id, ask.requested_at_ms, entries)


def _as_uncertain(entry: JournalEntry) -> JournalEntry:
    return replace(entry, outcome="uncertain", body=b"") if entry.kind == "outcome" else entry

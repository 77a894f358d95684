"""What a commit leaves waiting: blocked steps, the journal under them, and the continuations it asks for (protocol 5)."""

from __future__ import annotations

from intention_kernel.contracts.identifiers import continuation_turn_id
from intention_kernel.memory.rows import JournalRows
from intention_kernel.memory.tables import Tables, ask_continuation, move_receipt, next_issue
from intention_kernel.ports.turn_store import Commit, ContinuationOf


def block_and_journal(tables: Tables, ask: Commit) -> None:
    """The part of a commit that is about effects; called with the turn's row written."""
    resumed = ask.continuation.resumed_turn_id if ask.continuation else None
    home = resumed or ask.turn_id
    if resumed is not None:
        _unblock(tables, ask.thread_id, resumed)
    for step in ask.blocked:
        _block(tables, ask.thread_id, step.effect_key, step.turn_id)
    _leave_abandoned(tables, ask, home)
    _keep_journal(tables, ask, home)
    _rendezvous(tables, ask)


def _unblock(tables: Tables, thread_id: str, turn_id: str) -> None:
    """A continuation has run its turn again: what that turn waits for now is what this commit says (protocol R30)."""
    tables.blocked_steps[:] = [step for step in tables.blocked_steps if (step[0], step[2]) != (thread_id, turn_id)]


def _block(tables: Tables, thread_id: str, effect_key: str, turn_id: str) -> None:
    step = (thread_id, effect_key, turn_id)
    if step not in tables.blocked_steps:
        tables.blocked_steps.append(step)


def _leave_abandoned(tables: Tables, ask: Commit, home: str) -> None:
    """This attempt's own receipts that are still prepared: nobody knows, and the turn waits for them (protocol R18)."""
    for receipt in tables.receipts_of(ask.thread_id):
        if receipt.state == "prepared" and receipt.fence == ask.fence:
            move_receipt(tables, receipt, "uncertain", "commit")
            _block(tables, ask.thread_id, receipt.effect_key, home)


def _keep_journal(tables: Tables, ask: Commit, home: str) -> None:
    """A turn that waits keeps its journal and gets this attempt's last lines; the newer of two lines wins (protocol R30)."""
    waits = any((owner, turn_id) == (ask.thread_id, home) for owner, _, turn_id in tables.blocked_steps)
    own = tables.journal.pop((ask.thread_id, ask.turn_id), None)
    earlier = own if home == ask.turn_id else tables.journal.pop((ask.thread_id, home), None)
    if not waits:
        return
    rows = earlier or JournalRows(own.requested_at_ms if own else ask.requested_at_ms)
    rows.entries.update(own.entries if own else {})
    rows.entries.update({entry.entry: entry for entry in ask.journal})
    if rows.entries:
        tables.journal[ask.thread_id, home] = rows


def _rendezvous(tables: Tables, ask: Commit) -> None:
    """Ask for the continuation of every blocked key that is settled by now, and of whoever still waits (protocol R29, R30)."""
    for key in sorted({step.effect_key for step in ask.blocked}):
        receipt = tables.receipts.get((ask.thread_id, key))
        if receipt and receipt.settlements and receipt.state in ("completed", "failed") and not receipt.contradicted:
            ask_continuation(tables, receipt, next_issue(tables, receipt))
    if ask.continuation is not None:
        _answer_item(tables, ask, ask.continuation)


def _answer_item(tables: Tables, ask: Commit, answered: ContinuationOf) -> None:
    """Ask for the next issue while others wait for the same receipt; else its item is done (protocol R30, R31)."""
    receipt = tables.receipts[ask.thread_id, answered.effect_key]
    waits = any(step[:2] == (ask.thread_id, answered.effect_key) for step in tables.blocked_steps)
    if waits and answered.settlement == receipt.settlements and receipt.state in ("completed", "failed"):
        ask_continuation(tables, receipt, next_issue(tables, receipt))
        return
    item = tables.items.get((ask.thread_id, answered.effect_key, answered.settlement, "effect"))
    asked = continuation_turn_id(receipt.receipt_id, answered.settlement, item.issue) if item else None
    if item is not None and asked == ask.turn_id:
        item.phase = "done"

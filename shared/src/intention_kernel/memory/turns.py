"""Begin, renew, release, and what is read under a lease (protocol 1 and 9)."""

from __future__ import annotations

from intention_kernel.memory.rows import Head
from intention_kernel.memory.tables import Tables, memory_digest
from intention_kernel.ports.turn_store import (
    AlreadySetAside,
    Begin,
    BeginAnswer,
    Begun,
    Busy,
    Conflict,
    Continuation,
    Deleted,
    Exhausted,
    Held,
    HeldReceipt,
    Replayed,
)

INCARNATION = "1"
"""A memory store is never restored from a backup, so it has one incarnation (protocol R39)."""


def begin(tables: Tables, ask: Begin) -> BeginAnswer:
    """Take the lease, or say why not; the conditions in the order of protocol 9."""
    head = tables.heads.setdefault(ask.thread_id, Head())
    known = _known(tables, head, ask)
    if known is not None:
        return known
    repeated = head.lease_nonce == ask.nonce and head.turn_id == ask.turn_id
    live = tables.lease_is_live(head)
    if live and not repeated:
        return Busy()
    if not _fits(head, ask):
        return Held(head.fingerprint or "", head.schema_revision or 0)
    _drop_other_memory(tables, head, ask)
    if not repeated:
        _count_attempt(head, ask)
    if not (repeated and live):  # a lease that is over is not revived by its own nonce either (protocol R3)
        head.fence += 1
    head.lease_nonce, head.turn_id, head.turn_digest = ask.nonce, ask.turn_id, ask.digest
    head.lease_until_seconds = tables.clock.monotonic_seconds() + ask.lease_seconds
    begun = _begun(tables, head, ask)
    return Exhausted(begun) if head.attempts > ask.attempts_limit else begun


def renew(tables: Tables, thread_id: str, fence: int, lease_seconds: float) -> bool:
    """Push the deadline of a live lease; one that is over stays over (protocol R3)."""
    head = tables.heads.get(thread_id)
    if head is None or head.fence != fence or not tables.lease_is_live(head):
        return False
    head.lease_until_seconds = tables.clock.monotonic_seconds() + lease_seconds
    return True


def release(tables: Tables, thread_id: str, fence: int, *, count_attempt: bool) -> None:
    """Let go once; an attempt that infrastructure ended does not count (protocol R6)."""
    head = tables.heads.get(thread_id)
    if head is None or head.fence != fence or head.lease_nonce is None:
        return
    head.lease_nonce = None
    if not count_attempt:
        head.attempts -= 1


def continuation(tables: Tables, thread_id: str, receipt_id: str, settlement: int) -> Continuation | None:
    """The settlement and the oldest turn that waits for it (protocol R28, R30)."""
    receipt = next((row for row in tables.receipts_of(thread_id) if row.receipt_id == receipt_id), None)
    if receipt is None or not 1 <= settlement <= receipt.settlements:
        return None
    waiting = [
        tables.turns[thread_id, turn_id]
        for owner, key, turn_id in tables.blocked_steps
        if owner == thread_id and key == receipt.effect_key
    ]
    resumed = min(waiting, key=lambda turn: turn.revision, default=None)
    rows = tables.journal.get((thread_id, resumed.turn_id)) if resumed else None
    return Continuation(
        effect_key=receipt.effect_key,
        receipt_id=receipt.receipt_id,
        state=receipt.state,
        attempt=receipt.attempt,
        resumed_turn_id=resumed.turn_id if resumed else None,
        request=resumed.request if resumed else None,
        requested_at_ms=resumed.requested_at_ms if resumed else None,
        journal=tuple(rows.entries.values()) if rows else (),
    )


def held_receipts(tables: Tables, thread_id: str, turn_id: str) -> tuple[HeldReceipt, ...]:
    """What the unfinished turn claims, in the order of keys (protocol R32)."""
    held = (tables.receipts[thread_id, key] for key in sorted(tables.claims(thread_id, turn_id)))
    return tuple(HeldReceipt(row.receipt_id, row.effect_key, row.state) for row in held)


def _known(tables: Tables, head: Head, ask: Begin) -> Replayed | Conflict | AlreadySetAside | Deleted | None:
    """What is decided about the turn id already, for which no lease is taken (protocol R7, R38)."""
    if head.deleted:
        return Deleted()
    turn = tables.turns.get((ask.thread_id, ask.turn_id))
    if turn is not None:
        return Replayed(turn.result, turn.revision) if turn.digest == ask.digest else Conflict()
    last = tables.last_aside(ask.thread_id, ask.turn_id)
    if last is not None and last.aside.digest != ask.digest:
        return Conflict()
    if last is not None and last.state != "redriven":
        return AlreadySetAside(last.aside.reason)
    in_progress = head.turn_id == ask.turn_id
    return Conflict() if in_progress and head.turn_digest != ask.digest else None


def _fits(head: Head, ask: Begin) -> bool:
    """Whether this build can go on with the checkpoint (protocol R8). Another agent's or tenant's request is rejected."""
    if ask.accepts is None or head.fingerprint is None:
        return True
    if (head.agent_id, head.tenant_id) != (ask.agent_id, ask.tenant_id):
        return True
    return head.fingerprint in ask.accepts and head.schema_revision == ask.schema_revision


def _drop_other_memory(tables: Tables, head: Head, ask: Begin) -> None:
    """A redriven turn that begins on another memory replays nothing of its journal; the claims stay (protocol R15, R33)."""
    last = tables.last_aside(ask.thread_id, ask.turn_id)
    rows = tables.journal.get((ask.thread_id, ask.turn_id))
    if last is None or rows is None or head.turn_id == ask.turn_id or last.base_digest == memory_digest(head):
        return
    rows.entries = {name: entry for name, entry in rows.entries.items() if entry.kind == "claim"}


def _count_attempt(head: Head, ask: Begin) -> None:
    """An earlier holder that never let go has crashed (protocol R6)."""
    same = head.turn_id == ask.turn_id
    head.crashes = head.crashes + (head.lease_nonce is not None) if same else 0
    head.attempts = head.attempts + 1 if same else 1


def _begun(tables: Tables, head: Head, ask: Begin) -> Begun:
    rows = tables.journal.get((ask.thread_id, ask.turn_id))
    return Begun(
        fence=head.fence,
        attempt=head.attempts,
        crashes=head.crashes,
        revision=head.revision,
        next_sequence=head.next_sequence,
        incarnation=INCARNATION,
        checkpoint=head.checkpoint,
        agent_id=head.agent_id,
        tenant_id=head.tenant_id,
        journal=tuple(rows.entries.values()) if rows else (),
        requested_at_ms=rows.requested_at_ms if rows else None,
    )

"""What lets a lane go forward: commit, set aside, reject; each fenced, each counted in the thread's revision (protocol R5)."""

from __future__ import annotations

from intention_kernel.contracts.event import WireRecord, unpack_records
from intention_kernel.memory.blocking import block_and_journal
from intention_kernel.memory.rows import Head, OutboxRow, RejectedRow, SetAsideRow, TurnRow
from intention_kernel.memory.tables import (
    TOPICS,
    Tables,
    enqueue,
    enqueue_events,
    memory_digest,
    open_orphaned,
    record_digest,
)
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import (
    Commit,
    CommitAnswer,
    Committed,
    Fenced,
    Replayed,
    Resequence,
    SetAside,
    Unclaimed,
)


def commit(tables: Tables, ask: Commit) -> CommitAnswer:
    """All of it or nothing; the lease's expiry is not tested, fence and revision decide (protocol 9)."""
    head = tables.heads.get(ask.thread_id)
    refused = _committed(tables, ask.thread_id, ask.turn_id, ask.fence) or _fenced(head, ask.fence, ask.revision)
    if head is None or refused is not None:
        return refused or Fenced()
    if head.next_sequence != ask.next_sequence:
        return Resequence(head.next_sequence)
    unclaimed = _unclaimed(tables, ask)
    if unclaimed:
        return Unclaimed(unclaimed)
    _write_turn(tables, head, ask)
    block_and_journal(tables, ask)
    enqueue_events(tables, ask.thread_id, ask.next_sequence, unpack_records(ask.events))
    return Committed(head.revision)


def set_aside(tables: Tables, ask: SetAside) -> CommitAnswer:
    """Keep the request, say so on the topic, and open an item for whatever the turn holds (protocol R5, R32)."""
    earlier = tables.last_aside(ask.thread_id, ask.turn_id)
    if earlier is not None and earlier.aside.fence == ask.fence:
        return Committed(earlier.revision)
    head = tables.heads.get(ask.thread_id)
    refused = _committed(tables, ask.thread_id, ask.turn_id, ask.fence) or _fenced(head, ask.fence, ask.revision)
    if head is None or refused is not None:
        return refused or Fenced()
    if head.next_sequence != ask.next_sequence:
        return Resequence(head.next_sequence)
    _advance(head, ask.event_count)
    tables.set_aside[ask.thread_id, head.revision] = SetAsideRow(ask, head.revision, memory_digest(head))
    _open_orphaned(tables, ask)
    enqueue_events(tables, ask.thread_id, ask.next_sequence, unpack_records(ask.events))
    return Committed(head.revision)


def reject(tables: Tables, rejection: Rejection) -> None:
    """Keep and publish a record that moves no lane by itself; once per origin and bytes (protocol R34)."""
    _keep_rejected(tables, RejectedRow(rejection, record_digest(rejection.origin.value)))


def reject_begun(tables: Tables, rejection: Rejection, fence: int, revision: int) -> CommitAnswer:
    """Reject a decodable request as a fenced commit (protocol R5)."""
    digest = record_digest(rejection.origin.value)
    earlier = tables.rejected.get(_identity(rejection, digest))
    if earlier is not None and earlier.fence == fence and earlier.revision is not None:
        return Committed(earlier.revision)
    thread_id, turn_id = rejection.thread_id or "", rejection.turn_id or ""
    head = tables.heads.get(thread_id)
    refused = _committed(tables, thread_id, turn_id, fence) or _fenced(head, fence, revision)
    if head is None or refused is not None:
        return refused or Fenced()
    if earlier is not None and earlier.revision is not None:
        # The attempt that rejected it ended before its offset was stored: its row and revision stand.
        _free(head)
        earlier.fence = fence
        return Committed(earlier.revision)
    _advance(head, event_count=0)
    _keep_rejected(tables, RejectedRow(rejection, digest, fence, head.revision))
    return Committed(head.revision)


def _committed(tables: Tables, thread_id: str, turn_id: str, fence: int) -> Committed | Replayed | None:
    """The turn has its row: mine already, or another attempt's (protocol R11)."""
    turn = tables.turns.get((thread_id, turn_id))
    if turn is None:
        return None
    return Committed(turn.revision) if turn.fence == fence else Replayed(turn.result, turn.revision)


def _fenced(head: Head | None, fence: int, revision: int) -> Fenced | None:
    if head is None or head.lease_nonce is None:
        return Fenced()
    return None if (head.fence, head.revision) == (fence, revision) else Fenced()


def _unclaimed(tables: Tables, ask: Commit) -> tuple[str, ...]:
    """Keys that earlier attempts prepared, and for a continuation also the settled one and its turn's (protocol R15)."""
    claims = set(tables.claims(ask.thread_id, ask.turn_id))
    if ask.continuation is not None and ask.continuation.resumed_turn_id is not None:
        claims.update(tables.claims(ask.thread_id, ask.continuation.resumed_turn_id))
        claims.add(ask.continuation.effect_key)
    return tuple(sorted(claims.difference(ask.claimed)))


def _write_turn(tables: Tables, head: Head, ask: Commit) -> None:
    _advance(head, ask.event_count)
    head.checkpoint = ask.checkpoint
    head.fingerprint = ask.fingerprint
    head.schema_revision = ask.schema_revision
    if head.agent_id is None:
        head.agent_id, head.tenant_id = ask.agent_id, ask.tenant_id
    tables.turns[ask.thread_id, ask.turn_id] = TurnRow(
        thread_id=ask.thread_id,
        turn_id=ask.turn_id,
        revision=head.revision,
        status=ask.status,
        digest=ask.digest,
        request=ask.request,
        requested_at_ms=ask.requested_at_ms,
        result=ask.result,
        first_sequence=ask.next_sequence,
        event_count=ask.event_count,
        fence=ask.fence,
        committed_at=tables.clock.now(),
    )


def _advance(head: Head, event_count: int) -> None:
    """The lane goes forward and the thread is free."""
    head.revision += 1
    head.next_sequence += event_count
    _free(head)


def _free(head: Head) -> None:
    """Nobody holds the thread, and no turn is in progress."""
    head.lease_nonce = None
    head.turn_id = None
    head.turn_digest = None
    head.attempts = 0
    head.crashes = 0


def _open_orphaned(tables: Tables, ask: SetAside) -> None:
    """What the turn holds has an owner again; a receipt that failed holds nothing (protocol R32)."""
    for key in sorted(tables.claims(ask.thread_id, ask.turn_id)):
        receipt = tables.receipts[ask.thread_id, key]
        if receipt.state != "failed" or receipt.contradicted:
            open_orphaned(tables, receipt, ask.turn_id)


def _identity(rejection: Rejection, digest: bytes) -> tuple[str, int, int, bytes]:
    origin = rejection.origin
    return (origin.topic, origin.partition, origin.offset, digest)


def _keep_rejected(tables: Tables, row: RejectedRow) -> None:
    identity = _identity(row.rejection, row.digest)
    if identity in tables.rejected:
        return
    tables.rejected[identity] = row
    origin = row.rejection.origin
    record = WireRecord(
        (
            ("reason", row.rejection.reason.encode("utf-8", "backslashreplace")),
            ("detail", row.rejection.detail.encode("utf-8", "backslashreplace")),
            ("origin_topic", origin.topic.encode()),
            ("origin_partition", str(origin.partition).encode()),
            ("origin_offset", str(origin.offset).encode()),
        ),
        origin.value,
    )
    dedupe = f"{origin.topic}:{origin.partition}:{origin.offset}:{row.digest.hex()}"
    enqueue(tables, OutboxRow(row.rejection.thread_id or "", TOPICS.rejected, dedupe, None, (record,)))

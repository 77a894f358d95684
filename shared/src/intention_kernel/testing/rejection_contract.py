"""What every Rejections does. Subclass it beside a fixture `boundary`, a BoundaryHarness."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.ids import random_id
from intention_kernel.ports.turn_store import Committed, Fenced, Origin, Replayed
from intention_kernel.testing.boundary_calls import (
    begun,
    commit_of,
    committed,
    new_thread,
    origin_of,
    rejection_of,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, StoredOutboxRow, snapshot


class RejectionsContract:
    """Requests that can never run: kept byte for byte, published by the same statement."""

    async def test_an_unreadable_record_is_kept_and_published(self, boundary: BoundaryHarness) -> None:
        """R34: its bytes, headers and origin; the record for the rejected topic is made with the row."""
        thread = new_thread()
        origin = new_origin(value=b"\x00\xff{")
        await boundary.store.reject(rejection_of(origin, thread))
        assert await boundary.rejected(origin.topic, origin.partition) == (("not_json", origin),)
        [row] = rejected_rows(await boundary.outbox(thread))
        [record] = row.records
        assert record.value == origin.value
        headers = dict(record.headers)
        assert (headers["reason"], headers["detail"]) == (b"not_json", b"at the top: ends early")
        assert (headers["origin_topic"], headers["origin_offset"]) == (b"turns.requests", b"7")
        assert headers["origin_partition"] == str(origin.partition).encode()

    async def test_a_record_is_rejected_once(self, boundary: BoundaryHarness) -> None:
        """R11, R34: a redelivery finds its row by origin and bytes."""
        thread = new_thread()
        rejection = rejection_of(new_origin(), thread)
        for _ in range(3):
            await boundary.store.reject(rejection)
        assert len(await boundary.rejected("turns.requests", rejection.origin.partition)) == 1
        assert len(rejected_rows(await boundary.outbox(thread))) == 1

    async def test_other_offsets_and_other_bytes_are_other_records(self, boundary: BoundaryHarness) -> None:
        """R34: after a topic was made anew the same offset holds something else."""
        thread, origin = new_thread(), new_origin()
        for other in (origin, replace(origin, offset=8), replace(origin, offset=9, value=b"[")):
            await boundary.store.reject(rejection_of(other, thread))
        await boundary.store.reject(rejection_of(replace(origin, value=b"["), thread))
        assert len(await boundary.rejected(origin.topic, origin.partition)) == 4
        assert len(rejected_rows(await boundary.outbox(thread))) == 4

    async def test_a_record_without_value_or_key_or_thread_is_kept(self, boundary: BoundaryHarness) -> None:
        """R34: nothing of it is needed to keep it."""
        origin = replace(new_origin(value=None), key=None, headers=())
        await boundary.store.reject(rejection_of(origin))
        assert await boundary.rejected(origin.topic, origin.partition) == (("not_json", origin),)

    async def test_a_conflict_is_rejected_beside_the_turn(self, boundary: BoundaryHarness) -> None:
        """R7: without fence or revision: the turn in progress goes on and commits."""
        thread = new_thread()
        attempt = await begun(boundary.store, thread, "turn-1")
        await boundary.store.reject(rejection_of(new_origin(), thread, "turn-1"))
        head = await boundary.head(thread)
        assert head is not None
        assert (head.fence, head.revision) == (attempt.fence, 0)
        await committed(boundary.store, commit_of(thread, "turn-1", attempt))

    async def test_rejecting_a_begun_request_is_a_fenced_commit(self, boundary: BoundaryHarness) -> None:
        """R5: revision + 1, no event, the lane goes on; repeated it is once (R11)."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        rejection = rejection_of(new_origin(), thread, "turn-1")
        assert await store.reject_begun(rejection, fence=attempt.fence, revision=0) == Committed(1)
        before = await snapshot(boundary, thread)
        assert await store.reject_begun(rejection, fence=attempt.fence, revision=0) == Committed(1)
        assert await snapshot(boundary, thread) == before
        assert len(rejected_rows(before.outbox)) == 1
        second = await begun(store, thread, "turn-2")
        assert (second.revision, second.next_sequence, second.attempt) == (1, 1, 1)

    async def test_a_begun_request_that_is_redelivered_is_rejected_once(self, boundary: BoundaryHarness) -> None:
        """R5, R11: its attempt ended before the offset was stored; revisions of the thread stay without a gap."""
        store, thread = boundary.store, new_thread()
        rejection = rejection_of(new_origin(), thread, "turn-1")
        first = await begun(store, thread, "turn-1")
        await store.reject_begun(rejection, fence=first.fence, revision=0)
        await committed(store, commit_of(thread, "turn-2", await begun(store, thread, "turn-2")))
        again = await begun(store, thread, "turn-1")
        for _ in range(2):
            assert await store.reject_begun(rejection, fence=again.fence, revision=2) == Committed(1)
        third = await begun(store, thread, "turn-3")
        assert (third.revision, third.attempt) == (2, 1)
        assert len(rejected_rows(await boundary.outbox(thread))) == 1

    async def test_an_overtaken_attempt_rejects_nothing(self, boundary: BoundaryHarness) -> None:
        """R5: a request is not both committed and rejected."""
        store, thread = boundary.store, new_thread()
        zombie = await begun(store, thread, "turn-1")
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        rejection = rejection_of(new_origin(), thread, "turn-1")
        assert isinstance(await store.reject_begun(rejection, fence=zombie.fence, revision=0), Fenced)
        await committed(store, commit_of(thread, "turn-1", second))
        assert isinstance(await store.reject_begun(rejection, fence=zombie.fence, revision=0), Replayed)
        assert await boundary.rejected("turns.requests", rejection.origin.partition) == ()
        assert rejected_rows(await boundary.outbox(thread)) == []


def new_origin(value: bytes | None = b"{") -> Origin:
    """A place that no other test used."""
    return origin_of(partition=random_id().int % 2**30, value=value)


def rejected_rows(rows: tuple[StoredOutboxRow, ...]) -> list[StoredOutboxRow]:
    """Those for the rejected topic."""
    return [row for row in rows if row.topic == "turns.rejected"]

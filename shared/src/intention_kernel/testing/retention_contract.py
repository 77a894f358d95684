"""What every Retention does. Subclass it beside a fixture `boundary`, a BoundaryHarness."""

from __future__ import annotations

from intention_kernel.contracts.json_codec import loads
from intention_kernel.ports.effect_store import Completed, Taken
from intention_kernel.ports.retention import Thinned
from intention_kernel.ports.turn_store import Conflict, Deleted, Replayed
from intention_kernel.testing.boundary_calls import (
    begin_of,
    begun,
    blocked_turn,
    commit_of,
    committed,
    end_of,
    new_thread,
    prepare_of,
    prepared,
    rejection_of,
    set_aside_of,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, snapshot
from intention_kernel.testing.rejection_contract import new_origin

VALUE = b'{"reserved":2}'


class RetentionContract:
    """What is forgotten of a thread can be answered for all the same, and what is not over is not forgotten."""

    async def test_a_turn_of_which_the_tombstone_is_left_is_replayed_and_conflicts(
        self, boundary: BoundaryHarness
    ) -> None:
        """R38: thread, turn, digest, revision and outcome stay; what was said is gone."""
        store, thread = boundary.store, new_thread()
        await finished(boundary, thread)
        assert await boundary.retention.thin(thread, 0.0, 10) == Thinned(1, 1)
        answer = await store.begin(begin_of(thread, "turn-1"))
        assert isinstance(answer, Replayed)
        assert answer.revision == 1
        assert loads(answer.result) == {
            "revision": 1,
            "status": "completed",
            "response": None,
            "blockedOn": [],
            "facts": [],
            "replayed": False,
        }
        assert isinstance(await store.begin(begin_of(thread, "turn-1", "other")), Conflict)
        [turn] = await boundary.turns(thread)
        assert (turn.request, turn.first_sequence, turn.event_count) == (b"", 1, 2)

    async def test_a_receipt_that_was_thinned_still_answers_for_its_key(self, boundary: BoundaryHarness) -> None:
        """R38: key, fingerprint, state, and the value; its payload is gone. Nobody is called."""
        store, thread = boundary.store, new_thread()
        await finished(boundary, thread)
        await boundary.retention.thin(thread, 0.0, 10)
        [receipt] = await boundary.receipts(thread)
        assert (receipt.payload, receipt.title, receipt.value) == (b"null", "", VALUE)
        attempt = await begun(store, thread, "turn-2")
        assert await store.prepare(prepare_of(thread, "turn-2", attempt.fence)) == Completed(VALUE, 1)
        other = prepare_of(thread, "turn-2", attempt.fence, payload=b"another payload")
        assert await store.prepare(other) == Taken()

    async def test_thinning_again_finds_nothing(self, boundary: BoundaryHarness) -> None:
        """R11, R38: and younger than asked for is left whole."""
        thread = new_thread()
        await finished(boundary, thread)
        before = await snapshot(boundary, thread)
        assert await boundary.retention.thin(thread, 3_600.0, 10) == Thinned(0, 0)
        assert await boundary.retention.thin(thread, 0.0, 0) == Thinned(0, 0)
        assert await snapshot(boundary, thread) == before
        await boundary.retention.thin(thread, 0.0, 10)
        assert await boundary.retention.thin(thread, 0.0, 10) == Thinned(0, 0)

    async def test_what_waits_or_is_not_published_stays_whole(self, boundary: BoundaryHarness) -> None:
        """R30, R35, R38: a blocked turn's request runs again, and an outbox row points at its turn's events."""
        thread, unpublished = new_thread(), new_thread()
        await blocked_turn(boundary.store, thread, "turn-1")
        await boundary.publish(thread)
        assert await boundary.retention.thin(thread, 0.0, 10) == Thinned(0, 0)
        await committed(
            boundary.store, commit_of(unpublished, "turn-1", await begun(boundary.store, unpublished, "turn-1"))
        )
        assert await boundary.retention.thin(unpublished, 0.0, 10) == Thinned(0, 0)
        await boundary.publish(unpublished)
        assert await boundary.retention.thin(unpublished, 0.0, 10) == Thinned(1, 0)

    async def test_a_deleted_thread_keeps_only_that_it_is_deleted(self, boundary: BoundaryHarness) -> None:
        """R38: every begin is told, whatever turn it is; deleting again says deleted."""
        store, thread = boundary.store, new_thread()
        await finished(boundary, thread)
        await store.reject(rejection_of(origin := new_origin(), thread))
        await boundary.publish(thread)
        for _ in range(2):
            assert await boundary.retention.delete(thread, "ana", "asked for") == "deleted"
        for turn_id in ("turn-1", "turn-2"):
            assert await store.begin(begin_of(thread, turn_id)) == Deleted()
        assert await boundary.turns(thread) == ()
        assert await boundary.receipts(thread) == ()
        assert await boundary.transitions(thread, "reserve:1") == ()
        assert await boundary.rejected(origin.topic, origin.partition) == ()

    async def test_a_thread_with_anything_that_is_not_over_is_not_deleted(self, boundary: BoundaryHarness) -> None:
        """R38: held, an open receipt, an unfinished item, an unpublished record; nothing of it is gone then."""
        store, thread = boundary.store, new_thread()
        assert await boundary.retention.delete(thread, "ana", "r") == "not_found"
        attempt = await begun(store, thread, "turn-1")
        assert await boundary.retention.delete(thread, "ana", "r") == "busy"
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        await store.release(thread, attempt.fence, count_attempt=True)
        assert await boundary.retention.delete(thread, "ana", "r") == "receipts"
        await boundary.scan()
        await store.end(end_of(ask, "completed", VALUE))
        assert await boundary.retention.delete(thread, "ana", "r") == "items"
        other = new_thread()
        await finished(boundary, other, published=False)
        before = await snapshot(boundary, other)
        assert await boundary.retention.delete(other, "ana", "r") == "outbox"
        assert await snapshot(boundary, other) == before

    async def test_an_orphaned_item_refuses_a_deletion(self, boundary: BoundaryHarness) -> None:
        """R32, R38: money moved, and the conversation does not know."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        await store.end(end_of(await prepared(store, thread, "turn-1", attempt.fence), "completed"))
        await store.set_aside(set_aside_of(thread, "turn-1", attempt))
        await boundary.publish(thread)
        assert await boundary.retention.delete(thread, "ana", "r") == "items"


async def finished(boundary: BoundaryHarness, thread_id: str, *, published: bool = True) -> None:
    """A thread with one turn that made an effect, all of it over."""
    store = boundary.store
    attempt = await begun(store, thread_id, "turn-1")
    ask = await prepared(store, thread_id, "turn-1", attempt.fence)
    await store.end(end_of(ask, "completed", VALUE))
    await committed(store, commit_of(thread_id, "turn-1", attempt, claimed=(ask.effect_key,)))
    if published:
        await boundary.publish(thread_id)

"""What every TurnStore does. Subclass it in a test module that has a fixture `boundary`, a BoundaryHarness."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.ids import random_id
from intention_kernel.ports.turn_store import (
    AlreadySetAside,
    Begun,
    Busy,
    Committed,
    Conflict,
    Exhausted,
    Fenced,
    Held,
    Replayed,
    Resequence,
)
from intention_kernel.testing.boundary_calls import (
    ATTEMPTS_LIMIT,
    FINGERPRINT,
    LEASE_SECONDS,
    begin_of,
    begun,
    blocked_turn,
    commit_of,
    committed,
    event_records,
    new_thread,
    prepare_of,
    set_aside_of,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, snapshot


class TurnStoreContract:
    """Begin, renew, commit, set aside and release, one thread at a time."""

    async def test_a_new_thread_begins_empty(self, boundary: BoundaryHarness) -> None:
        """R7: begun, with nothing stored before."""
        answer = await begun(boundary.store, new_thread(), "turn-1")
        assert (answer.attempt, answer.crashes, answer.revision, answer.next_sequence) == (1, 0, 0, 1)
        assert (answer.checkpoint, answer.agent_id, answer.tenant_id) == (None, None, None)
        assert (answer.journal, answer.requested_at_ms) == ((), None)

    async def test_a_begin_repeated_with_its_nonce_is_the_same_attempt(self, boundary: BoundaryHarness) -> None:
        """R1, R11: the repeat answers the same and raises nothing."""
        thread = new_thread()
        ask = begin_of(thread, "turn-1")
        first = await boundary.store.begin(ask)
        before = await snapshot(boundary, thread)
        assert await boundary.store.begin(ask) == first
        assert await snapshot(boundary, thread) == before

    async def test_a_late_duplicate_of_a_begin_does_not_re_arm_its_sender(self, boundary: BoundaryHarness) -> None:
        """R1: A begins, B takes over and dies; A's begin arrives again, and A's fence stays worthless."""
        thread = new_thread()
        ask = begin_of(thread, "turn-1")
        first = await boundary.store.begin(ask)
        assert isinstance(first, Begun)
        await boundary.expire_lease(thread)
        second = await begun(boundary.store, thread, "turn-1")
        assert isinstance(await boundary.store.begin(ask), Busy)
        await boundary.expire_lease(thread)
        duplicate = await boundary.store.begin(ask)
        assert isinstance(duplicate, Begun)
        assert first.fence < second.fence < duplicate.fence
        late = prepare_of(thread, "turn-1", first.fence)
        assert isinstance(await boundary.store.prepare(late), Fenced)

    async def test_every_begin_of_another_attempt_raises_the_fence(self, boundary: BoundaryHarness) -> None:
        """R1: the fence only grows, whatever becomes of the attempts."""
        thread = new_thread()
        fences = []
        for _ in range(3):
            answer = await begun(boundary.store, thread, "turn-1")
            fences.append(answer.fence)
            await boundary.store.release(thread, answer.fence, count_attempt=False)
        assert fences == sorted(set(fences))

    async def test_a_thread_that_somebody_holds_is_busy(self, boundary: BoundaryHarness) -> None:
        """R4, R7: no attempt is counted and the holder keeps the thread."""
        thread = new_thread()
        holder = await begun(boundary.store, thread, "turn-1")
        before = await snapshot(boundary, thread)
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-1")), Busy)
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-2")), Busy)
        assert await snapshot(boundary, thread) == before
        await committed(boundary.store, commit_of(thread, "turn-1", holder))

    async def test_a_lease_that_is_over_can_be_taken(self, boundary: BoundaryHarness) -> None:
        """R4: the lane waits and begins again; the new attempt counts, and the earlier one as a crash (R6)."""
        thread = new_thread()
        await begun(boundary.store, thread, "turn-1")
        await boundary.expire_lease(thread)
        answer = await begun(boundary.store, thread, "turn-1")
        assert (answer.attempt, answer.crashes) == (2, 1)

    async def test_renewing_pushes_the_deadline(self, boundary: BoundaryHarness) -> None:
        """R3: a live lease is renewed, as often as its holder likes (R11)."""
        thread = new_thread()
        answer = await begun(boundary.store, thread, "turn-1")
        for _ in range(2):
            assert await boundary.store.renew(thread, answer.fence, 10 * LEASE_SECONDS)
        head = await boundary.head(thread)
        assert head is not None
        assert 5 * LEASE_SECONDS < head.lease_seconds <= 10 * LEASE_SECONDS

    async def test_a_lease_that_is_over_never_revives(self, boundary: BoundaryHarness) -> None:
        """R3: it cannot be renewed and cannot prepare, though nobody took the thread."""
        thread = new_thread()
        answer = await begun(boundary.store, thread, "turn-1")
        await boundary.expire_lease(thread)
        assert not await boundary.store.renew(thread, answer.fence, LEASE_SECONDS)
        assert isinstance(await boundary.store.prepare(prepare_of(thread, "turn-1", answer.fence)), Fenced)
        assert not await boundary.receipts(thread)
        assert not await boundary.store.renew(thread, answer.fence, LEASE_SECONDS)

    async def test_a_begin_repeated_after_its_lease_is_over_is_a_new_fence(self, boundary: BoundaryHarness) -> None:
        """R3: not even its own nonce revives a lease; it is no second attempt either (R6)."""
        thread = new_thread()
        ask = begin_of(thread, "turn-1")
        first = await boundary.store.begin(ask)
        await boundary.expire_lease(thread)
        again = await boundary.store.begin(ask)
        assert isinstance(first, Begun)
        assert isinstance(again, Begun)
        assert again.fence > first.fence
        assert (again.attempt, again.crashes) == (1, 0)
        assert isinstance(await boundary.store.prepare(prepare_of(thread, "turn-1", first.fence)), Fenced)

    async def test_renewal_needs_the_fence_and_a_lease(self, boundary: BoundaryHarness) -> None:
        """R3: another attempt's fence, a released or a committed thread and an unknown one renew nothing."""
        thread = new_thread()
        first = await begun(boundary.store, thread, "turn-1")
        assert not await boundary.store.renew(thread, first.fence + 1, LEASE_SECONDS)
        await boundary.store.release(thread, first.fence, count_attempt=False)
        assert not await boundary.store.renew(thread, first.fence, LEASE_SECONDS)
        second = await begun(boundary.store, thread, "turn-1")
        await committed(boundary.store, commit_of(thread, "turn-1", second))
        assert not await boundary.store.renew(thread, second.fence, LEASE_SECONDS)
        assert not await boundary.store.renew(new_thread(), 1, LEASE_SECONDS)

    async def test_an_expired_lease_may_still_commit(self, boundary: BoundaryHarness) -> None:
        """R3: fence and revision decide; expiry is not tested."""
        thread = new_thread()
        answer = await begun(boundary.store, thread, "turn-1")
        await boundary.expire_lease(thread)
        assert await committed(boundary.store, commit_of(thread, "turn-1", answer)) == 1

    async def test_a_commit_is_the_turn_its_events_and_the_next_checkpoint(self, boundary: BoundaryHarness) -> None:
        """R2, R36: all of it is there for the next begin, and the sequence goes on from the last event."""
        thread = new_thread()
        first = await begun(boundary.store, thread, "turn-1")
        done = commit_of(thread, "turn-1", first, events=3)
        assert await committed(boundary.store, done) == 1
        [turn] = await boundary.turns(thread)
        assert (turn.turn_id, turn.revision, turn.status, turn.first_sequence, turn.event_count) == (
            "turn-1",
            1,
            "completed",
            1,
            3,
        )
        assert (turn.request, turn.result) == (done.request, done.result)
        second = await begun(boundary.store, thread, "turn-2")
        assert (second.revision, second.next_sequence, second.checkpoint) == (1, 4, done.checkpoint)
        assert (second.agent_id, second.tenant_id) == ("agent", "tenant")

    async def test_a_replayed_turn_returns_the_stored_result(self, boundary: BoundaryHarness) -> None:
        """R2, R7: the result, no lease, no attempt; also while another turn runs and however often (R11)."""
        thread = new_thread()
        first = await begun(boundary.store, thread, "turn-1")
        done = commit_of(thread, "turn-1", first)
        await committed(boundary.store, done)
        before = await snapshot(boundary, thread)
        for _ in range(2):
            assert await boundary.store.begin(begin_of(thread, "turn-1")) == Replayed(done.result, 1)
        assert await snapshot(boundary, thread) == before
        holder = await begun(boundary.store, thread, "turn-2")
        assert await boundary.store.begin(begin_of(thread, "turn-1")) == Replayed(done.result, 1)
        await committed(boundary.store, commit_of(thread, "turn-2", holder))

    async def test_other_content_under_a_turn_id_is_a_conflict(self, boundary: BoundaryHarness) -> None:
        """R7: while the turn is in progress (held, or between attempts), set aside, and after it committed."""
        thread, other = new_thread(), new_thread()
        first = await begun(boundary.store, thread, "turn-1")
        twin = begin_of(thread, "turn-1", "something else")
        assert isinstance(await boundary.store.begin(twin), Conflict)
        await boundary.expire_lease(thread)
        assert isinstance(await boundary.store.begin(twin), Conflict)
        await committed(boundary.store, commit_of(thread, "turn-1", first))
        before = await snapshot(boundary, thread)
        assert isinstance(await boundary.store.begin(twin), Conflict)
        assert await snapshot(boundary, thread) == before
        aside = await begun(boundary.store, other, "turn-1")
        await boundary.store.set_aside(set_aside_of(other, "turn-1", aside))
        assert isinstance(await boundary.store.begin(begin_of(other, "turn-1", "something else")), Conflict)

    async def test_a_commit_repeated_answers_the_same_and_changes_nothing(self, boundary: BoundaryHarness) -> None:
        """R11: mine, already done; also after the next turn has begun."""
        thread = new_thread()
        done = commit_of(thread, "turn-1", await begun(boundary.store, thread, "turn-1"))
        first = await boundary.store.commit(done)
        before = await snapshot(boundary, thread)
        assert await boundary.store.commit(done) == first
        assert await snapshot(boundary, thread) == before
        await begun(boundary.store, thread, "turn-2")
        assert await boundary.store.commit(done) == first

    async def test_an_attempt_that_was_overtaken_cannot_commit(self, boundary: BoundaryHarness) -> None:
        """R4, R11: fenced while the other runs, replayed once that one has committed; the turn commits once."""
        thread = new_thread()
        zombie = await begun(boundary.store, thread, "turn-1")
        await boundary.expire_lease(thread)
        second = await begun(boundary.store, thread, "turn-1")
        late = replace(commit_of(thread, "turn-1", zombie), result=b'"zombie"')
        assert isinstance(await boundary.store.commit(late), Fenced)
        done = commit_of(thread, "turn-1", second)
        await committed(boundary.store, done)
        assert await boundary.store.commit(late) == Replayed(done.result, 1)
        assert len(await boundary.turns(thread)) == 1

    async def test_a_commit_needs_the_fence_the_revision_and_a_begin(self, boundary: BoundaryHarness) -> None:
        """R4: each alone is not enough, and a fenced commit is no outcome: the lane begins again."""
        thread = new_thread()
        first = await begun(boundary.store, thread, "turn-1")
        done = commit_of(thread, "turn-1", first)
        assert isinstance(await boundary.store.commit(replace(done, fence=first.fence + 1)), Fenced)
        assert isinstance(await boundary.store.commit(replace(done, revision=1)), Fenced)
        assert isinstance(await boundary.store.commit(replace(done, thread_id=new_thread())), Fenced)
        await boundary.store.release(thread, first.fence, count_attempt=True)
        assert isinstance(await boundary.store.commit(done), Fenced)
        assert not await boundary.turns(thread)
        await committed(boundary.store, commit_of(thread, "turn-1", await begun(boundary.store, thread, "turn-1")))

    async def test_a_wrong_sequence_is_numbered_again_without_a_second_run(self, boundary: BoundaryHarness) -> None:
        """R36: resequence says where to number from; the same attempt commits with it."""
        thread = new_thread()
        await committed(boundary.store, commit_of(thread, "turn-1", await begun(boundary.store, thread, "turn-1")))
        second = await begun(boundary.store, thread, "turn-2")
        wrong = commit_of(thread, "turn-2", replace(second, next_sequence=9))
        assert await boundary.store.commit(wrong) == Resequence(3)
        aside = set_aside_of(thread, "turn-2", replace(second, next_sequence=9))
        assert await boundary.store.set_aside(aside) == Resequence(3)
        await committed(boundary.store, commit_of(thread, "turn-2", second))

    async def test_attempts_and_crashes_are_counted_by_the_store(self, boundary: BoundaryHarness) -> None:
        """R6: a clean release is no crash, an infrastructure release gives the attempt back, another turn starts anew."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        for _ in range(2):  # a repeated release gives nothing back twice (R11)
            await store.release(thread, first.fence, count_attempt=True)
        second = await begun(store, thread, "turn-1")
        assert (second.attempt, second.crashes) == (2, 0)
        for _ in range(2):
            await store.release(thread, second.fence, count_attempt=False)
        third = await begun(store, thread, "turn-1")
        assert (third.attempt, third.crashes) == (2, 0)
        await boundary.expire_lease(thread)
        fourth = await begun(store, thread, "turn-1")
        assert (fourth.attempt, fourth.crashes) == (3, 1)
        await committed(store, commit_of(thread, "turn-1", fourth))
        fifth = await begun(store, thread, "turn-2")
        assert (fifth.attempt, fifth.crashes) == (1, 0)

    async def test_a_release_by_an_overtaken_attempt_is_ignored(self, boundary: BoundaryHarness) -> None:
        """R4: it does not free the thread under its new holder."""
        thread = new_thread()
        zombie = await begun(boundary.store, thread, "turn-1")
        await boundary.expire_lease(thread)
        await begun(boundary.store, thread, "turn-1")
        await boundary.store.release(thread, zombie.fence, count_attempt=False)
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-1")), Busy)

    async def test_a_turn_is_exhausted_after_its_attempts(self, boundary: BoundaryHarness) -> None:
        """R6: processes that died count too; what is left is to set the turn aside, under the lease."""
        thread = new_thread()
        for _ in range(ATTEMPTS_LIMIT):
            await begun(boundary.store, thread, "turn-1")
            await boundary.expire_lease(thread)
        ask = begin_of(thread, "turn-1")
        answer = await boundary.store.begin(ask)
        assert isinstance(answer, Exhausted)
        assert (answer.begun.attempt, answer.begun.crashes) == (ATTEMPTS_LIMIT + 1, ATTEMPTS_LIMIT)
        assert await boundary.store.begin(ask) == answer
        assert isinstance(await boundary.store.set_aside(set_aside_of(thread, "turn-1", answer.begun)), Committed)

    async def test_a_build_that_does_not_fit_is_held(self, boundary: BoundaryHarness) -> None:
        """R8: no attempt, no lease; a declared fingerprint fits, and None accepts any."""
        store, thread = boundary.store, new_thread()
        await committed(store, commit_of(thread, "turn-1", await begun(store, thread, "turn-1")))
        before = await snapshot(boundary, thread)
        ask = begin_of(thread, "turn-2")
        assert await store.begin(replace(ask, accepts=("build-2",))) == Held(FINGERPRINT, 1)
        assert await store.begin(replace(ask, schema_revision=2)) == Held(FINGERPRINT, 1)
        assert await snapshot(boundary, thread) == before
        fits = await store.begin(replace(ask, accepts=("build-2", FINGERPRINT)))
        assert isinstance(fits, Begun)
        assert fits.attempt == 1
        await store.release(thread, fits.fence, count_attempt=False)
        any_build = replace(ask, accepts=None, schema_revision=2, nonce=random_id())
        assert isinstance(await store.begin(any_build), Begun)

    async def test_a_replay_fits_every_build(self, boundary: BoundaryHarness) -> None:
        """R8: a stored result needs no checkpoint."""
        store, thread = boundary.store, new_thread()
        done = commit_of(thread, "turn-1", await begun(store, thread, "turn-1"))
        await committed(store, done)
        again = replace(begin_of(thread, "turn-1"), accepts=("build-2",))
        assert await store.begin(again) == Replayed(done.result, 1)

    async def test_another_agent_or_tenant_is_begun_to_be_rejected(self, boundary: BoundaryHarness) -> None:
        """R8: held is for the thread's own agent; the runner sees whose thread it is and rejects under the lease."""
        store, thread = boundary.store, new_thread()
        await committed(store, commit_of(thread, "turn-1", await begun(store, thread, "turn-1")))
        for stranger in (
            replace(begin_of(thread, "turn-2"), agent_id="other", accepts=("other-build",)),
            replace(begin_of(thread, "turn-2"), tenant_id=None, accepts=("other-build",)),
        ):
            answer = await store.begin(stranger)
            assert isinstance(answer, Begun)
            assert (answer.agent_id, answer.tenant_id) == ("agent", "tenant")
            await store.release(thread, answer.fence, count_attempt=False)

    async def test_setting_a_turn_aside_lets_the_lane_go_on(self, boundary: BoundaryHarness) -> None:
        """R5: a fenced commit: revision + 1, the request's bytes, its event; begin says so and the next turn runs."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        aside = set_aside_of(thread, "turn-1", first)
        assert await store.set_aside(aside) == Committed(1)
        assert await boundary.set_aside(thread) == (("turn-1", aside.origin),)
        assert await store.begin(begin_of(thread, "turn-1")) == AlreadySetAside(aside.reason)
        second = await begun(store, thread, "turn-2")
        assert (second.revision, second.next_sequence, second.checkpoint) == (1, 2, None)
        assert (second.attempt, second.agent_id) == (1, None)
        await committed(store, commit_of(thread, "turn-2", second))

    async def test_setting_aside_twice_is_once(self, boundary: BoundaryHarness) -> None:
        """R11: the repeat answers the same and changes nothing."""
        thread = new_thread()
        aside = set_aside_of(thread, "turn-1", await begun(boundary.store, thread, "turn-1"))
        first = await boundary.store.set_aside(aside)
        before = await snapshot(boundary, thread)
        assert await boundary.store.set_aside(aside) == first
        assert await snapshot(boundary, thread) == before

    async def test_a_turn_is_never_both_committed_and_set_aside(self, boundary: BoundaryHarness) -> None:
        """R5: whichever of two attempts is overtaken can do neither."""
        store, thread, other = boundary.store, new_thread(), new_thread()
        zombie = await begun(store, thread, "turn-1")
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        assert isinstance(await store.set_aside(set_aside_of(thread, "turn-1", zombie)), Fenced)
        await committed(store, commit_of(thread, "turn-1", second))
        assert isinstance(await store.set_aside(set_aside_of(thread, "turn-1", zombie)), Replayed)
        assert await boundary.set_aside(thread) == ()
        zombie = await begun(store, other, "turn-1")
        await boundary.expire_lease(other)
        second = await begun(store, other, "turn-1")
        assert isinstance(await store.set_aside(set_aside_of(other, "turn-1", second)), Committed)
        assert isinstance(await store.commit(commit_of(other, "turn-1", zombie)), Fenced)
        assert await boundary.turns(other) == ()

    async def test_events_are_outbox_rows_that_are_named_by_their_first_sequence(
        self, boundary: BoundaryHarness
    ) -> None:
        """R35: one row a turn, final bytes in order, also for a turn that is set aside; the numbers have no gap."""
        store, thread = boundary.store, new_thread()
        await committed(store, commit_of(thread, "turn-1", await begun(store, thread, "turn-1"), events=2))
        await store.set_aside(set_aside_of(thread, "turn-2", await begun(store, thread, "turn-2"), events=1))
        await committed(store, commit_of(thread, "turn-3", await begun(store, thread, "turn-3"), events=18))
        rows = [row for row in await boundary.outbox(thread) if row.topic == "turns.events"]
        assert [(row.dedupe, row.first_sequence) for row in rows] == [("1", 1), ("3", 3), ("4", 4)]
        records = [record for row in rows for record in row.records]
        assert tuple(records) == event_records(thread, 1, 21)

    async def test_threads_share_nothing(self, boundary: BoundaryHarness) -> None:
        """R2: equal turn ids and effect keys of two threads never meet."""
        store, one, other = boundary.store, new_thread(), new_thread()
        await blocked_turn(store, one, "turn-1")
        before = await snapshot(boundary, one)
        await blocked_turn(store, other, "turn-1")
        assert await snapshot(boundary, one) == before

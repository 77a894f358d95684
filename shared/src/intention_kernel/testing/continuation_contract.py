"""Blocked steps, the journal under them and the turns that resume them. Subclass it beside a fixture `boundary`."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.contracts.identifiers import continuation_turn_id
from intention_kernel.ids import receipt_id
from intention_kernel.ports.effect_store import Completed, Prepare, Prepared
from intention_kernel.ports.turn_store import Begun, Commit, Continuation, ContinuationOf, HeldReceipt, Unclaimed
from intention_kernel.testing.boundary_calls import (
    REQUESTED_AT_MS,
    begun,
    blocked_turn,
    claim,
    commit_of,
    committed,
    end_of,
    new_thread,
    outcome_line,
    prepare_of,
    prepared,
    recorded_line,
    set_aside_of,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, StoredItem, snapshot
from intention_kernel.testing.settlement_contract import VALUE, continuations, settled


class ContinuationContract:
    """A blocked step does not block the conversation, and is never forgotten."""

    async def test_a_forged_continuation_has_no_settlement(self, boundary: BoundaryHarness) -> None:
        """R28: of no receipt, of a receipt of another thread, before its first settlement and beyond its last."""
        store, thread, other = boundary.store, new_thread(), new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        name = receipt_id(thread, ask.effect_key)
        assert await store.continuation(thread, name, 0) is None
        assert await store.continuation(thread, name, 1) is None
        await settled(boundary, ask, "completed", VALUE)
        assert await store.continuation(thread, name, 0) is None
        assert await store.continuation(thread, name, 2) is None
        assert await store.continuation(thread, "0" * 32, 1) is None
        assert await store.continuation(other, name, 1) is None

    async def test_a_continuation_resumes_the_blocked_turn(self, boundary: BoundaryHarness) -> None:
        """R17, R30, R32: with the request, clock and journal that the turn left, the claim still in it."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        assert await boundary.blocked_steps(thread) == {(ask.effect_key, "turn-1")}
        await settled(boundary, ask, "completed", VALUE)
        answer = await store.continuation(thread, receipt_id(thread, ask.effect_key), 1)
        assert answer is not None
        [blocked] = await boundary.turns(thread)
        assert (blocked.status, answer.resumed_turn_id, answer.request) == ("blocked", "turn-1", blocked.request)
        assert (answer.state, answer.effect_key, answer.attempt) == ("completed", ask.effect_key, 1)
        assert answer.requested_at_ms == REQUESTED_AT_MS
        assert set(answer.journal) == {claim(ask.effect_key), outcome_line(ask.effect_key, "uncertain")}

    async def test_a_continuation_that_finishes_leaves_nothing_waiting(self, boundary: BoundaryHarness) -> None:
        """R30, R31: steps, journal and item are done; asked again, there is nothing to resume."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        await settled(boundary, ask, "completed", VALUE)
        run = await resumed(boundary, ask, 1, 1)
        again = prepare_of(thread, run.turn_id, run.begun.fence)
        assert await store.prepare(again) == Completed(VALUE, 1)
        await committed(store, run.commit(claimed=(ask.effect_key,)))
        assert await boundary.blocked_steps(thread) == frozenset()
        assert await boundary.journal(thread, "turn-1") == ()
        assert await boundary.items(thread, ask.effect_key) == (StoredItem(1, "effect", "done"),)
        assert len(await continuations(boundary, thread)) == 1
        later = await store.continuation(thread, receipt_id(thread, ask.effect_key), 1)
        assert later is not None
        assert (later.resumed_turn_id, later.request, later.journal) == (None, None, ())

    async def test_a_continuation_with_nothing_to_do_commits_all_the_same(self, boundary: BoundaryHarness) -> None:
        """R29, R30: settle never looks whether somebody waits, so its request must have an outcome."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        await boundary.expire_lease(thread)
        await boundary.scan()
        await settled(boundary, ask, "completed", VALUE)
        run = await resumed(boundary, ask, 1, 1)
        assert run.answer.resumed_turn_id is None
        await committed(store, run.commit(events=1))
        assert await boundary.blocked_steps(thread) == frozenset()

    async def test_a_continuation_must_claim_the_settled_key(self, boundary: BoundaryHarness) -> None:
        """R15: and whatever else the turn that it resumes had prepared."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        one = await prepared(store, thread, "turn-1", attempt.fence, "1")
        await store.end(end_of(one, "completed"))
        two = await prepared(store, thread, "turn-1", attempt.fence, "2")
        await store.end(end_of(two, "uncertain"))
        keys = (one.effect_key, two.effect_key)
        await committed(store, commit_of(thread, "turn-1", attempt, blocked=(two.effect_key,), claimed=keys))
        await settled(boundary, two, "completed", VALUE)
        run = await resumed(boundary, two, 1, 1)
        assert await store.commit(run.commit()) == Unclaimed(keys)
        assert await store.commit(run.commit(claimed=(one.effect_key,))) == Unclaimed((two.effect_key,))
        await committed(store, run.commit(claimed=keys))

    async def test_a_turn_blocked_on_anothers_receipt_must_claim_it_too(self, boundary: BoundaryHarness) -> None:
        """R15: the settled key counts though the blocked turn never prepared it itself."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        second = await begun(store, thread, "turn-2")
        await store.prepare(prepare_of(thread, "turn-2", second.fence))
        await committed(store, commit_of(thread, "turn-2", second, blocked=(ask.effect_key,)))
        await settled(boundary, ask, "completed", VALUE)
        await committed(store, (await resumed(boundary, ask, 1, 1)).commit(claimed=(ask.effect_key,)))
        run = await resumed(boundary, ask, 1, 2)
        assert (run.answer.resumed_turn_id, run.answer.journal) == ("turn-2", ())
        assert await store.commit(run.commit()) == Unclaimed((ask.effect_key,))

    async def test_every_turn_that_waits_is_resumed_the_oldest_first(self, boundary: BoundaryHarness) -> None:
        """R30: each commit asks for the next issue while others wait for the same receipt."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        for turn_id in ("turn-2", "a-turn-that-sorts-first"):
            later = await begun(store, thread, turn_id)
            await committed(store, commit_of(thread, turn_id, later, blocked=(ask.effect_key,)))
        await settled(boundary, ask, "completed", VALUE)
        order = []
        for issue in (1, 2, 3):
            run = await resumed(boundary, ask, 1, issue)
            order.append(run.answer.resumed_turn_id)
            await committed(store, run.commit(claimed=(ask.effect_key,)))
        assert order == ["turn-1", "turn-2", "a-turn-that-sorts-first"]
        name = receipt_id(thread, ask.effect_key)
        assert await continuations(boundary, thread) == [continuation_turn_id(name, 1, issue) for issue in (1, 2, 3)]
        assert await boundary.blocked_steps(thread) == frozenset()

    async def test_a_blocked_commit_asks_itself_whether_its_receipt_is_settled(self, boundary: BoundaryHarness) -> None:
        """R29: the continuation overtook the commit and found nothing; the commit asks for another."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        await store.prepare(prepare_of(thread, "turn-1", second.fence))
        await store.release(thread, second.fence, count_attempt=True)
        await settled(boundary, ask, "completed", VALUE)
        await committed(store, (await resumed(boundary, ask, 1, 1)).commit(events=1))
        third = await begun(store, thread, "turn-1")
        done = commit_of(thread, "turn-1", third, blocked=(ask.effect_key,), claimed=(ask.effect_key,))
        await committed(store, done)
        name = receipt_id(thread, ask.effect_key)
        assert await continuations(boundary, thread) == [continuation_turn_id(name, 1, issue) for issue in (1, 2)]
        assert (await resumed(boundary, ask, 1, 2)).answer.resumed_turn_id == "turn-1"

    async def test_a_continuation_that_still_waits_is_not_asked_for_twice(self, boundary: BoundaryHarness) -> None:
        """R29: settled between the program's end and its commit: the one that is under way will find the step."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await store.end(end_of(ask, "uncertain"))
        await settled(boundary, ask, "completed", VALUE)
        done = commit_of(thread, "turn-1", first, blocked=(ask.effect_key,), claimed=(ask.effect_key,))
        await committed(store, done)
        name = receipt_id(thread, ask.effect_key)
        assert await continuations(boundary, thread) == [continuation_turn_id(name, 1, 1)]
        before = await snapshot(boundary, thread)
        await committed(store, done)
        assert await snapshot(boundary, thread) == before

    async def test_a_continuation_retries_a_failed_effect_on_the_same_receipt(self, boundary: BoundaryHarness) -> None:
        """R27, R30: uncertain again, it blocks the turn again, and the second settlement resumes it."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        await boundary.scan()
        await settled(boundary, ask, "failed")
        run = await resumed(boundary, ask, 1, 1)
        retry = prepare_of(thread, run.turn_id, run.begun.fence)
        assert isinstance(await store.prepare(retry), Prepared)
        await store.end(end_of(retry, "uncertain"))
        await committed(store, run.commit(blocked=(ask.effect_key,), claimed=(ask.effect_key,)))
        assert await boundary.blocked_steps(thread) == {(ask.effect_key, "turn-1")}
        assert len(await continuations(boundary, thread)) == 1
        await boundary.scan()
        await settled(boundary, ask, "completed", VALUE)
        second = await resumed(boundary, ask, 2, 1)
        assert second.answer.resumed_turn_id == "turn-1"
        await committed(store, second.commit(claimed=(ask.effect_key,)))
        assert await boundary.blocked_steps(thread) == frozenset()
        items = await boundary.items(thread, ask.effect_key)
        assert [(item.settlement, item.phase) for item in items] == [(1, "done"), (2, "done")]

    async def test_a_blocked_commit_keeps_the_last_lines_of_the_journal(self, boundary: BoundaryHarness) -> None:
        """R16, R30: what no prepare or end carried yet is written with the commit, under the turn that waits."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        await store.end(end_of(ask, "uncertain"))
        done = commit_of(thread, "turn-1", attempt, blocked=(ask.effect_key,), claimed=(ask.effect_key,))
        model = recorded_line("model", b"2")
        await committed(store, replace(done, journal=(model,)))
        assert set(await boundary.journal(thread, "turn-1")) == {
            claim(ask.effect_key),
            outcome_line(ask.effect_key, "uncertain"),
            model,
        }

    async def test_a_commit_that_waits_for_nothing_leaves_no_journal(self, boundary: BoundaryHarness) -> None:
        """Design 4: also where it brings last lines."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        done = replace(commit_of(thread, "turn-1", attempt), journal=(recorded_line("model", b"2"),))
        await committed(store, done)
        assert await boundary.journal(thread, "turn-1") == ()

    async def test_a_continuation_that_stays_blocked_adds_its_journal_to_the_turns(
        self, boundary: BoundaryHarness
    ) -> None:
        """R16, R30: its own lines and its last ones; where both have a line, the newer is what the program saw."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        await settled(boundary, ask, "completed", VALUE)
        run = await resumed(boundary, ask, 1, 1)
        order = prepare_of(thread, run.turn_id, run.begun.fence, "2")
        seen = outcome_line(ask.effect_key, "value", VALUE)
        await store.prepare(replace(order, journal=(seen, *order.journal)))
        await store.end(end_of(order, "uncertain"))
        keys = (ask.effect_key, order.effect_key)
        model = recorded_line("model", b"2")
        done = replace(run.commit(blocked=(order.effect_key,), claimed=keys), journal=(model,))
        await committed(store, done)
        assert await boundary.blocked_steps(thread) == {(order.effect_key, "turn-1")}
        assert set(await boundary.journal(thread, "turn-1")) == {
            claim(ask.effect_key),
            claim(order.effect_key),
            seen,
            outcome_line(order.effect_key, "uncertain"),
            model,
        }
        assert await boundary.journal(thread, run.turn_id) == ()
        await settled(boundary, order, "completed", VALUE)
        second = await resumed(boundary, order, 1, 1)
        assert (second.answer.resumed_turn_id, second.answer.requested_at_ms) == ("turn-1", REQUESTED_AT_MS)
        await committed(store, second.commit(claimed=keys))
        assert await boundary.journal(thread, "turn-1") == ()

    async def test_a_turn_blocked_on_two_receipts_keeps_its_journal_until_both_are_settled(
        self, boundary: BoundaryHarness
    ) -> None:
        """R16, R30: and the second continuation replays what the first one saw of its receipt, not "uncertain"."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        asks = [await prepared(store, thread, "turn-1", attempt.fence, order) for order in ("1", "2")]
        for ask in asks:
            await store.end(end_of(ask, "uncertain"))
        keys = (asks[0].effect_key, asks[1].effect_key)
        await committed(store, commit_of(thread, "turn-1", attempt, blocked=keys, claimed=keys))
        await settled(boundary, asks[0], "completed", VALUE)
        seen = outcome_line(keys[0], "value", VALUE)
        run = await resumed(boundary, asks[0], 1, 1)
        await committed(store, replace(run.commit(blocked=keys[1:], claimed=keys), journal=(seen,)))
        assert set(await boundary.journal(thread, "turn-1")) == {
            claim(keys[0]),
            claim(keys[1]),
            seen,
            outcome_line(keys[1], "uncertain"),
        }
        assert await boundary.blocked_steps(thread) == {(keys[1], "turn-1")}

    async def test_an_abandoned_operation_of_a_continuation_blocks_the_turn_it_resumed(
        self, boundary: BoundaryHarness
    ) -> None:
        """R18, R30: the step belongs to the turn whose request and journal are replayed."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        await settled(boundary, ask, "completed", VALUE)
        run = await resumed(boundary, ask, 1, 1)
        order = await prepared(store, thread, run.turn_id, run.begun.fence, "2")
        await committed(store, run.commit(claimed=(ask.effect_key, order.effect_key)))
        assert await boundary.blocked_steps(thread) == {(order.effect_key, "turn-1")}
        assert claim(order.effect_key) in await boundary.journal(thread, "turn-1")

    async def test_later_turns_go_on_while_one_is_blocked(self, boundary: BoundaryHarness) -> None:
        """R32: the thread is free, and its journal is not theirs."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        later = await begun(store, thread, "turn-2")
        assert (later.journal, later.attempt) == ((), 1)
        await committed(store, commit_of(thread, "turn-2", later))
        assert await boundary.blocked_steps(thread) == {(ask.effect_key, "turn-1")}
        assert await boundary.journal(thread, "turn-1") != ()

    async def test_a_turn_that_is_set_aside_leaves_what_it_holds_to_the_queue(self, boundary: BoundaryHarness) -> None:
        """R32: money moved and the conversation does not know: an orphaned item for each receipt."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        done = await prepared(store, thread, "turn-1", first.fence, "1")
        await store.end(end_of(done, "completed"))
        open_ask = await prepared(store, thread, "turn-1", first.fence, "2")
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        assert await store.held_receipts(thread, "turn-1") == (
            HeldReceipt(receipt_id(thread, done.effect_key), done.effect_key, "completed"),
            HeldReceipt(receipt_id(thread, open_ask.effect_key), open_ask.effect_key, "prepared"),
        )
        await store.set_aside(set_aside_of(thread, "turn-1", second))
        for key in (done.effect_key, open_ask.effect_key):
            assert StoredItem(1, "orphaned", "open") in await boundary.items(thread, key)
        await boundary.scan()
        assert StoredItem(1, "effect", "open") in await boundary.items(thread, open_ask.effect_key)
        assert StoredItem(1, "effect", "open") not in await boundary.items(thread, done.effect_key)

    async def test_a_turn_that_holds_nothing_says_so(self, boundary: BoundaryHarness) -> None:
        """R32: nothing claimed, nothing orphaned."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        assert await store.held_receipts(thread, "turn-1") == ()
        await store.set_aside(set_aside_of(thread, "turn-1", first))
        assert await boundary.receipts(thread) == ()


class Run:
    """A continuation that has begun and read what it resumes."""

    def __init__(self, thread_id: str, turn_id: str, begun: Begun, answer: Continuation, of: ContinuationOf) -> None:
        self.thread_id = thread_id
        self.turn_id = turn_id
        self.begun = begun
        self.answer = answer
        self.of = of

    def commit(self, *, blocked: tuple[str, ...] = (), claimed: tuple[str, ...] = (), events: int = 2) -> Commit:
        """Its end; `blocked` are keys that the resumed turn waits for now."""
        return commit_of(
            self.thread_id,
            self.turn_id,
            self.begun,
            blocked=blocked,
            claimed=claimed,
            events=events,
            continuation=self.of,
        )


async def resumed(boundary: BoundaryHarness, ask: Prepare, settlement: int, issue: int) -> Run:
    """Begin that continuation as the runner does."""
    name = receipt_id(ask.thread_id, ask.effect_key)
    turn_id = continuation_turn_id(name, settlement, issue)
    attempt = await begun(boundary.store, ask.thread_id, turn_id)
    answer = await boundary.store.continuation(ask.thread_id, name, settlement)
    assert answer is not None
    of = ContinuationOf(ask.effect_key, settlement, issue, answer.resumed_turn_id)
    return Run(ask.thread_id, turn_id, attempt, answer, of)

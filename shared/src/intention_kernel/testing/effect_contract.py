"""What every EffectStore does with attempts. Subclass it beside a fixture `boundary`, a BoundaryHarness."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from intention_kernel.ids import receipt_id
from intention_kernel.ports.effect_store import (
    Completed,
    EndAnswer,
    FailedAlready,
    Prepared,
    Taken,
    Uncertain,
)
from intention_kernel.ports.turn_store import Fenced, Unclaimed
from intention_kernel.testing.boundary_calls import (
    LEASE_SECONDS,
    REQUESTED_AT_MS,
    begun,
    claim,
    commit_of,
    committed,
    end_of,
    new_thread,
    outcome_line,
    prepare_of,
    prepared,
    recorded_line,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, receipt_of, snapshot

OUTCOMES: tuple[Literal["completed", "failed", "uncertain"], ...] = ("completed", "failed", "uncertain")


class EffectStoreContract:
    """Prepare and end, and what the journal keeps of them."""

    async def test_the_first_prepare_makes_the_receipt(self, boundary: BoundaryHarness) -> None:
        """R14, R26: attempt 1, version 1, with the payload and the provider's certificate as they were then."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = replace(prepare_of(thread, "turn-1", first.fence), deduplicates=True, key_window_seconds=3600.0)
        assert await store.prepare(ask) == Prepared(1, 1)
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert receipt.receipt_id == receipt_id(thread, ask.effect_key)
        assert (receipt.state, receipt.attempt, receipt.version, receipt.settlements) == ("prepared", 1, 1, 0)
        assert (receipt.payload, receipt.title) == (ask.payload, "Reserve 1")
        assert (receipt.deduplicates, receipt.key_window_seconds) == (True, 3600.0)
        await store.end(end_of(ask, "failed"))
        again = replace(prepare_of(thread, "turn-1", first.fence), deduplicates=False)
        assert await store.prepare(again) == Prepared(2, 3)
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert (receipt.deduplicates, receipt.key_window_seconds) == (True, 3600.0)

    async def test_an_attempt_that_a_lost_database_may_have_had_is_left_to_the_resolvers(
        self, boundary: BoundaryHarness
    ) -> None:
        """R39, R15: uncertain without a call, over already, and claimed; what is settled since is called as ever.

        That this attempt called nobody says nothing of the lost one's call.
        """
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = replace(prepare_of(thread, "turn-1", first.fence), restored=True)
        told = Uncertain(receipt_id(thread, ask.effect_key), ask.effect_key)
        assert (await store.prepare(ask), await store.prepare(ask)) == (told, told)
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert (receipt.state, receipt.attempt, receipt.version, receipt.returned) == ("uncertain", 1, 2, True)
        assert await boundary.journal(thread, "turn-1") == (claim(ask.effect_key),)
        assert await store.end(end_of(ask, "failed")) == EndAnswer("ignored", "uncertain", contradicted=False)
        assert (await receipt_of(boundary, thread, ask.effect_key)).version == receipt.version
        assert await boundary.settle(receipt.receipt_id, receipt.version, "failed", None)
        again = replace(prepare_of(thread, "turn-1", first.fence), restored=True)
        assert await store.prepare(again) == Prepared(2, 4)

    async def test_prepare_needs_the_fence(self, boundary: BoundaryHarness) -> None:
        """R3: an attempt that was overtaken prepares nothing, nor one that let go or committed."""
        store, thread = boundary.store, new_thread()
        zombie = await begun(store, thread, "turn-1")
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        assert isinstance(await store.prepare(prepare_of(thread, "turn-1", zombie.fence)), Fenced)
        await store.release(thread, second.fence, count_attempt=True)
        assert isinstance(await store.prepare(prepare_of(thread, "turn-1", second.fence)), Fenced)
        third = await begun(store, thread, "turn-1")
        await committed(store, commit_of(thread, "turn-1", third))
        assert isinstance(await store.prepare(prepare_of(thread, "turn-1", third.fence)), Fenced)
        assert await boundary.receipts(thread) == ()
        assert await boundary.journal(thread, "turn-1") == ()

    async def test_prepare_renews_the_lease(self, boundary: BoundaryHarness) -> None:
        """R3: by the same transaction."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        await store.prepare(replace(prepare_of(thread, "turn-1", first.fence), lease_seconds=10 * LEASE_SECONDS))
        head = await boundary.head(thread)
        assert head is not None
        assert head.lease_seconds > 5 * LEASE_SECONDS

    async def test_a_prepare_repeated_is_the_same_attempt(self, boundary: BoundaryHarness) -> None:
        """R11, R14: the same attempt id is answered the same and changes nothing, the journal included."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = prepare_of(thread, "turn-1", first.fence)
        answer = await store.prepare(ask)
        before = await snapshot(boundary, thread)
        journal = await boundary.journal(thread, "turn-1")
        assert await store.prepare(ask) == answer
        assert await snapshot(boundary, thread) == before
        assert await boundary.journal(thread, "turn-1") == journal

    async def test_a_key_belongs_to_one_payload(self, boundary: BoundaryHarness) -> None:
        """Design 4: another payload under the key is refused whatever the state, and calls nobody."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        await prepared(store, thread, "turn-1", first.fence, "prepared")
        for outcome in OUTCOMES:
            await store.end(end_of(await prepared(store, thread, "turn-1", first.fence, outcome), outcome))
        for order in ("prepared", *OUTCOMES):
            before = await snapshot(boundary, thread)
            other = prepare_of(thread, "turn-1", first.fence, order, payload=b"quantity one")
            assert isinstance(await store.prepare(other), Taken)
            assert await snapshot(boundary, thread) == before

    async def test_a_completed_effect_answers_with_its_value(self, boundary: BoundaryHarness) -> None:
        """Design 4: no second attempt, in this turn or a later one."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        value = b'{"reservation":"A-1"}'
        assert await store.end(end_of(ask, "completed", value)) == EndAnswer("recorded", "completed")
        assert await store.prepare(prepare_of(thread, "turn-1", first.fence)) == Completed(value, 1)
        assert await store.prepare(ask) == Completed(value, 1)
        await committed(store, commit_of(thread, "turn-1", first, claimed=(ask.effect_key,)))
        second = await begun(store, thread, "turn-2")
        assert await store.prepare(prepare_of(thread, "turn-2", second.fence)) == Completed(value, 1)

    async def test_a_failed_effect_gets_its_next_attempt_on_the_same_receipt(self, boundary: BoundaryHarness) -> None:
        """R14: attempt + 1; a late repeat of the failed attempt's prepare does not pass for a new one."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        assert await store.end(end_of(ask, "failed")) == EndAnswer("recorded", "failed")
        assert isinstance(await store.prepare(ask), FailedAlready)
        assert await store.prepare(prepare_of(thread, "turn-1", first.fence)) == Prepared(2, 3)

    async def test_an_effect_found_prepared_is_uncertain(self, boundary: BoundaryHarness) -> None:
        """R14: another attempt may have called; the receipt moves, nobody calls, and it stays so."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        expected = Uncertain(receipt_id(thread, ask.effect_key), ask.effect_key)
        again = prepare_of(thread, "turn-1", second.fence)
        assert await store.prepare(again) == expected
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert (receipt.state, receipt.attempt, receipt.version) == ("uncertain", 1, 2)
        before = await snapshot(boundary, thread)
        assert await store.prepare(again) == expected
        assert await snapshot(boundary, thread) == before

    async def test_every_transition_is_appended(self, boundary: BoundaryHarness) -> None:
        """Design 4: the receipt is a fold of its history, versions without gap."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        await store.end(end_of(await prepared(store, thread, "turn-1", first.fence), "failed"))
        ask = await prepared(store, thread, "turn-1", first.fence)
        await store.end(end_of(ask, "uncertain"))
        await store.end(end_of(ask, "completed"))
        history = await boundary.transitions(thread, ask.effect_key)
        assert [(line.version, line.from_state, line.state, line.attempt, line.settlements) for line in history] == [
            (1, None, "prepared", 1, 0),
            (2, "prepared", "failed", 1, 0),
            (3, "failed", "prepared", 2, 0),
            (4, "prepared", "uncertain", 2, 0),
            (5, "uncertain", "completed", 2, 1),
        ]

    async def test_an_end_repeated_changes_nothing(self, boundary: BoundaryHarness) -> None:
        """R11: recorded once; the repeat agrees, with the same state."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        for outcome in OUTCOMES:
            end = end_of(await prepared(store, thread, "turn-1", first.fence, outcome), outcome)
            assert await store.end(end) == EndAnswer("recorded", outcome)
            before = await snapshot(boundary, thread)
            journal = await boundary.journal(thread, "turn-1")
            assert await store.end(end) == EndAnswer("agrees", outcome)
            assert await snapshot(boundary, thread) == before
            assert await boundary.journal(thread, "turn-1") == journal

    async def test_an_abandoned_operation_has_not_returned(self, boundary: BoundaryHarness) -> None:
        """R22 c: the store keeps whether the coroutine can still send something, also when it says so later."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await store.end(replace(end_of(ask, "uncertain"), returned=False))
        assert not (await receipt_of(boundary, thread, ask.effect_key)).returned
        version = (await receipt_of(boundary, thread, ask.effect_key)).version
        await store.end(end_of(ask, "uncertain"))
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert (receipt.returned, receipt.version) == (True, version)

    async def test_the_journal_rides_on_the_prepare(self, boundary: BoundaryHarness) -> None:
        """R15, R16, R17: the next attempt gets the claim, earlier results and the clock of the first."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = prepare_of(thread, "turn-1", first.fence)
        model = recorded_line("model", b'{"plan":["\\u0000"]}')
        await store.prepare(replace(ask, journal=(model, *ask.journal)))
        await store.end(end_of(ask, "completed"))
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        assert set(second.journal) == {model, claim(ask.effect_key), outcome_line(ask.effect_key, "value")}
        assert second.requested_at_ms == REQUESTED_AT_MS
        await store.release(thread, second.fence, count_attempt=True)
        other = await begun(store, thread, "turn-2")
        assert (other.journal, other.requested_at_ms) == ((), None)

    async def test_the_journals_clock_is_that_of_its_first_attempt(self, boundary: BoundaryHarness) -> None:
        """R17: a later attempt's own clock does not replace it."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        await store.end(end_of(await prepared(store, thread, "turn-1", first.fence), "completed"))
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        later = prepare_of(thread, "turn-1", second.fence, "2")
        await store.prepare(replace(later, requested_at_ms=REQUESTED_AT_MS + 60_000))
        await boundary.expire_lease(thread)
        assert (await begun(store, thread, "turn-1")).requested_at_ms == REQUESTED_AT_MS

    async def test_a_refused_prepare_writes_no_journal(self, boundary: BoundaryHarness) -> None:
        """R15, R16: a claim stands only for what this turn prepared."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await store.end(end_of(ask, "completed"))
        await committed(store, commit_of(thread, "turn-1", first, claimed=(ask.effect_key,)))
        second = await begun(store, thread, "turn-2")
        assert isinstance(await store.prepare(prepare_of(thread, "turn-2", second.fence)), Completed)
        assert isinstance(await store.prepare(prepare_of(thread, "turn-2", first.fence, "2")), Fenced)
        taken = prepare_of(thread, "turn-2", second.fence, payload=b"other")
        assert isinstance(await store.prepare(taken), Taken)
        assert await boundary.journal(thread, "turn-2") == ()

    async def test_a_line_of_the_journal_never_changes(self, boundary: BoundaryHarness) -> None:
        """R16: rows are appended; a second line of the same identity is not taken."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await store.end(end_of(ask, "uncertain"))
        await store.end(end_of(ask, "completed"))
        assert outcome_line(ask.effect_key, "uncertain") in await boundary.journal(thread, "turn-1")
        assert outcome_line(ask.effect_key, "value") not in await boundary.journal(thread, "turn-1")

    async def test_only_the_attempt_that_has_the_thread_writes_the_journal(self, boundary: BoundaryHarness) -> None:
        """R16: an overtaken attempt's late answer settles its receipt and leaves the journal alone."""
        store, thread = boundary.store, new_thread()
        zombie = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", zombie.fence)
        await boundary.expire_lease(thread)
        await begun(store, thread, "turn-1")
        assert await store.end(end_of(ask, "completed")) == EndAnswer("recorded", "completed")
        assert await boundary.journal(thread, "turn-1") == (claim(ask.effect_key),)

    async def test_an_expired_lease_still_journals_while_nobody_else_began(self, boundary: BoundaryHarness) -> None:
        """R3, R16: the fence decides, as for a commit."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await boundary.expire_lease(thread)
        await store.end(end_of(ask, "completed"))
        assert outcome_line(ask.effect_key, "value") in await boundary.journal(thread, "turn-1")

    async def test_a_commit_must_claim_what_earlier_attempts_prepared(self, boundary: BoundaryHarness) -> None:
        """R15: refused with the keys, changing nothing; with them it goes through and the journal is gone."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        one = await prepared(store, thread, "turn-1", first.fence, "1")
        two = await prepared(store, thread, "turn-1", first.fence, "2")
        for ask in (one, two):
            await store.end(end_of(ask, "completed"))
        await boundary.expire_lease(thread)
        second = await begun(store, thread, "turn-1")
        before = await snapshot(boundary, thread)
        partly = commit_of(thread, "turn-1", second, claimed=(one.effect_key,))
        assert await store.commit(partly) == Unclaimed((two.effect_key,))
        assert await snapshot(boundary, thread) == before
        await committed(store, replace(partly, claimed=(two.effect_key, one.effect_key)))
        assert await boundary.journal(thread, "turn-1") == ()

    async def test_a_commit_leaves_no_receipt_prepared(self, boundary: BoundaryHarness) -> None:
        """R18: this attempt's abandoned operation becomes uncertain and a blocked step; its late answer still counts."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await committed(store, commit_of(thread, "turn-1", first, claimed=(ask.effect_key,)))
        assert (await receipt_of(boundary, thread, ask.effect_key)).state == "uncertain"
        assert await boundary.blocked_steps(thread) == {(ask.effect_key, "turn-1")}
        assert claim(ask.effect_key) in await boundary.journal(thread, "turn-1")
        assert await store.end(end_of(ask, "completed")) == EndAnswer("settled", "completed")

    async def test_a_twin_of_an_open_effect_is_refused(self, boundary: BoundaryHarness) -> None:
        """R20: same capability and payload under another key, while the first is prepared or uncertain."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        twin = prepare_of(thread, "turn-1", first.fence, "2", payload=ask.payload)
        expected = Uncertain(receipt_id(thread, ask.effect_key), ask.effect_key)
        assert await store.prepare(twin) == expected
        await store.end(end_of(ask, "uncertain"))
        assert await store.prepare(twin) == expected
        assert [receipt.effect_key for receipt in await boundary.receipts(thread)] == [ask.effect_key]
        await store.end(end_of(ask, "completed"))
        assert await store.prepare(twin) == Prepared(1, 1)

    async def test_what_is_not_a_twin_is_prepared(self, boundary: BoundaryHarness) -> None:
        """R20: another payload, another capability, another thread, or an effect that declares twins."""
        store, thread, other = boundary.store, new_thread(), new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        twin = prepare_of(thread, "turn-1", first.fence, "2", payload=ask.payload)
        assert isinstance(await store.prepare(replace(twin, twins=True)), Prepared)
        capability = replace(twin, effect_id="order", effect_key="order:1", journal=(claim("order:1"),))
        assert isinstance(await store.prepare(capability), Prepared)
        assert isinstance(await store.prepare(prepare_of(thread, "turn-1", first.fence, "3")), Prepared)
        elsewhere = await begun(store, other, "turn-1")
        assert isinstance(await store.prepare(prepare_of(other, "turn-1", elsewhere.fence)), Prepared)

    async def test_a_retry_of_a_failed_effect_waits_for_its_open_twin(self, boundary: BoundaryHarness) -> None:
        """R20: the next attempt is a first call as much as any."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", first.fence)
        await store.end(end_of(ask, "failed"))
        twin = prepare_of(thread, "turn-1", first.fence, "2", payload=ask.payload)
        assert await store.prepare(twin) == Prepared(1, 1)
        retry = prepare_of(thread, "turn-1", first.fence)
        assert await store.prepare(retry) == Uncertain(receipt_id(thread, twin.effect_key), twin.effect_key)

"""Late answers, contradictions, the scanner and settlements. Subclass it beside a fixture `boundary`."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from intention_kernel.contracts.identifiers import continuation_turn_id
from intention_kernel.contracts.turn_request import ReconciliationTrigger, decode_turn_request
from intention_kernel.ids import receipt_id
from intention_kernel.ports.effect_store import EndAnswer, Prepare, Prepared, Uncertain
from intention_kernel.testing.boundary_calls import (
    begun,
    blocked_turn,
    commit_of,
    committed,
    end_of,
    new_thread,
    outcome_line,
    prepare_of,
    prepared,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, StoredItem, receipt_of, snapshot

VALUE = b'{"reservation":"A-1"}'


async def uncertain_attempt(boundary: BoundaryHarness, thread_id: str) -> Prepare:
    """The attempt of a process that died in the call; the scanner has seen it."""
    attempt = await begun(boundary.store, thread_id, "turn-1")
    ask = await prepared(boundary.store, thread_id, "turn-1", attempt.fence)
    await boundary.expire_lease(thread_id)
    await boundary.scan()
    return ask


async def settled(
    boundary: BoundaryHarness, ask: Prepare, outcome: Literal["completed", "failed"], value: bytes | None = None
) -> bool:
    """Settle that receipt as it is now."""
    receipt = await receipt_of(boundary, ask.thread_id, ask.effect_key)
    return await boundary.settle(receipt.receipt_id, receipt.version, outcome, value)


async def continuations(boundary: BoundaryHarness, thread_id: str) -> list[str]:
    """Turn ids of the continuations that wait in the outbox, in its order."""
    return [row.dedupe for row in await boundary.outbox(thread_id) if row.topic == "turns.requests"]


class SettlementContract:
    """What moves a receipt after its attempt, and what never does."""

    async def test_the_scanner_leaves_a_live_attempt_alone(self, boundary: BoundaryHarness) -> None:
        """R27: it compares with the live lease on the head, however often that was renewed."""
        thread = new_thread()
        attempt = await begun(boundary.store, thread, "turn-1")
        ask = await prepared(boundary.store, thread, "turn-1", attempt.fence)
        await boundary.scan()
        assert (await receipt_of(boundary, thread, ask.effect_key)).state == "prepared"
        assert await boundary.items(thread, ask.effect_key) == ()

    async def test_the_scanner_finds_receipts_whose_attempt_is_over(self, boundary: BoundaryHarness) -> None:
        """R27: lease over, taken by another attempt, or let go; each gets exactly one open item, however often it looks."""
        over, taken, freed = new_thread(), new_thread(), new_thread()
        for thread in (over, taken, freed):
            attempt = await begun(boundary.store, thread, "turn-1")
            await prepared(boundary.store, thread, "turn-1", attempt.fence)
            if thread == freed:
                await boundary.store.release(thread, attempt.fence, count_attempt=False)
            else:
                await boundary.expire_lease(thread)
        await begun(boundary.store, taken, "turn-1")
        for _ in range(2):
            await boundary.scan()
        for thread in (over, taken, freed):
            receipt = await receipt_of(boundary, thread, "reserve:1")
            assert (receipt.state, receipt.version) == ("uncertain", 2)
            assert await boundary.items(thread, "reserve:1") == (StoredItem(1, "effect", "open"),)

    async def test_a_settlement_needs_the_version_that_was_seen(self, boundary: BoundaryHarness) -> None:
        """R23: not an older one, and not a second time."""
        thread = new_thread()
        ask = await uncertain_attempt(boundary, thread)
        name = receipt_id(thread, ask.effect_key)
        assert not await boundary.settle(name, 1, "completed", VALUE)
        assert not await boundary.settle(name, 3, "completed", VALUE)
        assert await boundary.settle(name, 2, "completed", VALUE)
        before = await snapshot(boundary, thread)
        assert not await boundary.settle(name, 2, "failed", None)
        assert not await boundary.settle(name, 3, "failed", None)
        assert await snapshot(boundary, thread) == before

    async def test_only_an_uncertain_receipt_is_settled(self, boundary: BoundaryHarness) -> None:
        """R23: one that is prepared, completed or failed by its attempt is not for the reconciler."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        assert not await settled(boundary, ask, "failed")
        await store.end(end_of(ask, "failed"))
        assert not await settled(boundary, ask, "completed", VALUE)
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        await store.end(end_of(ask, "completed"))
        assert not await settled(boundary, ask, "failed")

    async def test_one_attempts_evidence_never_settles_the_next_attempt(self, boundary: BoundaryHarness) -> None:
        """R23: absent was seen of attempt 1; attempt 2 is uncertain by the time it arrives."""
        store, thread = boundary.store, new_thread()
        ask = await uncertain_attempt(boundary, thread)
        seen = await receipt_of(boundary, thread, ask.effect_key)
        assert await settled(boundary, ask, "failed")
        second = await begun(store, thread, "turn-1")
        await store.end(end_of(await prepared(store, thread, "turn-1", second.fence), "uncertain"))
        assert not await boundary.settle(seen.receipt_id, seen.version, "failed", None)
        assert (await receipt_of(boundary, thread, ask.effect_key)).state == "uncertain"

    async def test_applied_stores_the_value_and_not_applied_permits_the_next_attempt(
        self, boundary: BoundaryHarness
    ) -> None:
        """R23: settlement number, item and history move with the state."""
        store, applied, absent = boundary.store, new_thread(), new_thread()
        one, other = await uncertain_attempt(boundary, applied), await uncertain_attempt(boundary, absent)
        assert await settled(boundary, one, "completed", VALUE)
        assert await settled(boundary, other, "failed")
        receipt = await receipt_of(boundary, applied, one.effect_key)
        assert (receipt.state, receipt.value, receipt.settlements, receipt.version) == ("completed", VALUE, 1, 3)
        assert await boundary.items(applied, one.effect_key) == (StoredItem(1, "effect", "decided"),)
        history = await boundary.transitions(applied, one.effect_key)
        assert (history[-1].from_state, history[-1].state, history[-1].settlements) == ("uncertain", "completed", 1)
        second = await begun(store, absent, "turn-1")
        assert await store.prepare(prepare_of(absent, "turn-1", second.fence)) == Prepared(2, 4)

    async def test_a_settlement_always_asks_for_a_continuation(self, boundary: BoundaryHarness) -> None:
        """R28, R29: with ids only, named by receipt, settlement and issue, though nobody waits yet."""
        thread = new_thread()
        ask = await uncertain_attempt(boundary, thread)
        await settled(boundary, ask, "completed", VALUE)
        name = receipt_id(thread, ask.effect_key)
        [row] = [row for row in await boundary.outbox(thread) if row.topic == "turns.requests"]
        assert row.dedupe == continuation_turn_id(name, 1, 1)
        [record] = row.records
        request = decode_turn_request(thread.encode(), record.value)
        assert (request.turn_id, request.agent_id, request.tenant_id) == (row.dedupe, "agent", "tenant")
        assert request.trigger == ReconciliationTrigger(receipt_id=name, settlement=1)
        assert request.input is None

    async def test_a_second_settlement_has_another_continuation(self, boundary: BoundaryHarness) -> None:
        """R27, R28: one id per receipt would replay the first one's result."""
        store, thread = boundary.store, new_thread()
        ask = await uncertain_attempt(boundary, thread)
        await settled(boundary, ask, "failed")
        second = await begun(store, thread, "turn-1")
        await store.end(end_of(await prepared(store, thread, "turn-1", second.fence), "uncertain"))
        await boundary.scan()
        await settled(boundary, ask, "completed", VALUE)
        name = receipt_id(thread, ask.effect_key)
        assert await continuations(boundary, thread) == [
            continuation_turn_id(name, 1, 1),
            continuation_turn_id(name, 2, 1),
        ]
        items = await boundary.items(thread, ask.effect_key)
        assert [(item.settlement, item.phase) for item in items] == [(1, "decided"), (2, "decided")]

    async def test_a_late_answer_is_a_settlement(self, boundary: BoundaryHarness) -> None:
        """R24: same number, item and continuation as one with evidence; the repeat changes nothing (R11)."""
        thread = new_thread()
        ask = await uncertain_attempt(boundary, thread)
        late = end_of(ask, "completed", VALUE)
        assert await boundary.store.end(late) == EndAnswer("settled", "completed")
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert (receipt.value, receipt.settlements, receipt.contradicted) == (VALUE, 1, False)
        assert await boundary.items(thread, ask.effect_key) == (StoredItem(1, "effect", "decided"),)
        assert await continuations(boundary, thread) == [continuation_turn_id(receipt.receipt_id, 1, 1)]
        before = await snapshot(boundary, thread)
        assert await boundary.store.end(late) == EndAnswer("agrees", "completed")
        assert await snapshot(boundary, thread) == before

    async def test_a_late_answer_before_the_scan_is_a_settlement_too(self, boundary: BoundaryHarness) -> None:
        """R24: without an item there is one afterwards, decided; the scanner opens no other."""
        thread = new_thread()
        ask = await blocked_turn(boundary.store, thread, "turn-1")
        assert await boundary.store.end(end_of(ask, "failed")) == EndAnswer("settled", "failed")
        await boundary.scan()
        assert await boundary.items(thread, ask.effect_key) == (StoredItem(1, "effect", "decided"),)
        assert len(await continuations(boundary, thread)) == 1

    async def test_a_late_answer_that_agrees_with_a_settlement_changes_nothing(self, boundary: BoundaryHarness) -> None:
        """R25: nor does a late "uncertain", which says nothing."""
        thread = new_thread()
        ask = await uncertain_attempt(boundary, thread)
        await settled(boundary, ask, "completed", VALUE)
        await boundary.store.end(replace(end_of(ask, "completed", VALUE), returned=False))
        before = await snapshot(boundary, thread)
        assert await boundary.store.end(end_of(ask, "completed", VALUE)) == EndAnswer("agrees", "completed")
        assert await boundary.store.end(end_of(ask, "uncertain")) == EndAnswer("ignored", "completed")
        after = await snapshot(boundary, thread)
        assert replace(after, receipts=before.receipts) == before
        assert [replace(receipt, returned=False) for receipt in after.receipts] == list(before.receipts)

    async def test_an_answer_that_disagrees_flags_the_receipt(self, boundary: BoundaryHarness) -> None:
        """R25: no state changes, the flag is history, an item opens, nothing settles it and no attempt is made."""
        store, thread = boundary.store, new_thread()
        ask = await uncertain_attempt(boundary, thread)
        await settled(boundary, ask, "failed")
        assert await store.end(end_of(ask, "completed", VALUE)) == EndAnswer("contradicts", "failed", contradicted=True)
        receipt = await receipt_of(boundary, thread, ask.effect_key)
        assert (receipt.state, receipt.contradicted, receipt.version, receipt.settlements) == ("failed", True, 4, 1)
        assert (await boundary.transitions(thread, ask.effect_key))[-1].contradicted
        await boundary.scan()
        assert StoredItem(2, "effect", "open") in await boundary.items(thread, ask.effect_key)
        assert not await settled(boundary, ask, "completed", VALUE)
        second = await begun(store, thread, "turn-1")
        expected = Uncertain(receipt.receipt_id, ask.effect_key)
        assert await store.prepare(prepare_of(thread, "turn-1", second.fence)) == expected
        assert (await receipt_of(boundary, thread, ask.effect_key)).attempt == 1

    async def test_a_refusal_that_disagrees_with_applied_flags_it_too(self, boundary: BoundaryHarness) -> None:
        """R25: and the value that was settled is not handed out any more."""
        store, thread = boundary.store, new_thread()
        ask = await uncertain_attempt(boundary, thread)
        await settled(boundary, ask, "completed", VALUE)
        assert await store.end(end_of(ask, "failed")) == EndAnswer("contradicts", "completed", contradicted=True)
        second = await begun(store, thread, "turn-1")
        answer = await store.prepare(prepare_of(thread, "turn-1", second.fence))
        assert isinstance(answer, Uncertain)

    async def test_a_contradiction_repeated_changes_nothing(self, boundary: BoundaryHarness) -> None:
        """R11, R25: a person who looks at the receipt is not overtaken by a lost reply's repeat."""
        thread = new_thread()
        ask = await uncertain_attempt(boundary, thread)
        await settled(boundary, ask, "failed")
        late = end_of(ask, "completed", VALUE)
        first = await boundary.store.end(late)
        before = await snapshot(boundary, thread)
        assert await boundary.store.end(late) == first
        assert await snapshot(boundary, thread) == before

    async def test_an_older_attempts_answer_never_ends_the_newer_one(self, boundary: BoundaryHarness) -> None:
        """R14, R25: attempt 1 answers while attempt 2 is in its call."""
        store, thread = boundary.store, new_thread()
        one = await uncertain_attempt(boundary, thread)
        await settled(boundary, one, "failed")
        second = await begun(store, thread, "turn-1")
        two = await prepared(store, thread, "turn-1", second.fence)
        before = await receipt_of(boundary, thread, one.effect_key)
        assert await store.end(end_of(one, "failed")) == EndAnswer("agrees", "prepared")
        assert await store.end(end_of(one, "uncertain")) == EndAnswer("ignored", "prepared")
        assert await receipt_of(boundary, thread, one.effect_key) == before
        assert await store.end(end_of(one, "completed")) == EndAnswer("contradicts", "prepared", contradicted=True)
        receipt = await receipt_of(boundary, thread, one.effect_key)
        assert (receipt.state, receipt.attempt, receipt.contradicted, receipt.value) == ("prepared", 2, True, None)
        answer = await store.end(end_of(two, "completed", VALUE))
        assert answer == EndAnswer("recorded", "completed", contradicted=True)
        assert not answer.stands, "the provider may have applied it twice: the program is told uncertain"
        seen = [entry.outcome for entry in await boundary.journal(thread, "turn-1") if entry.kind == "outcome"]
        assert seen == ["uncertain"]

    async def test_nothing_settles_a_contradicted_receipt(self, boundary: BoundaryHarness) -> None:
        """R23, R25: neither evidence nor the newest attempt's late answer; that is kept for the contest."""
        store, thread = boundary.store, new_thread()
        one = await uncertain_attempt(boundary, thread)
        await settled(boundary, one, "failed")
        second = await begun(store, thread, "turn-1")
        two = await prepared(store, thread, "turn-1", second.fence)
        await store.end(end_of(one, "completed"))
        await store.end(end_of(two, "uncertain"))
        assert not await settled(boundary, one, "completed", VALUE)
        assert await store.end(end_of(two, "completed")) == EndAnswer("contradicts", "uncertain", contradicted=True)
        assert (await receipt_of(boundary, thread, one.effect_key)).settlements == 1

    async def test_the_program_sees_uncertain_where_the_record_disagrees(self, boundary: BoundaryHarness) -> None:
        """R16, R25: the journal's line is what the program is told, not what the provider said."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        await boundary.expire_lease(thread)
        await boundary.scan()
        await settled(boundary, ask, "failed")
        assert await store.end(end_of(ask, "completed")) == EndAnswer("contradicts", "failed", contradicted=True)
        expected = outcome_line(ask.effect_key, "uncertain", body=b"")
        assert expected in await boundary.journal(thread, "turn-1")

    async def test_an_answer_after_the_commit_settles_what_the_turn_is_blocked_on(
        self, boundary: BoundaryHarness
    ) -> None:
        """R24, R29: the commonest failure of all: the reply comes, only late."""
        store, thread = boundary.store, new_thread()
        ask = await blocked_turn(store, thread, "turn-1")
        later = await begun(store, thread, "turn-2")
        assert await store.end(end_of(ask, "completed", VALUE)) == EndAnswer("settled", "completed")
        await committed(store, commit_of(thread, "turn-2", later))
        assert len(await continuations(boundary, thread)) == 1
        assert outcome_line(ask.effect_key, "value") not in await boundary.journal(thread, "turn-1")

"""Values as they come from outside, and many threads at once. Subclass it beside a fixture `boundary`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from intention_kernel.contracts.receipt import Summary
from intention_kernel.ports.effect_store import Completed, EndAnswer, Prepared
from intention_kernel.ports.turn_store import Begun, Busy, Committed, Conflict, Contended, Fenced, Replayed
from intention_kernel.testing.boundary_calls import (
    begin_of,
    begun,
    commit_of,
    committed,
    end_of,
    new_thread,
    prepare_of,
    prepared,
    rejection_of,
    set_aside_of,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, receipt_of
from intention_kernel.testing.rejection_contract import new_origin

Answer = TypeVar("Answer")

ODD_TEXT = "nul \x00, surrogate \ud800, emoji \U0001f9ea, right-to-left \u202e, a very long line " + "x" * 5_000
ODD_BYTES = (
    b"",
    b"\x00",
    b'{"nul":"\\u0000","lone":"\\ud800","big":18446744073709551617,"zero":-0.0}',
    "\U0001f9ea\u0000".encode(),
    bytes(range(256)) * 2,
    b"0123456789abcdef" * 65_536,
)
LONGEST_ID_SUFFIX = "\U0001f9ea" * 100


def longest_thread() -> str:
    """A new thread id of 512 bytes, most of them emoji."""
    thread_id = new_thread() + LONGEST_ID_SUFFIX
    return thread_id + "x" * (512 - len(thread_id.encode()))


async def until_decided(call: Callable[[], Awaitable[Answer | Contended]]) -> Answer:
    """Ask again at once while the row is locked (R7, R9)."""
    while True:
        answer = await call()
        if not isinstance(answer, Contended):
            return answer


class ValueContract:
    """No value changes on its way, and no value of one row harms another."""

    async def test_bytes_come_back_as_they_were(self, boundary: BoundaryHarness) -> None:
        """Design 5: checkpoint, request and result; empty, odd and large ones."""
        store = boundary.store
        for odd in ODD_BYTES:
            thread = new_thread()
            first = await begun(store, thread, "turn-1")
            done = replace(commit_of(thread, "turn-1", first), checkpoint=odd, request=odd, result=odd)
            await committed(store, done)
            assert await store.begin(begin_of(thread, "turn-1")) == Replayed(odd, 1)
            assert (await begun(store, thread, "turn-2")).checkpoint == odd
            [turn] = await boundary.turns(thread)
            assert (turn.request, turn.result) == (odd, odd)

    async def test_payload_value_and_journal_come_back_as_they_were(self, boundary: BoundaryHarness) -> None:
        """R16: the program of a retry sees the very same bytes."""
        store = boundary.store
        for odd in ODD_BYTES:
            thread = new_thread()
            first = await begun(store, thread, "turn-1")
            ask = replace(prepare_of(thread, "turn-1", first.fence, payload=odd), host_context=odd)
            ask = replace(
                ask,
                journal=(
                    *ask.journal,
                    replace(
                        ask.journal[0],
                        entry="recorded:m:0",
                        kind="recorded",
                        effect_key=None,
                        body=odd,
                        request_digest=odd,
                    ),
                ),
            )
            assert isinstance(await store.prepare(ask), Prepared)
            await store.end(end_of(ask, "completed", odd))
            assert (await receipt_of(boundary, thread, ask.effect_key)).payload == odd
            again = prepare_of(thread, "turn-1", first.fence, payload=odd)
            assert await store.prepare(again) == Completed(odd, 1)
            await boundary.expire_lease(thread)
            lines = (await begun(store, thread, "turn-1")).journal
            assert [line for line in lines if line.kind == "recorded"] == [ask.journal[1]]

    async def test_the_longest_ids_work(self, boundary: BoundaryHarness) -> None:
        """R13: 512 bytes of UTF-8 for thread, turn and effect key, emoji and quotes included."""
        store, thread = boundary.store, longest_thread()
        turn_id = 'it\'s a "turn"; {0} %s \\ ' + "\U0001f9ea" * 120
        order = "\u00e4" * 200
        first = await begun(store, thread, turn_id)
        ask = await prepared(store, thread, turn_id, first.fence, order)
        assert await store.end(end_of(ask, "completed")) == EndAnswer("recorded", "completed")
        await committed(store, commit_of(thread, turn_id, first, claimed=(ask.effect_key,)))
        assert isinstance(await store.begin(begin_of(thread, turn_id)), Replayed)

    async def test_ids_are_compared_byte_by_byte(self, boundary: BoundaryHarness) -> None:
        """R9, R13: neither case nor normal form makes two ids one."""
        store, thread = boundary.store, new_thread()
        for turn_id in ("Turn", "turn", "t\u00fcrn", "tu\u0308rn", "turn "):
            await committed(store, commit_of(thread, turn_id, await begun(store, thread, turn_id)))
        assert len(await boundary.turns(thread)) == 5

    async def test_odd_text_is_kept_out_of_the_way(self, boundary: BoundaryHarness) -> None:
        """R13: a title, detail or reason from outside refuses nothing."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        ask = replace(prepare_of(thread, "turn-1", first.fence), summary=Summary(title=ODD_TEXT, provider=ODD_TEXT))
        assert isinstance(await store.prepare(ask), Prepared)
        assert await store.end(replace(end_of(ask, "uncertain"), detail=ODD_TEXT)) == EndAnswer("recorded", "uncertain")
        late = replace(end_of(ask, "completed"), detail=ODD_TEXT)
        assert await store.end(late) == EndAnswer("settled", "completed")
        aside = replace(set_aside_of(thread, "turn-1", first), detail=ODD_TEXT)
        assert isinstance(await store.set_aside(aside), Committed)
        await store.reject(replace(rejection_of(new_origin(), thread), detail=ODD_TEXT))

    async def test_odd_values_of_one_thread_leave_its_neighbours_alone(self, boundary: BoundaryHarness) -> None:
        """R11, R13: thirty prepares at once, every third of them odd."""
        store = boundary.store
        threads = [new_thread() for _ in range(30)]
        attempts = await asyncio.gather(*(begun(store, thread, "turn-1") for thread in threads))
        asks = [prepare_of(thread, "turn-1", attempt.fence) for thread, attempt in zip(threads, attempts, strict=True)]
        asks[::3] = [replace(ask, summary=Summary(title=ODD_TEXT)) for ask in asks[::3]]
        answers = await asyncio.gather(*(until_decided(partial(store.prepare, ask)) for ask in asks))
        assert answers == [Prepared(1, 1)] * 30


class ManyThreadsContract:
    """Calls of many threads at once: how an adapter groups them can not be seen."""

    async def test_every_call_gets_its_own_answer(self, boundary: BoundaryHarness) -> None:
        """R10: sixty begins with five kinds of answers, in one go."""
        store = boundary.store
        threads = [new_thread() for _ in range(60)]
        for place, thread in enumerate(threads):
            await _history(store_of=boundary, thread_id=thread, kind=place % 5)
        asks = [begin_of(thread, "turn-1") for thread in threads]
        answers = await asyncio.gather(*(until_decided(partial(store.begin, ask)) for ask in asks))
        expected = (Begun, Replayed, Conflict, Busy, Begun)
        for place, (thread, answer) in enumerate(zip(threads, answers, strict=True)):
            assert isinstance(answer, expected[place % 5]), (place % 5, answer)
            if isinstance(answer, Replayed):
                assert answer.result == commit_of(thread, "turn-1", _NOBODY).result
            if place % 5 == 4:
                assert isinstance(answer, Begun)
                assert answer.checkpoint == thread.encode()

    async def test_turns_of_many_threads_run_side_by_side(self, boundary: BoundaryHarness) -> None:
        """R10: whole turns with an effect each; every value goes to the thread that made it."""
        threads = [new_thread() for _ in range(40)]
        await asyncio.gather(*(_whole_turn(boundary, thread) for thread in threads))
        for thread in threads:
            [turn] = await boundary.turns(thread)
            assert (turn.turn_id, turn.revision) == ("turn-1", 1)
            assert (await receipt_of(boundary, thread, "reserve:1")).value == thread.encode()

    async def test_effects_of_one_turn_may_be_prepared_at_once(self, boundary: BoundaryHarness) -> None:
        """R10: they queue; each gets its own answer and line."""
        store, thread = boundary.store, new_thread()
        first = await begun(store, thread, "turn-1")
        asks = [prepare_of(thread, "turn-1", first.fence, str(order)) for order in range(12)]
        answers = await asyncio.gather(*(until_decided(partial(store.prepare, ask)) for ask in asks))
        assert answers == [Prepared(1, 1)] * 12
        ends = await asyncio.gather(
            *(until_decided(partial(store.end, end_of(ask, "completed", ask.payload))) for ask in asks)
        )
        assert ends == [EndAnswer("recorded", "completed")] * 12
        receipts = await boundary.receipts(thread)
        assert {receipt.effect_key: receipt.value for receipt in receipts} == {
            ask.effect_key: ask.payload for ask in asks
        }

    async def test_one_of_many_begins_of_one_thread_wins(self, boundary: BoundaryHarness) -> None:
        """R1, R10: twenty attempts at once: one has the thread, the others are busy."""
        store, thread = boundary.store, new_thread()
        asks = [begin_of(thread, "turn-1") for _ in range(20)]
        answers = await asyncio.gather(*(until_decided(partial(store.begin, ask)) for ask in asks))
        assert sum(isinstance(answer, Begun) for answer in answers) == 1
        assert sum(isinstance(answer, Busy) for answer in answers) == 19

    async def test_a_begin_beside_a_commit_sees_all_of_it_or_none(self, boundary: BoundaryHarness) -> None:
        """R2: the new revision without the turn's row would run the turn twice."""
        store = boundary.store
        threads = [new_thread() for _ in range(40)]
        attempts = await asyncio.gather(*(begun(store, thread, "turn-1") for thread in threads))
        for thread in threads:
            await boundary.expire_lease(thread)
        dones = [commit_of(thread, "turn-1", attempt) for thread, attempt in zip(threads, attempts, strict=True)]
        again = [begin_of(thread, "turn-1") for thread in threads]
        commits, begins = await asyncio.gather(
            asyncio.gather(*(until_decided(partial(store.commit, done)) for done in dones)),
            asyncio.gather(*(until_decided(partial(store.begin, ask)) for ask in again)),
        )
        for commit, begin, done in zip(commits, begins, dones, strict=True):
            if isinstance(begin, Replayed):
                assert (commit, begin.result) == (Committed(1), done.result)
            else:
                assert isinstance(begin, Begun)
                assert (begin.revision, begin.checkpoint, commit) == (0, None, Fenced())


_NOBODY = Begun(
    fence=0,
    attempt=1,
    crashes=0,
    revision=0,
    next_sequence=1,
    incarnation="",
    checkpoint=None,
    agent_id=None,
    tenant_id=None,
    journal=(),
    requested_at_ms=None,
)


async def _history(store_of: BoundaryHarness, thread_id: str, kind: int) -> None:
    """0 nothing, 1 the turn is committed, 2 with other content, 3 somebody runs it, 4 an earlier turn is committed."""
    store = store_of.store
    if kind == 1:
        await committed(store, commit_of(thread_id, "turn-1", await begun(store, thread_id, "turn-1")))
    elif kind == 2:
        other = await begun(store, thread_id, "turn-1", "other")
        await committed(store, commit_of(thread_id, "turn-1", other, content="other"))
    elif kind == 3:
        await begun(store, thread_id, "turn-1")
    elif kind == 4:
        earlier = commit_of(thread_id, "turn-0", await begun(store, thread_id, "turn-0"))
        await committed(store, replace(earlier, checkpoint=thread_id.encode()))


async def _whole_turn(boundary: BoundaryHarness, thread_id: str) -> None:
    store = boundary.store
    ask = begin_of(thread_id, "turn-1")
    attempt = await until_decided(partial(store.begin, ask))
    assert isinstance(attempt, Begun)
    effect = prepare_of(thread_id, "turn-1", attempt.fence)
    effect = replace(effect, fingerprint=hashlib.sha256(thread_id.encode()).digest())
    assert await until_decided(partial(store.prepare, effect)) == Prepared(1, 1)
    end = end_of(effect, "completed", thread_id.encode())
    assert await until_decided(partial(store.end, end)) == EndAnswer("recorded", "completed")
    done = commit_of(thread_id, "turn-1", attempt, events=18, claimed=(effect.effect_key,))
    assert await until_decided(partial(store.commit, done)) == Committed(1)

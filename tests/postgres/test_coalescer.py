"""Group commit without a database: what goes out together, in which order, and who hears what (protocol 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from intention_kernel.postgres.coalescer import Coalescer


class Calls:
    """A call over rows that waits until it is let through, and answers each row with itself."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.under_way = asyncio.Event()

    async def __call__(self, rows: Sequence[str]) -> Sequence[str | Exception]:
        self.batches.append(list(rows))
        self.under_way.set()
        await self.gate.wait()
        return [f"answer to {row}" for row in rows]


async def test_a_lone_row_goes_out_at_once() -> None:
    calls = Calls()
    calls.gate.set()
    assert await Coalescer(calls).submit("row", "thread") == "answer to row"


async def test_rows_collect_while_a_call_is_in_flight_and_go_out_sorted_by_key() -> None:
    """R9, R10: one call at a time; the next takes what has come meanwhile, in the order of locks."""
    calls = Calls()
    coalescer = Coalescer(calls)
    first = asyncio.create_task(coalescer.submit("m", "m"))
    await calls.under_way.wait()
    others = [asyncio.create_task(coalescer.submit(key, key)) for key in ("z", "a", "k")]
    await asyncio.sleep(0)
    assert calls.batches == [["m"]]
    calls.gate.set()
    assert await first == "answer to m"
    assert [await other for other in others] == ["answer to z", "answer to a", "answer to k"]
    assert calls.batches == [["m"], ["a", "k", "z"]]


async def test_a_batch_holds_one_row_of_a_key_and_later_ones_follow_in_order() -> None:
    """R10: at most one row per thread in a batch."""
    calls = Calls()
    coalescer = Coalescer(calls)
    rows = [asyncio.create_task(coalescer.submit(f"{key}{n}", key)) for n in (1, 2, 3) for key in ("b", "a")]
    calls.gate.set()
    await asyncio.gather(*rows)
    assert calls.batches == [["a1", "b1"], ["a2", "b2"], ["a3", "b3"]]


async def test_a_batch_is_bounded() -> None:
    calls = Calls()
    coalescer = Coalescer(calls, max_batch=2)
    rows = [asyncio.create_task(coalescer.submit(key, key)) for key in "abcde"]
    calls.gate.set()
    await asyncio.gather(*rows)
    assert [len(batch) for batch in calls.batches] == [2, 2, 1]


async def test_a_cancelled_caller_does_not_stop_the_call_that_others_wait_for() -> None:
    calls = Calls()
    coalescer = Coalescer(calls)
    leaver = asyncio.create_task(coalescer.submit("a", "a"))
    stayer = asyncio.create_task(coalescer.submit("b", "b"))
    await calls.under_way.wait()
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    calls.gate.set()
    assert await stayer == "answer to b"
    assert calls.batches == [["a", "b"]]


async def test_a_row_whose_caller_left_before_it_went_out_is_dropped() -> None:
    calls = Calls()
    coalescer = Coalescer(calls)
    first = asyncio.create_task(coalescer.submit("a", "a"))
    await calls.under_way.wait()
    leaver = asyncio.create_task(coalescer.submit("b", "b"))
    await asyncio.sleep(0)
    leaver.cancel()
    calls.gate.set()
    await first
    await coalescer.drained()
    assert calls.batches == [["a"]]


async def test_a_row_s_own_failure_reaches_its_caller_alone() -> None:
    """R11: one row's refusal touches no other."""

    async def call(rows: Sequence[str]) -> Sequence[str | Exception]:
        return [ValueError(row) if row == "bad" else row for row in rows]

    coalescer = Coalescer(call)
    bad = asyncio.create_task(coalescer.submit("bad", "1"))
    good = asyncio.create_task(coalescer.submit("good", "2"))
    assert await good == "good"
    with pytest.raises(ValueError, match="bad"):
        await bad


async def test_a_call_that_fails_as_a_whole_fails_every_row_and_the_next_call_works() -> None:
    answers: list[Exception | None] = [ConnectionError("gone"), None]

    async def call(rows: Sequence[str]) -> Sequence[str | Exception]:
        error = answers.pop(0)
        if error is not None:
            raise error
        return rows

    coalescer = Coalescer(call)
    rows = [asyncio.create_task(coalescer.submit(row, row)) for row in "ab"]
    for row in rows:
        with pytest.raises(ConnectionError):
            await row
    assert await coalescer.submit("c", "c") == "c"


async def test_a_call_that_answers_too_few_rows_leaves_nobody_waiting() -> None:
    async def call(rows: Sequence[str]) -> Sequence[str | Exception]:
        return rows[1:]

    with pytest.raises(RuntimeError, match="0 answers to 1 rows"):
        await Coalescer(call).submit("row", "thread")

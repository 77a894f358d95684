"""Several relays, and relays that die: complete, in order, repeats aside."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.relay.relay_bench import Bench, after_dedupe, inversions, turns_of, until

_FAIL_STOP = 70


async def _complete_and_in_order(bench: Bench, threads: int, last: int) -> None:
    sequences = await bench.sequences()
    assert {name: after_dedupe(found) for name, found in sequences.items()} == {
        f"thread-{thread}": list(range(1, last + 1)) for thread in range(threads)
    }
    assert sum(inversions(found) for found in sequences.values()) == 0


async def test_two_relays_share_the_shards_and_keep_every_threads_order(bench: Bench) -> None:
    async with bench.relay() as first, bench.relay() as second:
        await first.ready()
        await second.ready()
        await bench.until_leases(lambda leases: sorted(leases.values()) == [32, 32])
        for at in range(10):
            await bench.insert([turn for turn in turns_of(range(128), 10, 3) if turn.first == 1 + 3 * at])
            await bench.database.execute("notify intention_outbox")
        await bench.until_waiting(0)
    sequences = await bench.sequences()
    assert sequences == {f"thread-{thread}": list(range(1, 31)) for thread in range(128)}


async def test_shards_change_hands_under_load_without_a_repeat(bench: Bench) -> None:
    """Handing over drains first: what one relay gives back has nothing under way."""
    async with bench.relay() as first:
        await first.ready()
        filling = asyncio.ensure_future(_fill(bench, threads=64, turns=20))
        async with bench.relay() as second:
            await second.ready()
            await bench.until_leases(lambda leases: sorted(leases.values()) == [32, 32])
            await filling
            assert await second.end() == 0
        await bench.until_leases(lambda leases: list(leases.values()) == [64])
        await bench.until_waiting(0)
    assert await bench.sequences() == {f"thread-{thread}": list(range(1, 41)) for thread in range(64)}


@pytest.mark.parametrize(
    "failpoint", ["relay.after_fetch", "relay.after_send", "relay.after_ack", "relay.after_delete"]
)
async def test_another_relay_takes_over_from_one_that_is_killed(bench: Bench, failpoint: str) -> None:
    """Promise 5: complete and in order after dedupe, whichever step the kill comes after."""
    await bench.insert(turns_of(range(80), turns=6, count=3))
    async with bench.relay(f"{failpoint}=kill@3") as killed:
        assert await killed.ended() == -signal.SIGKILL
        async with bench.relay() as relay:
            await relay.ready()
            await bench.until_waiting(0)
    await _complete_and_in_order(bench, 80, 18)


async def test_a_dead_relays_shards_are_served_within_the_lease_and_a_second(bench: Bench) -> None:
    async with bench.relay() as first, bench.relay() as second:
        await first.ready()
        await second.ready()
        await bench.until_leases(lambda leases: sorted(leases.values()) == [32, 32])
        first.process.kill()
        await first.ended()
        await bench.insert(turns_of(range(64), turns=1, count=1))
        started = asyncio.get_running_loop().time()
        await bench.until_waiting(0)
        # Two seconds of lease and one beside, and one more for a machine that does other things too.
        assert asyncio.get_running_loop().time() - started < 4.0
    await _complete_and_in_order(bench, 64, 1)


async def test_a_relay_that_slept_past_its_lease_publishes_nothing_more(bench: Bench) -> None:
    """R37: it lost its lease with records under way, so it ends at once instead of flushing."""
    await bench.insert(turns_of(range(80), turns=6, count=3))
    async with bench.relay("relay.after_send=stop@5") as sleeper:
        await until(sleeper.is_stopped, "the sleeper sleeps")
        await bench.until_leases(lambda leases: not leases)
        async with bench.relay() as relay:
            await relay.ready()
            await bench.until_waiting(0)
            before = await bench.sequences()
            sleeper.process.send_signal(signal.SIGCONT)
            assert await sleeper.ended() == _FAIL_STOP
            assert any("with records under way" in line for line in sleeper.log)
            assert await bench.sequences() == before
    await _complete_and_in_order(bench, 80, 18)


async def test_a_stop_ends_inside_its_grace_and_gives_the_shards_back(bench: Bench) -> None:
    await bench.insert(turns_of(range(80), turns=6, count=3))
    async with bench.relay(INTENTION_LEASE_SECONDS="60", INTENTION_GRACE_SECONDS="10") as relay:
        await relay.ready()
        assert await relay.end() == 0
    assert not await bench.leases()
    assert await bench.database.fetchval("select count(*) from relays") == 0
    async with bench.relay(INTENTION_LEASE_SECONDS="60") as relay:
        await relay.ready()
        await bench.until_waiting(0)
    assert await bench.sequences() == {f"thread-{thread}": list(range(1, 19)) for thread in range(80)}


async def test_work_that_outlasts_the_grace_is_dropped_without_flushing(bench: Bench) -> None:
    await bench.insert(turns_of(range(8), turns=1, count=1))
    async with bench.relay("relay.after_ack=sleep:60", INTENTION_GRACE_SECONDS="1") as relay:
        await relay.ready()
        await bench.until_published(8)
        assert await relay.end() == _FAIL_STOP
    async with bench.relay() as relay:
        await relay.ready()
        await bench.until_waiting(0)
    await _complete_and_in_order(bench, 8, 1)


async def _fill(bench: Bench, threads: int, turns: int) -> None:
    for at in range(turns):
        await bench.insert([turn for turn in turns_of(range(threads), turns, 2) if turn.first == 1 + 2 * at])
        await bench.database.execute("notify intention_outbox")
        await asyncio.sleep(0.05)

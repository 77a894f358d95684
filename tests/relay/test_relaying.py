"""What is in the outbox comes out on the topics: complete, in order, whatever the rows are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest
from intention_kernel.clock import SystemClock
from intention_kernel.kafka.publisher import KafkaPublisher
from intention_kernel.postgres.outbox import PostgresOutbox
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.relay_leases import PostgresRelayLeases
from outbox_relay.heart import Heart
from outbox_relay.relay import Relay
from outbox_relay.shards import Shards

from tests.relay.relay_bench import Bench, Turn, after_dedupe, turns_of


async def test_every_row_comes_out_once_and_in_thread_order(bench: Bench) -> None:
    turns = turns_of(range(100), turns=6, count=5)
    await bench.insert(turns)
    async with bench.relay() as relay:
        await relay.ready()
        await bench.until_waiting(0)
    sequences = await bench.sequences()
    assert sequences == {f"thread-{thread}": list(range(1, 31)) for thread in range(100)}


async def test_a_turn_a_block_and_a_plain_value_arrive_byte_for_byte(bench: Bench) -> None:
    await bench.insert_committed(Turn(1, 1, 3))
    await bench.insert_value(1, "turns.requests", "reconciliation:1", b'{"a": 1}')
    await bench.insert([Turn(2, 1, 1, size=200_000)])
    async with bench.relay() as relay:
        await relay.ready()
        await bench.until_waiting(0)
    assert await bench.sequences() == {"thread-1": [1, 2, 3], "thread-2": [1]}
    (request,) = await bench.published(bench.topics.requests)
    assert (request.key, request.value, request.headers) == (b"thread-1", b'{"a": 1}', ())
    events = await bench.published(bench.topics.events)
    assert sorted(len(event.value) for event in events)[-1] > 200_000
    assert all(event.value.startswith(event.key.removeprefix(b"thread-") + b":") for event in events)


async def test_a_row_that_becomes_visible_late_with_a_lower_id_is_published(bench: Bench) -> None:
    """No cursor: what is unpublished is what is there."""
    late = await asyncpg.connect(bench.database_url)
    try:
        transaction = late.transaction()
        await transaction.start()
        await bench.insert([Turn(1, 1, 1)], late)
        async with bench.relay() as relay:
            await relay.ready()
            await bench.insert([Turn(65, 1, 1)])  # the same shard, a higher id
            await bench.until_waiting(0)
            assert await bench.sequences() == {"thread-65": [1]}
            await transaction.commit()
            await bench.until_waiting(0)
    finally:
        await late.close()
    assert await bench.sequences() == {"thread-65": [1], "thread-1": [1]}


async def test_a_wake_up_makes_a_row_leave_at_once(bench: Bench) -> None:
    async with bench.relay(INTENTION_LEASE_SECONDS="15") as relay:
        await relay.ready()
        spans = []
        for at in range(1, 11):
            started = asyncio.get_running_loop().time()
            await bench.insert([Turn(1, at, 1)])
            await bench.database.execute("notify intention_outbox")
            await bench.until_waiting(0)
            spans.append(asyncio.get_running_loop().time() - started)
    # The median, since this machine may be busy: with the fallback poll alone it would be half a second.
    assert sorted(spans)[5] < 0.25, spans


class _CountingPool(Pool):
    calls = 0

    async def fetch(self, sql: str, arguments: Sequence[Any], *, wait_for_locks: bool = True) -> list[Any]:
        self.calls += 1
        return await super().fetch(sql, arguments, wait_for_locks=wait_for_locks)


async def test_an_idle_relay_asks_the_database_at_most_twice_a_second(bench: Bench) -> None:
    clock, pool = SystemClock(), _CountingPool(bench.database_url, 2)
    publisher = KafkaPublisher(bench.bootstrap, bench.prefix, clock)
    shards = Shards(PostgresRelayLeases(pool), "idle", 15.0, clock, pytest.fail)
    relay = Relay(PostgresOutbox(pool), publisher, shards, clock)
    heart = Heart(shards, 15.0, relay.wake)
    beating, relaying = asyncio.ensure_future(heart.beat()), asyncio.ensure_future(relay.run())
    try:
        await heart.first_beat.wait()
        before = pool.calls
        await asyncio.sleep(6)  # a rate has no condition to wait for
        # The wake-up connection is probed every ten seconds on top.
        assert 6 <= pool.calls - before <= 11
    finally:
        beating.cancel()
        relay.stop()
        await relaying
        await pool.close()


async def test_a_broken_wake_up_connection_is_replaced_and_polling_goes_on_meanwhile(bench: Bench) -> None:
    async with bench.relay() as relay:
        await relay.ready()
        ended = await bench.database.fetchval(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database()"
            " and pid <> pg_backend_pid()"
        )
        assert ended >= 2
        await bench.insert(turns_of(range(20), turns=2, count=2))
        await bench.until_waiting(0)
        assert await relay.end() == 0
    assert {name: after_dedupe(found) for name, found in (await bench.sequences()).items()} == {
        f"thread-{thread}": [1, 2, 3, 4] for thread in range(20)
    }


async def test_no_transaction_is_left_open_while_the_broker_is_asked(bench: Bench) -> None:
    await bench.insert(turns_of(range(20), turns=2, count=2))
    async with bench.relay("relay.after_send=sleep:1.5") as relay:
        await relay.ready()
        states = await bench.database.fetch(
            "select state from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        assert {row["state"] for row in states} <= {"idle", "active"}
        await bench.until_waiting(0)

"""R39 on real Kafka: what a consumer tells the database, and what it does with its word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import replace

import pytest
from intention_kernel.kafka.record import Record
from intention_kernel.ports.partition_progress import PartitionProgress, Progress
from turn_runner.outcomes import Done, Outcome

from tests.support.consuming import PARTITIONS, TEST_LIMITS, Bench, KnowsAll, bench
from tests.support.eventually import eventually
from tests.support.servers import SharedServers

KEYS: list[bytes | None] = [f"thread-{number}".encode() for number in range(40)]


@pytest.fixture(name="kafka")
async def bench_of_this_test(servers: SharedServers, topic_prefix: str) -> AsyncIterator[Bench]:
    async with bench(servers.kafka_bootstrap_servers, topic_prefix) as opened:
        yield opened


class Older(KnowsAll):
    """A database that has lost what partition 1 had done, until it is recovered."""

    def __init__(self, restore_until: int) -> None:
        super().__init__()
        self._restore_until = restore_until
        self.recovered = False

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress:
        known = PartitionProgress(2**62, self._restore_until)
        return Progress({one: known for one in partitions if one != 1 or self.recovered})


class Slow(KnowsAll):
    """A database that answers for an assignment only once the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress:
        await self.answers.wait()
        return await super().progress(topic, partitions)


async def test_a_record_that_comes_before_the_databases_word_is_not_passed_over(kafka: Bench) -> None:
    """R4, R39: a poll that a rebalance overtakes may not take what nobody may start yet."""
    done: set[tuple[int, int]] = set()
    kafka.progress = slow = Slow()
    slow.answers.set()

    async def handler(record: Record) -> Outcome:
        done.add((record.partition, record.offset))
        return Done()

    async with kafka.consuming(handler, replace(TEST_LIMITS, poll_seconds=10.0)) as consumer:
        await eventually(lambda: len(consumer.state.partitions) == PARTITIONS and not consumer.state.undecided)
        await kafka.send(KEYS[:1])
        await kafka.until_all_is_committed()
        slow.answers.clear()
        async with kafka.consuming(handler):
            await eventually(lambda: consumer.state.undecided)
            polls = consumer.counters.polls
            await kafka.send(KEYS)
            await eventually(lambda: consumer.counters.polls > polls)
            slow.answers.set()
            await kafka.until_all_is_committed()
    missing = {(one, offset) for one, end in kafka.ends.items() for offset in range(end)} - done
    assert not missing


async def test_a_commit_of_offsets_costs_one_statement_however_many_turns_it_covers(kafka: Bench) -> None:
    """R39: the database is told by batches, and knows at least what the group does."""
    await kafka.send(KEYS * 50)

    async def handler(_: Record) -> Outcome:
        return Done()

    async with kafka.consuming(handler) as consumer:
        await kafka.until_all_is_committed()
        commits = consumer.counters.commits
    stored = kafka.progress.stored
    assert commits <= len(stored) <= commits + 2
    assert len(stored) <= 2000 / 20, f"{len(stored)} statements for 2000 records"
    known: dict[int, int] = {}
    for offsets in stored:
        known |= offsets
    assert known == await kafka.committed()


async def test_nothing_runs_where_any_partition_shows_an_older_database(kafka: Bench) -> None:
    """R39: neither what shows it nor the others, of no runner; once recovered, what may have run before is marked."""
    seen: list[Record] = []

    async def handler(record: Record) -> Outcome:
        seen.append(record)
        return Done()

    await kafka.send(KEYS)
    async with kafka.consuming(handler):
        await kafka.until_all_is_committed()
    before, passed = len(seen), await kafka.committed()
    await kafka.send(KEYS)
    kafka.progress = older = Older(restore_until=max(passed.values()) + 1)
    async with kafka.consuming(handler) as one, kafka.consuming(handler) as other:
        both = (one, other)
        await eventually(lambda: {len(it.state.refused) for it in both} == {PARTITIONS // 2})
        polls = [it.counters.polls for it in both]
        await eventually(lambda: all(it.counters.polls > more + 2 for it, more in zip(both, polls, strict=True)))
        for it in both:
            (reason,) = set(it.state.refused)
            assert f"{kafka.topic}-1: " in reason
            assert "intention recover" in reason
            assert not it.state.undecided
            assert it.healthy
    assert (len(seen), await kafka.committed()) == (before, passed)
    older.recovered = True
    async with kafka.consuming(handler):
        await kafka.until_all_is_committed()
    again = seen[before:]
    assert len(again) == len(KEYS)
    assert all(record.restored == (record.offset <= max(passed.values())) for record in again)
    assert any(record.restored for record in again)
    assert not any(record.restored for record in seen[:before])

"""The key-ordered consumer on real Kafka."""

from __future__ import annotations

import asyncio
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.kafka.record import Record
from intention_kernel.kafka.topics import create_missing_topics, partition_counts
from turn_runner.outcomes import Again, Done, Outcome

from tests.support.consuming import PARTITIONS, TEST_LIMITS, Bench, ConsumerProcess, bench
from tests.support.eventually import eventually
from tests.support.servers import SharedServers


@pytest.fixture(name="kafka")
async def bench_of_this_test(servers: SharedServers, topic_prefix: str) -> AsyncIterator[Bench]:
    async with bench(servers.kafka_bootstrap_servers, topic_prefix) as opened:
        yield opened


@pytest.fixture
async def process(kafka: Bench, tmp_path: Path) -> AsyncIterator[ConsumerProcess]:
    made = ConsumerProcess(kafka, tmp_path / "finished")
    yield made
    await made.stop()


def keys(threads: int, each: int) -> list[bytes | None]:
    return [f"thread-{number % threads}".encode() for number in range(threads * each)]


class Seen:
    """What a handler was called with: the places in the order of sending, by key."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.places: dict[bytes | None, list[int]] = defaultdict(list)

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.places[record.key].append(int(record.value or b"0"))

    def first_places(self) -> dict[bytes | None, list[int]]:
        return {key: list(dict.fromkeys(places)) for key, places in self.places.items()}


def in_order(sent: list[bytes | None]) -> dict[bytes | None, list[int]]:
    places: dict[bytes | None, list[int]] = defaultdict(list)
    for place, key in enumerate(sent):
        places[key].append(place)
    return dict(places)


async def test_records_of_a_thread_are_handled_in_order_while_threads_run_together(kafka: Bench) -> None:
    seen, running, most = Seen(), set[bytes | None](), 0

    async def handler(record: Record) -> Outcome:
        nonlocal most
        assert record.key not in running
        running.add(record.key)
        most = max(most, len(running))
        await asyncio.sleep(0.001 * (record.offset % 5))
        running.discard(record.key)
        seen.add(record)
        return Done()

    sent = keys(threads=40, each=25)
    await kafka.send(sent)
    async with kafka.consuming(handler) as consumer:
        await kafka.until_all_is_committed()
        assert consumer.counters.misplaced == 0
        assert consumer.state.partitions == tuple(range(PARTITIONS))
        assert consumer.healthy
    assert seen.places == in_order(sent)
    assert most > 10


async def test_a_blocked_lane_neither_delays_its_neighbours_nor_holds_a_permit(kafka: Bench) -> None:
    """R4: busy and held wait outside the concurrency permits, and their offset is not done."""
    seen, blocked = Seen(), True

    async def handler(record: Record) -> Outcome:
        if record.key == b"blocked" and blocked:
            return Again(0.02, "held")
        seen.add(record)
        return Done()

    partition = partition_for(b"blocked", PARTITIONS)
    neighbours = [key for key in keys(100, 1) if key is not None and partition_for(key, PARTITIONS) == partition]
    sent: list[bytes | None] = [b"blocked", *neighbours, b"blocked", *neighbours]
    await kafka.send(sent)
    async with kafka.consuming(handler, replace(TEST_LIMITS, in_flight=1, window_records=1_000)) as consumer:
        await eventually(lambda: len(seen.records) == 2 * len(neighbours))
        assert b"blocked" not in seen.places
        assert consumer.state.lanes == 1
        assert (await kafka.committed()).get(partition, 0) == 0
        assert consumer.counters.again["held"] >= 1
        blocked = False
        await kafka.until_all_is_committed()
    assert seen.places == in_order(sent)


async def test_while_handlers_report_an_outage_nothing_is_polled_and_nothing_is_skipped(kafka: Bench) -> None:
    seen, away = Seen(), False

    async def handler(record: Record) -> Outcome:
        if away:
            raise InfrastructureError("the database is away")
        seen.add(record)
        return Done()

    first, second = keys(20, 5), keys(20, 10)
    await kafka.send(first)
    async with kafka.consuming(handler) as consumer:
        await kafka.until_all_is_committed()
        away = True
        await kafka.send([b"probe"])
        await eventually(lambda: consumer.state.away)
        polls, polled = consumer.counters.polls, consumer.counters.polled
        await eventually(lambda: consumer.counters.polls > polls)  # the one that was out when the outage was noticed
        await kafka.send(second)
        errors = consumer.counters.infrastructure_errors
        await eventually(lambda: consumer.counters.infrastructure_errors >= errors + 5)
        assert consumer.counters.polled == polled
        assert (await kafka.committed()) != kafka.ends
        away = False
        await kafka.until_all_is_committed()
        assert not consumer.state.away
        assert consumer.counters.rebalances == 0, "the membership was kept"
    assert len(seen.records) == len(first) + 1 + len(second)
    assert {key: places[5:] for key, places in seen.places.items() if key != b"probe"} == in_order(second)


async def test_records_of_every_shape_arrive_intact(kafka: Bench) -> None:
    seen: dict[bytes | None, Record] = {}
    headers = [("ok", "é".encode()), ("bad", b"\xff\xfe"), ("twice", b"1"), ("twice", b"2"), ("null", None), ("", b"")]

    async def handler(record: Record) -> Outcome:
        seen[record.key] = record
        return Done()

    await kafka.producer.send_and_wait(kafka.topic, b"value", key=None, partition=2)
    await kafka.producer.send_and_wait(kafka.topic, None, key=b"tombstone")
    await kafka.producer.send_and_wait(kafka.topic, b"", key=b"")
    await kafka.producer.send_and_wait(kafka.topic, b"\x00\xff", key=b"\xff", headers=headers, timestamp_ms=1_234)
    async with kafka.consuming(handler):
        await eventually(lambda: len(seen) == 4)
    assert (seen[None].partition, seen[None].value) == (2, b"value")
    assert seen[b"tombstone"].value is None
    assert seen[b""].value == b""
    record = seen[b"\xff"]
    assert (record.value, record.headers, record.timestamp_ms) == (b"\x00\xff", tuple(headers), 1_234)
    assert record.size_bytes == 1 + 2 + sum(len(name) + len(value or b"") for name, value in headers)


@pytest.mark.parametrize("codec", [DefaultRecordBatch.CODEC_NONE, DefaultRecordBatch.CODEC_ZSTD])
async def test_a_header_name_that_is_not_utf8_stops_neither_its_record_nor_its_neighbours(
    kafka: Bench, codec: int
) -> None:
    seen = Seen()

    async def handler(record: Record) -> Outcome:
        seen.add(record)
        return Done()

    sent = keys(40, 5)
    await kafka.send(sent)
    await kafka.send_with_a_bad_header_name(partition=1, codec=codec)
    await kafka.send(sent)
    async with kafka.consuming(handler) as consumer:
        await kafka.until_all_is_committed()
        assert consumer.counters.poll_errors == 0
    expected = in_order(sent)
    assert {key: places for key, places in seen.places.items() if key != b"bad"} == {
        key: places * 2 for key, places in expected.items()
    }
    bad = [record for record in seen.records if record.key == b"bad"]
    assert [(int(record.value or b""), record.headers) for record in bad] == [
        (0, (("name", b"\xff"),)),
        (1, (("\\xffame", b"\xff"),)),
        (2, (("name", b"\xff"),)),
    ]


async def test_a_record_on_another_partition_than_its_keys_is_handled_and_counted(kafka: Bench) -> None:
    seen = Seen()

    async def handler(record: Record) -> Outcome:
        seen.add(record)
        return Done()

    await kafka.send([b"thread"], partition=(partition_for(b"thread", PARTITIONS) + 1) % PARTITIONS)
    async with kafka.consuming(handler) as consumer:
        await kafka.until_all_is_committed()
        assert consumer.counters.misplaced == 1
    assert len(seen.records) == 1


async def test_a_partition_is_not_polled_beyond_its_window_and_goes_on_where_it_stopped(kafka: Bench) -> None:
    seen, gate = Seen(), asyncio.Event()

    async def handler(record: Record) -> Outcome:
        await gate.wait()
        seen.add(record)
        return Done()

    sent = keys(50, 40)
    await kafka.send(sent)
    limits = replace(TEST_LIMITS, window_records=20, poll_records=10, buffered_records=60)
    async with kafka.consuming(handler, limits) as consumer:
        await eventually(lambda: consumer.counters.polled >= 60)
        polls = consumer.counters.polls
        await eventually(lambda: consumer.counters.polls > polls + 2)
        assert consumer.state.buffered_records == 60
        gate.set()
        await kafka.until_all_is_committed()
    assert seen.places == in_order(sent)


async def test_two_consumers_with_slow_handlers_share_the_topic_and_lose_nothing(kafka: Bench) -> None:
    """R4: what outlives the drain goes on, its completion moves no offset, and the record comes again elsewhere."""
    first, second, slow = Seen(), Seen(), asyncio.Event()

    async def slow_handler(record: Record) -> Outcome:
        first.add(record)
        if not slow.is_set():
            await slow.wait()
        return Done()

    async def quick_handler(record: Record) -> Outcome:
        second.add(record)
        return Done()

    sent = keys(30, 4)
    await kafka.send(sent)
    async with kafka.consuming(slow_handler) as one:
        await eventually(lambda: one.state.in_flight == 30)
        async with kafka.consuming(quick_handler) as two:
            await eventually(lambda: len(one.state.partitions) == 2 and len(two.state.partitions) == 2)
            assert one.counters.rebalances == 1
            assert one.state.in_flight == 30, "running handlers were not cancelled"
            slow.set()
            await kafka.until_all_is_committed()
            assert one.counters.stale == 30
            assert one.healthy
            assert two.healthy
    expected = in_order(sent)
    for key, places in expected.items():
        assert set(first.places[key]) | set(second.places[key]) == set(places)
    assert first.first_places() == {key: sorted(places) for key, places in first.first_places().items()}
    assert second.first_places() == {key: sorted(places) for key, places in second.first_places().items()}


async def test_nothing_is_begun_while_partitions_are_being_given_up(kafka: Bench) -> None:
    busy, starts = True, list[tuple[int, int]]()

    async def handler(record: Record) -> Outcome:
        starts.append((one.counters.rebalances, one.counters.polled))
        await asyncio.sleep(0.02)
        return Again(0.0, "busy") if busy else Done()

    async def other_handler(record: Record) -> Outcome:
        return Done()

    await kafka.send(keys(30, 1))
    one = kafka.consumer(handler, replace(TEST_LIMITS, in_flight=1, drain_seconds=0.5))
    await one.start()
    await eventually(lambda: len(starts) > 3 and one.counters.polled == 30)
    async with kafka.consuming(other_handler):
        busy = False
        await kafka.until_all_is_committed()
    await one.stop(1.0)
    assert (0, 30) in starts
    assert (1, 30) not in starts


async def test_members_that_come_and_go_lose_nothing(kafka: Bench) -> None:
    seen = Seen()

    async def handler(record: Record) -> Outcome:
        await asyncio.sleep(0.002)
        seen.add(record)
        return Done()

    sent = keys(40, 50)
    sending = asyncio.create_task(kafka.send(sent))
    async with kafka.consuming(handler) as steady:
        for _ in range(3):
            async with kafka.consuming(handler) as passing:
                await eventually(lambda: len(passing.state.partitions) == 2)
            await eventually(lambda: len(steady.state.partitions) == PARTITIONS)
        await sending
        await kafka.until_all_is_committed()
    assert seen.first_places().keys() == in_order(sent).keys()
    assert {key: sorted(set(places)) for key, places in seen.places.items()} == in_order(sent)


async def test_a_graceful_stop_commits_what_finished_and_the_next_member_starts_behind_it(kafka: Bench) -> None:
    seen, started = Seen(), asyncio.Event()

    async def handler(record: Record) -> Outcome:
        started.set()
        await asyncio.sleep(0.05)
        seen.add(record)
        return Done()

    sent = keys(8, 5)
    await kafka.send(sent)
    consumer = kafka.consumer(handler, replace(TEST_LIMITS, in_flight=4, commit_seconds=60.0))
    await consumer.start()
    await started.wait()
    await consumer.stop(5.0)
    handled, committed = len(seen.records), await kafka.committed()
    assert 0 < handled < len(sent)
    assert committed
    async with kafka.consuming(handler):
        await kafka.until_all_is_committed()
    finished_beyond_a_gap = handled - sum(committed.values())
    assert len(seen.records) == len(sent) + finished_beyond_a_gap
    assert seen.first_places() == in_order(sent)


@pytest.mark.parametrize(
    "failpoint",
    ["runner.after_poll=kill@3", "runner.before_offset_commit=kill@2", "runner.after_offset_commit=kill"],
)
async def test_offsets_are_a_finished_prefix_wherever_the_process_dies(
    kafka: Bench, process: ConsumerProcess, failpoint: str
) -> None:
    """R4: after a SIGKILL nothing below a committed offset is unfinished, and the next process handles the rest."""
    await kafka.send(keys(60, 10))
    await process.start(failpoints=failpoint)
    assert await process.ended() == -signal.SIGKILL
    await _assert_committed_is_finished(kafka, process)
    await process.start()
    await kafka.until_all_is_committed()
    await process.stop()
    assert set(process.finished()) == {(p, offset) for p, end in kafka.ends.items() for offset in range(end)}


async def test_a_killed_process_repeats_only_what_had_not_been_committed(
    kafka: Bench, process: ConsumerProcess
) -> None:
    await kafka.send(keys(60, 40))
    await process.start()
    await eventually(lambda: len(process.finished()) > 500)
    process.kill()
    assert await process.ended() == -signal.SIGKILL
    committed = await _assert_committed_is_finished(kafka, process)
    before = process.finished()
    await process.start()
    await kafka.until_all_is_committed()
    await process.stop()
    again = process.finished()[len(before) :]
    assert all(offset >= committed.get(partition, 0) for partition, offset in again)
    assert set(before) | set(again) == {(p, offset) for p, end in kafka.ends.items() for offset in range(end)}


async def _assert_committed_is_finished(kafka: Bench, process: ConsumerProcess) -> dict[int, int]:
    committed = await kafka.committed()
    finished = set(process.finished())
    for partition, offset in committed.items():
        assert {(partition, below) for below in range(offset)} <= finished
    return committed


async def test_missing_topics_are_created_once_and_never_altered(servers: SharedServers, topic_prefix: str) -> None:
    bootstrap = servers.kafka_bootstrap_servers
    made = await create_missing_topics(bootstrap, topic_prefix, 3)
    assert len(made.created) == 6
    assert set(made.partitions.values()) == {3}
    again = await create_missing_topics(bootstrap, topic_prefix, 5)
    assert again.created == ()
    assert again.partitions == made.partitions
    missing = f"{topic_prefix}nobody.asked.for"
    assert await partition_counts(bootstrap, [made.created[0], missing]) == {made.created[0]: 3}
    assert missing not in await partition_counts(bootstrap, [missing])


async def test_a_broker_that_is_not_there_is_an_infrastructure_error() -> None:
    async def handler(record: Record) -> Outcome:
        return Done()

    consumer = Bench("127.0.0.1:1", "t", "g", None, None).consumer(handler)
    with pytest.raises(InfrastructureError, match="joining group g"):
        await consumer.start()
    await consumer.stop(0.0)
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:1"):
        await partition_counts("127.0.0.1:1", ["t"])

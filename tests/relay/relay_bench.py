"""What the relay's tests share: an outbox to fill by SQL, topics to read, and the real process."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx
import psutil
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from intention_kernel.contracts.event import WireRecord, pack_records
from intention_kernel.contracts.topics import Topics
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.postgres.packing import pack

PARTITIONS = 4
SHARDS = 64
PATIENCE_SECONDS = 30.0


async def until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Return once `condition` holds."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"{what}: not after {seconds} s"
        await asyncio.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn's events in the outbox: `count` records from `first` on, of about `size` bytes each."""

    thread: int
    first: int
    count: int
    size: int = 40

    @property
    def thread_id(self) -> str:
        return f"thread-{self.thread}"

    @property
    def shard(self) -> int:
        return self.thread % SHARDS

    def block(self) -> bytes:
        """As turns.events and outbox.records hold it."""
        records = tuple(
            WireRecord((("ce_sequence", str(at).encode()),), f"{self.thread}:{at}:".encode() + os.urandom(self.size))
            for at in range(self.first, self.first + self.count)
        )
        return pack(pack_records(records))


_INSERT = """insert into outbox (shard, thread_id, topic, dedupe, first_sequence, record_count, records)
 select * from unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::bytea[])"""


@dataclass(slots=True)
class Bench:
    """One test's database and topics."""

    database_url: str
    bootstrap: str
    prefix: str
    database: asyncpg.Pool

    @property
    def topics(self) -> Topics:
        return Topics(self.prefix)

    async def insert(self, turns: Sequence[Turn], connection: Any = None) -> None:
        """Turns as outbox rows that hold their records themselves."""
        await (connection or self.database).execute(
            _INSERT,
            [turn.shard for turn in turns],
            [turn.thread_id for turn in turns],
            ["turns.events"] * len(turns),
            [str(turn.first) for turn in turns],
            [turn.first for turn in turns],
            [turn.count for turn in turns],
            [turn.block() for turn in turns],
        )

    async def insert_committed(self, turn: Turn) -> None:
        """A turn in `turns`, and the outbox row that points at it."""
        turn_id = f"turn-{turn.first}"
        await self.database.execute(
            """insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result,
                                  first_sequence, event_count, events, fence)
               values ($1, $2, $3, 'completed', '', '', 0, '', $3, $4, $5, 1)""",
            turn.thread_id, turn_id, turn.first, turn.count, turn.block(),
        )  # fmt: skip
        await self.database.execute(
            """insert into outbox (shard, thread_id, topic, dedupe, first_sequence, record_count, turn_id)
               values ($1, $2, 'turns.events', $3, $4, $5, $6)""",
            turn.shard, turn.thread_id, str(turn.first), turn.first, turn.count, turn_id,
        )  # fmt: skip

    async def insert_value(self, thread: int, topic: str, dedupe: str, value: bytes) -> None:
        """One record without headers: a request or a notice."""
        await self.database.execute(
            "insert into outbox (shard, thread_id, topic, dedupe, record_count, value) values ($1, $2, $3, $4, 1, $5)",
            thread % SHARDS, f"thread-{thread}", topic, dedupe, value,
        )  # fmt: skip

    async def limit_events(self, max_message_bytes: int) -> None:
        """The broker refuses batches of turns.events that are larger than this."""
        admin: Any = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            configs = {"max.message.bytes": str(max_message_bytes)}
            resource = ConfigResource(ConfigResourceType.TOPIC, self.topics.events, configs)  # type: ignore[no-untyped-call]
            await admin.alter_configs([resource])
        finally:
            await admin.close()

    async def waiting(self) -> int:
        """Rows in the outbox."""
        count: int = await self.database.fetchval("select count(*) from outbox")
        return count

    async def until_waiting(self, count: int = 0, seconds: float = PATIENCE_SECONDS) -> None:
        """Return once the outbox holds exactly `count` rows."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (waiting := await self.waiting()) != count:
            assert asyncio.get_running_loop().time() < deadline, f"{waiting} rows, not {count}, after {seconds} s"
            await asyncio.sleep(0.02)

    async def until_published(self, count: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Return once turns.events holds so many records or more."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (found := len(await self.published(self.topics.events))) < count:
            assert asyncio.get_running_loop().time() < deadline, f"{found} records, not {count}, after {seconds} s"
            await asyncio.sleep(0.05)

    async def leases(self) -> dict[str, int]:
        """Live shards of each owner."""
        rows = await self.database.fetch(
            "select owner, count(*) from relay_leases where expires_at > clock_timestamp() group by owner"
        )
        return {row["owner"]: row["count"] for row in rows}

    async def until_leases(self, condition: Callable[[dict[str, int]], bool], seconds: float = 30.0) -> None:
        """Return once the leases are so."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not condition(leases := await self.leases()):
            assert asyncio.get_running_loop().time() < deadline, f"{leases} after {seconds} s"
            await asyncio.sleep(0.05)

    async def published(self, topic: str) -> list[Any]:
        """Every record of the topic, by partition and offset."""
        consumer: Any = AIOKafkaConsumer(  # type: ignore[no-untyped-call]
            bootstrap_servers=self.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            ends = await consumer.end_offsets(partitions)
            records: list[Any] = []
            while any([await consumer.position(each) < ends[each] for each in partitions]):
                for batch in (await consumer.getmany(timeout_ms=200)).values():
                    records.extend(batch)
            return sorted(records, key=lambda record: (record.partition, record.offset))
        finally:
            await consumer.stop()

    async def sequences(self) -> dict[str, list[int]]:
        """Per thread the sequences on turns.events, as read."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for record in await self.published(self.topics.events):
            found[record.key.decode()].append(int(dict(record.headers)["ce_sequence"]))
        return dict(found)

    @asynccontextmanager
    async def relay(self, failpoints: str = "", **settings: str) -> AsyncIterator[RelayProcess]:
        """The real process; it is ended by SIGTERM when the test does not end it itself."""
        environment = os.environ | {
            "INTENTION_DATABASE_URL": self.database_url,
            "INTENTION_KAFKA_BOOTSTRAP_SERVERS": self.bootstrap,
            "INTENTION_TOPIC_PREFIX": self.prefix,
            "INTENTION_LEASE_SECONDS": "2",
            "INTENTION_FAILPOINTS": failpoints,
            "INTENTION_HTTP_PORT": "0",
            **settings,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "outbox_relay", "run",
            env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        relay = RelayProcess(process)
        try:
            yield relay
        finally:
            try:
                await relay.end()
            finally:
                print(*relay.log, sep="")  # pytest shows it where the test fails


class RelayProcess:
    """`outbox-relay run`, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.log: list[str] = []
        assert process.stderr is not None
        self._reading = asyncio.ensure_future(self._read(process.stderr))

    async def ready(self) -> int:
        """Its HTTP port, once it has printed its line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = (await self.process.stdout.readline()).decode()
        match = re.fullmatch(r"ready outbox-relay http=(\d+)\n", line)
        assert match, f"{line!r} {self.log}"
        return int(match[1])

    async def get(self, port: int, path: str) -> httpx.Response:
        """Ask its HTTP port."""
        async with httpx.AsyncClient() as client:
            return await client.get(f"http://127.0.0.1:{port}{path}")

    def is_stopped(self) -> bool:
        """SIGSTOP has reached it."""
        return psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED

    async def ended(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Its exit status."""
        async with asyncio.timeout(seconds):
            status = await self.process.wait()
        await self._reading
        return status

    async def end(self) -> int:
        """SIGTERM (after SIGCONT), and wait; what does not end is killed and fails the test."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        try:
            return await self.ended()
        except TimeoutError:
            self.process.kill()
            await self.ended()
            raise

    async def _read(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            self.log.append(line.decode())


@asynccontextmanager
async def relay_bench(database_url: str, bootstrap: str, prefix: str) -> AsyncIterator[Bench]:
    """Topics of four partitions, and a pool on the test's database."""
    await create_missing_topics(bootstrap, prefix, PARTITIONS)
    async with asyncpg.create_pool(database_url, min_size=1, max_size=4) as pool:
        yield Bench(database_url, bootstrap, prefix, pool)


def turns_of(threads: Iterable[int], turns: int, count: int, *, size: int = 40) -> list[Turn]:
    """`turns` turns of `count` events for each thread, threads interleaved."""
    threads = list(threads)
    return [Turn(thread, 1 + at * count, count, size) for at in range(turns) for thread in threads]


def after_dedupe(sequences: Sequence[int]) -> list[int]:
    """What a reader keeps that accepts only the last sequence plus one."""
    kept = [0]
    for sequence in sequences:
        if sequence == kept[-1] + 1:
            kept.append(sequence)
    return kept[1:]


def inversions(sequences: Sequence[int]) -> int:
    """How often a record stands behind one that should follow it; repeats of what was read before are none."""
    highest, seen, count = 0, set(), 0
    for sequence in sequences:
        count += sequence not in seen and sequence < highest
        highest = max(highest, sequence)
        seen.add(sequence)
    return count

"""A topic to consume from, what its group has committed, and a consumer in a process of its own that a test may kill."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.topics import Topics
from intention_kernel.failpoints import arm
from intention_kernel.kafka.record import Record
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.ports.partition_progress import PartitionProgress, Progress
from turn_runner.consumer import KeyOrderedConsumer
from turn_runner.limits import ConsumerLimits
from turn_runner.outcomes import Done, Handler, Outcome

PARTITIONS = 4

TEST_LIMITS = ConsumerLimits(
    session_timeout_seconds=2.0,
    rebalance_timeout_seconds=6.0,
    drain_seconds=0.2,
    commit_seconds=0.05,
    backoff_seconds=0.02,
    backoff_limit_seconds=0.2,
)


class HeaderName(str):
    """A header name whose bytes are Latin-1, behind the back of a driver that believes in UTF-8."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode("latin-1")


class KnowsAll:
    """A database that is never older than the group. `stored` are the offsets that it was told, in order."""

    def __init__(self) -> None:
        self.stored: list[dict[int, int]] = []

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress:
        return Progress(dict.fromkeys(partitions, PartitionProgress(done_offset=2**62)))

    async def store_progress(self, topic: str, done_offsets: Mapping[int, int]) -> None:
        self.stored.append(dict(done_offsets))


@dataclass(slots=True)
class Bench:
    """The request topic of one test and who produces to it. `ends` is the end of each partition that got a record."""

    bootstrap: str
    topic: str
    group: str
    producer: Any
    admin: Any
    ends: dict[int, int] = field(default_factory=dict)
    progress: KnowsAll = field(default_factory=KnowsAll)

    async def send(self, keys: Sequence[bytes | None], **more: Any) -> None:
        """One record a key, in this order; a record's value is its place in the order unless `more` says otherwise."""
        more.setdefault("value", None)
        sent = [
            await self.producer.send(self.topic, key=key, **(more | {"value": more["value"] or str(place).encode()}))
            for place, key in enumerate(keys)
        ]
        for metadata in await asyncio.gather(*sent):
            self.ends[metadata.partition] = max(self.ends.get(metadata.partition, 0), metadata.offset + 1)

    async def send_with_a_bad_header_name(self, partition: int, codec: int) -> None:
        """Three records of the key `bad` in one batch; a header of the second has a name that is not UTF-8."""
        builder = self.producer.create_batch()
        builder._builder = _DefaultRecordBatchBuilderPy(2, codec, 0, -1, -1, 0, 65_536)
        for place, name in enumerate(["name", "\xffame", "name"]):
            header = (HeaderName(name), b"\xff")
            builder.append(key=b"bad", value=str(place).encode().rjust(400, b"0"), timestamp=None, headers=[header])
        sent = await self.producer.send_batch(builder, self.topic, partition=partition)
        self.ends[partition] = (await sent).offset + 3

    def consumer(self, handler: Handler, limits: ConsumerLimits = TEST_LIMITS) -> KeyOrderedConsumer:
        """Not started."""
        return KeyOrderedConsumer(
            handler,
            bootstrap_servers=self.bootstrap,
            topic=self.topic,
            group=self.group,
            clock=SystemClock(),
            progress=self.progress,
            limits=limits,
        )

    @asynccontextmanager
    async def consuming(
        self, handler: Handler, limits: ConsumerLimits = TEST_LIMITS
    ) -> AsyncIterator[KeyOrderedConsumer]:
        """Started, and stopped at the end with a short grace."""
        consumer = self.consumer(handler, limits)
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop(1.0)

    async def committed(self) -> dict[int, int]:
        """What the group has committed, by partition."""
        offsets = await self.admin.list_consumer_group_offsets(self.group)
        return {one.partition: stored.offset for one, stored in offsets.items()}

    async def until_all_is_committed(self, seconds: float = 30.0) -> None:
        """Return when the group has committed the end of every partition."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (committed := await self.committed()) != self.ends:
            assert asyncio.get_running_loop().time() < deadline, f"{committed} is not {self.ends} after {seconds} s"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def bench(bootstrap: str, prefix: str) -> AsyncIterator[Bench]:
    """Topics with this prefix, and clients that are closed at the end."""
    await create_missing_topics(bootstrap, prefix, PARTITIONS)
    topics = Topics(prefix)
    producer: Any = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=262_144)  # type: ignore[no-untyped-call]
    admin: Any = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await producer.start()
    await admin.start()
    try:
        yield Bench(bootstrap, topics.requests, topics.consumer_group(), producer, admin)
    finally:
        await producer.stop()
        await admin.close()


class ConsumerProcess:
    """A consumer in a process of its own; every finished record is one line `partition offset` of `journal`."""

    def __init__(self, bench: Bench, journal: Path) -> None:
        self._bench = bench
        self._journal = journal
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, failpoints: str = "") -> None:
        """Started, perhaps with armed failpoints; it may not have joined yet."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.consuming",
            self._bench.bootstrap,
            self._bench.topic,
            self._bench.group,
            str(self._journal),
            env=os.environ | {"INTENTION_FAILPOINTS": failpoints},
        )

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()

    async def ended(self, seconds: float = 30.0) -> int:
        """The exit status, once it has ended."""
        assert self._process is not None
        async with asyncio.timeout(seconds):
            return await self._process.wait()

    async def stop(self) -> None:
        """SIGTERM, and wait."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self.ended()

    def finished(self) -> list[tuple[int, int]]:
        """Partition and offset of what has finished, in order, repeats included."""
        lines = self._journal.read_text().splitlines() if self._journal.exists() else []
        return [(int(partition), int(offset)) for partition, offset in (line.split() for line in lines)]


async def _consume(bootstrap: str, topic: str, group: str, journal: str) -> None:
    arm(os.environ.get("INTENTION_FAILPOINTS", ""))
    out = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def handler(record: Record) -> Outcome:
        # Records finish out of order inside a partition: the prefix is not simply the last one.
        await asyncio.sleep(0.001 * (record.offset % 7))
        os.write(out, f"{record.partition} {record.offset}\n".encode())
        return Done()

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    consumer = KeyOrderedConsumer(
        handler,
        bootstrap_servers=bootstrap,
        topic=topic,
        group=group,
        clock=SystemClock(),
        progress=KnowsAll(),
        limits=replace(TEST_LIMITS, poll_records=100),
    )
    await consumer.start()
    await stop.wait()
    await consumer.stop(5.0)


if __name__ == "__main__":
    asyncio.run(_consume(*sys.argv[1:5]))

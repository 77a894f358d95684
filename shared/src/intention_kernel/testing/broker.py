"""Kafka as a test sees it: put a record anywhere, read a topic from end to end, ask what a group has committed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.assigned_consumer import AssignedConsumer, Message, assigned_consumer
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.kafka.topics import partition_counts

LARGEST_RECORD_BYTES = 4 << 20
"""Before compression: a compressed record may be larger than what brokers take of an uncompressed one."""

_FETCH_WAIT_MS = 50
_REQUEST_TIMEOUT_MS = 40_000
_READ_WAIT_MS = 200
_EMPTY_READS = 50

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record as it is on a topic; nothing in it is decoded."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def header(self, name: str) -> str:
        """The first header of that name as text, "" where there is none."""
        return next(((value or b"").decode("utf-8", "replace") for other, value in self.headers if other == name), "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record is on its topic."""

    topic: str
    partition: int
    offset: int


class _Sent(Protocol):
    partition: int
    offset: int


class _Producer(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        partition: int,
    ) -> Awaitable[_Sent]: ...


class _Stored(Protocol):
    @property
    def offset(self) -> int: ...


class _Admin(Protocol):
    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def list_consumer_group_offsets(self, group_id: str) -> Mapping[TopicPartition, _Stored]: ...


class Broker:
    """Made by `open_broker`. Every call raises InfrastructureError where Kafka does not answer."""

    def __init__(self, bootstrap: str, producer: _Producer, consumer: AssignedConsumer, admin: _Admin) -> None:
        self._bootstrap = bootstrap
        self._producer = producer
        self._consumer = consumer
        self._admin = admin
        self._partitions: dict[str, int] = {}

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        headers: Headers = (),
        partition: int | None = None,
    ) -> Place:
        """Put a record where its key belongs (partition 0 without a key) or where told; returns once it is there."""
        if partition is None:
            partition = 0 if key is None else partition_for(key, await self._count(topic))
        with broker_errors(f"sending to {topic}"):
            sent = await (
                await self._producer.send(topic, key=key, value=value, headers=list(headers), partition=partition)
            )
        return Place(topic, sent.partition, sent.offset)

    async def read(self, topic: str) -> list[LogRecord]:
        """Everything that is on the topic now, in order inside of a partition."""
        ends = await self.ends(topic)
        wanted = {TopicPartition(topic, partition): end for partition, end in ends.items() if end}
        records: list[LogRecord] = []
        with broker_errors(f"reading {topic}"):
            self._consumer.assign(list(wanted))
            for partition in wanted:
                self._consumer.seek(partition, 0)
            empty = 0
            while any([await self._consumer.position(one) < end for one, end in wanted.items()]):
                batches = await self._consumer.getmany(timeout_ms=_READ_WAIT_MS)
                empty = 0 if batches else empty + 1
                if empty > _EMPTY_READS:
                    raise InfrastructureError(f"reading {topic}: it has records that do not come")
                records.extend(_record(message) for batch in batches.values() for message in batch)
        return sorted(records, key=lambda record: (record.partition, record.offset))

    async def ends(self, topic: str) -> dict[int, int]:
        """The offset that each partition's next record will have."""
        partitions = [TopicPartition(topic, number) for number in range(await self._count(topic))]
        with broker_errors(f"asking where {topic} ends"):
            found = await self._consumer.end_offsets(partitions)
        return {partition.partition: end for partition, end in found.items()}

    async def committed(self, group: str, topic: str) -> dict[int, int]:
        """What the group has committed of the topic, by partition; partitions without a commit are not in it."""
        with broker_errors(f"asking for the offsets of {group}"):
            stored = await self._admin.list_consumer_group_offsets(group)
        return {one.partition: found.offset for one, found in stored.items() if one.topic == topic}

    async def _count(self, topic: str) -> int:
        if topic not in self._partitions:
            self._partitions |= await partition_counts(self._bootstrap, [topic])
        return self._partitions[topic]


@asynccontextmanager
async def open_broker(bootstrap: str) -> AsyncIterator[Broker]:
    """Connected clients, closed at the end."""
    servers = list(parse_bootstrap_servers(bootstrap))
    producer: _Producer = AIOKafkaProducer(  # type: ignore[no-untyped-call]  # the driver is half typed
        bootstrap_servers=servers, max_request_size=LARGEST_RECORD_BYTES, compression_type="gzip"
    )
    consumer = assigned_consumer(bootstrap, fetch_wait_ms=_FETCH_WAIT_MS, request_timeout_ms=_REQUEST_TIMEOUT_MS)
    admin: _Admin = AIOKafkaAdminClient(bootstrap_servers=servers)  # type: ignore[no-untyped-call,unused-ignore]
    async with AsyncExitStack() as stack:
        with broker_errors(f"reaching Kafka at {bootstrap}"):
            for start, stop in ((producer.start, producer.stop), (consumer.start, consumer.stop)):
                stack.push_async_callback(stop)
                await start()
            stack.push_async_callback(admin.close)
            await admin.start()
        yield Broker(bootstrap, producer, consumer, admin)


def _record(message: Message) -> LogRecord:
    return LogRecord(message.partition, message.offset, message.key, message.value, tuple(message.headers))

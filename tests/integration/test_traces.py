"""The live feed on real Kafka: in order, in batches, and never in a turn's way."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from intention_kernel.contracts.topics import Topics
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.kafka.traces import KafkaTraces

from tests.support.eventually import eventually
from tests.support.servers import SharedServers

PARTITIONS = 3
_TOO_LARGE = Random(1).randbytes(300_000)  # which the broker cannot compress
HEADERS = (("ce_id", b"1"), ("ce_type", "é".encode()))


@pytest.fixture
async def topic(servers: SharedServers, topic_prefix: str) -> str:
    await create_missing_topics(servers.kafka_bootstrap_servers, topic_prefix, PARTITIONS)
    return Topics(topic_prefix).traces


@asynccontextmanager
async def started(traces: KafkaTraces) -> AsyncIterator[KafkaTraces]:
    await traces.start()
    try:
        yield traces
    finally:
        await traces.stop(5.0)


async def create_limited(bootstrap: str, topic: str) -> None:
    """A topic that takes no batch larger than 100 kB, from its first record on."""
    admin: Any = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        configs = {"max.message.bytes": "100000"}
        await admin.create_topics([NewTopic(topic, PARTITIONS, 1, topic_configs=configs)])  # type: ignore[no-untyped-call]
    finally:
        await admin.close()


async def read(bootstrap: str, topic: str, count: int) -> list[Any]:
    """The first `count` records of the topic."""
    consumer: Any = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)  # type: ignore[no-untyped-call]
    await consumer.start()
    records: list[Any] = []
    try:
        partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        async with asyncio.timeout(30):
            while len(records) < count:
                for some in (await consumer.getmany(timeout_ms=200)).values():
                    records += some
    finally:
        await consumer.stop()
    return records


async def test_what_is_published_arrives_in_order_on_the_partition_of_its_thread(
    servers: SharedServers, topic: str
) -> None:
    """More than is taken at once, and more than fits one batch; some of it published before there is a producer."""
    bootstrap, each = servers.kafka_bootstrap_servers, 130
    sent = {f"thread-{number}": [b"%d" % at + b"." * 400 for at in range(each)] for number in range(30)}
    traces = KafkaTraces(bootstrap, topic)
    for at in range(each // 2):
        for thread_id, values in sent.items():
            traces.publish(thread_id, HEADERS, values[at])
    async with started(traces):
        for at in range(each // 2, each):
            for thread_id, values in sent.items():
                traces.publish(thread_id, HEADERS, values[at])
            await asyncio.sleep(0)
    arrived: dict[str, list[bytes]] = defaultdict(list)
    for record in await read(bootstrap, topic, each * len(sent)):
        assert record.partition == partition_for(record.key, PARTITIONS)
        assert record.headers == HEADERS
        arrived[record.key.decode()].append(record.value)
    assert arrived == sent
    assert traces.dropped == 0


async def test_a_record_that_the_broker_refuses_is_dropped_and_counted_alone(
    servers: SharedServers, topic_prefix: str
) -> None:
    topic = Topics(topic_prefix).traces
    await create_limited(servers.kafka_bootstrap_servers, topic)
    async with started(KafkaTraces(servers.kafka_bootstrap_servers, topic)) as traces:
        for value in (b"before", _TOO_LARGE, b"after"):
            traces.publish("thread", HEADERS, value)
        await eventually(lambda: traces.dropped)
        traces.publish("thread", HEADERS, b"later")
    values = [record.value for record in await read(servers.kafka_bootstrap_servers, topic, 3)]
    assert values == [b"before", b"after", b"later"]
    assert traces.dropped == 1


async def test_without_a_broker_the_buffer_is_bounded_and_the_rest_is_dropped_and_counted() -> None:
    """A turn never waits: `publish` has returned 12,000 times before the loop ran once."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        traces = KafkaTraces(f"127.0.0.1:{nobody.getsockname()[1]}", "no-topic")
        await traces.start()
        for _ in range(12_000):
            traces.publish("thread", HEADERS, b"value")
        assert traces.dropped == 2_000
        async with asyncio.timeout(30):
            await traces.stop(0.1)


async def test_what_was_buffered_while_the_topic_was_missing_arrives_once_it_is_there(
    servers: SharedServers, topic_prefix: str
) -> None:
    bootstrap, topic = servers.kafka_bootstrap_servers, Topics(topic_prefix).traces
    async with started(KafkaTraces(bootstrap, topic)) as traces:
        traces.publish("thread", HEADERS, b"early")
        await create_missing_topics(bootstrap, topic_prefix, PARTITIONS)
        assert [record.value for record in await read(bootstrap, topic, 1)] == [b"early"]

"""Puts requests on their topic and waits for the last event of each turn, at as little cost as the driver allows.

A thread has one turn under way at most, so the key of a `turn.completed` says whose it is and no value is ever parsed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from intention_kernel.contracts.topics import Topics
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest, encode_turn_request
from intention_kernel.errors import IntentionKernelError
from intention_kernel.kafka.partitioner import Partitioner

from benchmarks.application import AGENT

_PATIENCE_SECONDS = 120.0
_TEXT = "Please reserve two pieces of FILTER-A for tomorrow morning."


class _Record(Protocol):
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


class _Producer(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send(self, topic: str, *, key: bytes, value: bytes, partition: int) -> Awaitable[object]: ...


class _Consumer(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def assign(self, partitions: list[TopicPartition]) -> None: ...
    async def seek_to_end(self) -> bool: ...
    async def position(self, partition: TopicPartition) -> int: ...
    async def getmany(self, *, timeout_ms: int) -> Mapping[TopicPartition, Sequence[_Record]]: ...


class Load:
    """Made by `open_load`. `thread_ids` are this load's alone."""

    def __init__(
        self,
        producer: _Producer,
        consumer: _Consumer,
        topics: Topics,
        partitions: int,
        thread_ids: Sequence[str],
        agent_id: str,
    ) -> None:
        self._producer = producer
        self._consumer = consumer
        self._topic = topics.requests
        self._partitioner = Partitioner(partitions)
        self._free = deque(thread_id.encode() for thread_id in thread_ids)
        self._requests = {thread_id.encode(): _request(thread_id, agent_id) for thread_id in thread_ids}
        self._sent: dict[bytes, float] = {}
        self._last_sequence: dict[bytes, int] = {}
        self._turns = 0

    async def run(self, turns: int, at_once: int) -> list[float]:
        """Seconds of each turn from its send to its last event, `at_once` under way at any time."""
        took: list[float] = []
        async with asyncio.timeout(_PATIENCE_SECONDS + turns / 10):
            for _ in range(min(at_once, turns)):
                await self._send_next()
            left = turns - min(at_once, turns)
            while len(took) < turns:
                for key in await self._completed():
                    took.append(perf_counter() - self._sent.pop(key))
                    self._free.append(key)
                    if left:
                        left -= 1
                        await self._send_next()
        return took

    async def _send_next(self) -> None:
        key = self._free.popleft()
        self._turns += 1
        before, after = self._requests[key]
        self._sent[key] = perf_counter()
        await self._producer.send(
            self._topic,
            key=key,
            value=b"%bturn-%d%b" % (before, self._turns, after),
            partition=self._partitioner.partition(key),
        )

    async def _completed(self) -> list[bytes]:
        """The threads whose turn's last event has come."""
        batches = await self._consumer.getmany(timeout_ms=200)
        records = (record for records in batches.values() for record in records)
        return [
            record.key for record in records if record.key in self._requests and self._ends_a_turn(record, record.key)
        ]

    def _ends_a_turn(self, record: _Record, key: bytes) -> bool:
        kind = next(value for name, value in record.headers if name == "ce_type")
        if kind == b"turn.failed":
            raise IntentionKernelError(f"a turn of the benchmark failed: {record.value!r}")
        if kind != b"turn.completed":
            return False
        # The relay may publish a turn twice.
        sequence = int(dict(record.headers)["ce_sequence"])
        is_new = sequence > self._last_sequence.get(key, 0)
        if is_new:
            self._last_sequence[key] = sequence
        return is_new


@asynccontextmanager
async def open_load(
    bootstrap: str, prefix: str, partitions: int, thread_ids: Sequence[str], agent_id: str = AGENT
) -> AsyncIterator[Load]:
    """Connected clients that stand at the end of the events topic; closed at the end."""
    topics = Topics(prefix)
    producer: _Producer = AIOKafkaProducer(bootstrap_servers=bootstrap)  # type: ignore[no-untyped-call]  # half typed
    consumer: _Consumer = AIOKafkaConsumer(  # type: ignore[no-untyped-call]
        bootstrap_servers=bootstrap, enable_auto_commit=False, check_crcs=False
    )
    async with AsyncExitStack() as stack:
        for start, stop in ((producer.start, producer.stop), (consumer.start, consumer.stop)):
            stack.push_async_callback(stop)
            await start()
        assigned = [TopicPartition(topics.events, number) for number in range(partitions)]
        consumer.assign(assigned)
        await consumer.seek_to_end()
        for partition in assigned:
            await consumer.position(partition)  # the seek is over once this answers
        yield Load(producer, consumer, topics, partitions, thread_ids, agent_id)


def _request(thread_id: str, agent_id: str) -> tuple[bytes, bytes]:
    """A request of the thread, before and after its turn id."""
    mark = "turn-id-of-the-benchmark"
    request = TurnRequest(
        schema_version=1, thread_id=thread_id, turn_id=mark, agent_id=agent_id, input=TurnInput(text=_TEXT)
    )
    before, _, after = encode_turn_request(request).partition(mark.encode())
    return before, after

"""Topics of one test, with a producer that plays the system's part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from intention_kernel.contracts.event import KernelEvent
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.topics import Topics
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.kafka.topics import create_missing_topics

PARTITIONS = 3


@dataclass(slots=True)
class Stage:
    """Where a test plays runner and relay."""

    bootstrap: str
    prefix: str
    producer: Any

    @property
    def topics(self) -> Topics:
        return Topics(self.prefix)

    async def put(self, topic: str, thread_id: str, value: bytes | None, headers: Mapping[str, str]) -> None:
        """One record under the thread's key."""
        key = thread_id.encode()
        encoded = [(name, text.encode()) for name, text in headers.items()]
        partition = partition_for(key, PARTITIONS)
        await self.producer.send_and_wait(topic, value, key=key, headers=encoded, partition=partition)

    async def event(
        self,
        thread_id: str,
        turn_id: str,
        sequence: int,
        kind: str = "note",
        data: JsonValue = None,
        incarnation: str = "i",
    ) -> bytes:
        """A committed event; returns its bytes."""
        value = dumps(_event(thread_id, turn_id, kind, data).to_json(sequence=sequence))
        headers = {"ce_type": kind, "ce_sequence": str(sequence), "ce_incarnation": incarnation}
        await self.put(self.topics.events, thread_id, value, headers)
        return value

    async def trace(self, thread_id: str, turn_id: str, kind: str, data: JsonValue) -> None:
        """A live trace."""
        value = dumps(_event(thread_id, turn_id, kind, data).to_json(sequence=None, attempt=1))
        await self.put(self.topics.traces, thread_id, value, {"ce_type": kind})

    async def rejection(self, request: Any, reason: str, detail: str, *, offset: int | None = None) -> None:
        """A record of the rejected topic for a request that was consumed."""
        headers = {
            "reason": reason,
            "detail": detail,
            "origin_topic": request.topic,
            "origin_partition": str(request.partition),
            "origin_offset": str(request.offset if offset is None else offset),
        }
        await self.put(self.topics.rejected, request.key.decode(), request.value, headers)

    async def next_request(self, thread_id: str, seconds: float = 30.0) -> Any:
        """The first request of the thread's partition, once it is there."""
        partition = TopicPartition(self.topics.requests, partition_for(thread_id.encode(), PARTITIONS))
        consumer: Any = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)  # type: ignore[no-untyped-call]
        await consumer.start()
        try:
            consumer.assign([partition])
            consumer.seek(partition, 0)
            async with asyncio.timeout(seconds):
                return await consumer.getone(partition)
        finally:
            await consumer.stop()


@asynccontextmanager
async def stage(bootstrap: str, prefix: str) -> AsyncIterator[Stage]:
    """The six topics, and a producer."""
    await create_missing_topics(bootstrap, prefix, PARTITIONS)
    producer: Any = AIOKafkaProducer(bootstrap_servers=bootstrap)  # type: ignore[no-untyped-call]
    await producer.start()
    try:
        yield Stage(bootstrap, prefix, producer)
    finally:
        await producer.stop()


def completed(status: str = "completed", *, replayed: bool = False) -> dict[str, JsonValue]:
    """The data of `turn.completed`, with a value that a careless JSON reader would change."""
    return {
        "revision": 1,
        "status": status,
        "response": {"message": "done", "artifacts": [2**70, -0.0]},
        "blockedOn": [],
        "facts": [],
        "replayed": replayed,
    }


def _event(thread_id: str, turn_id: str, kind: str, data: JsonValue) -> KernelEvent:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return KernelEvent(f"id-{turn_id}", kind, "integration", at, thread_id, turn_id, "agent", turn_id, data)

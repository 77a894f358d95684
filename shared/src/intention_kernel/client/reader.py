"""Reading topics without a consumer group: from an offset on, some partitions, whoever else reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka import TopicPartition

from intention_kernel.kafka.assigned_consumer import AssignedConsumer, Message, assigned_consumer
from intention_kernel.kafka.connection import broker_errors

_FETCH_WAIT_MS = 250
_REQUEST_TIMEOUT_MS = 15_000


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One partition of one topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record as it is on a topic; nothing in it is decoded."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def header(self, name: str) -> str:
        """The last header of that name as text, "" where there is none."""
        found = next((value for other, value in reversed(self.headers) if other == name), None)
        return (found or b"").decode("utf-8", "replace")


class TopicReader:
    """Reads its places from where it was put; `open_reader` makes one. Every call raises InfrastructureError."""

    def __init__(self, driver: AssignedConsumer, places: Iterable[Place]) -> None:
        self._driver = driver
        self._partitions = {place: TopicPartition(place.topic, place.partition) for place in places}

    async def begins(self) -> dict[Place, int]:
        """The first offset that each place still has."""
        with broker_errors("asking where the topics begin"):
            return self._by_place(await self._driver.beginning_offsets(list(self._partitions.values())))

    async def ends(self) -> dict[Place, int]:
        """The offset that each place's next record will have."""
        with broker_errors("asking where the topics end"):
            return self._by_place(await self._driver.end_offsets(list(self._partitions.values())))

    def put(self, offsets: Mapping[Place, int]) -> None:
        """Go on from these offsets."""
        for place, offset in offsets.items():
            self._driver.seek(self._partitions[place], offset)

    async def is_at(self, offsets: Mapping[Place, int]) -> bool:
        """Whether everything before these offsets was read."""
        for place, offset in offsets.items():
            if await self._driver.position(self._partitions[place]) < offset:
                return False
        return True

    async def read(self, timeout_seconds: float) -> list[TopicRecord]:
        """The next records, in order inside of a partition; empty when none came in time."""
        with broker_errors("reading from Kafka"):
            batches = await self._driver.getmany(timeout_ms=max(0, int(timeout_seconds * 1000)))
        return [_record(message) for batch in batches.values() for message in batch]

    def _by_place(self, offsets: Mapping[TopicPartition, int]) -> dict[Place, int]:
        return {place: offsets[partition] for place, partition in self._partitions.items()}


@asynccontextmanager
async def open_reader(bootstrap: str, places: Iterable[Place]) -> AsyncIterator[TopicReader]:
    """A reader of these places. `put` it somewhere before the first `read`. Raises InfrastructureError."""
    places = tuple(places)
    driver = assigned_consumer(bootstrap, fetch_wait_ms=_FETCH_WAIT_MS, request_timeout_ms=_REQUEST_TIMEOUT_MS)
    try:
        with broker_errors(f"reaching Kafka at {bootstrap}"):
            await driver.start()
        reader = TopicReader(driver, places)
        driver.assign([TopicPartition(place.topic, place.partition) for place in places])
        yield reader
    finally:
        await driver.stop()


def _record(message: Message) -> TopicRecord:
    return TopicRecord(
        message.topic, message.partition, message.offset, message.key, message.value, tuple(message.headers)
    )

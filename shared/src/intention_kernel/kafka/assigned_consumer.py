"""A consumer outside any group, told what to read and from where: what is used of the driver's, which is half typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition

from intention_kernel.kafka.connection import parse_bootstrap_servers


class Message(Protocol):
    """A record as the driver hands it over; nothing in it is decoded."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


class AssignedConsumer(Protocol):
    """Every call raises the driver's errors; `broker_errors` makes ours of them."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def assign(self, partitions: list[TopicPartition]) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    async def position(self, partition: TopicPartition) -> int: ...
    async def beginning_offsets(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    async def end_offsets(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    async def getmany(self, *, timeout_ms: int) -> Mapping[TopicPartition, Sequence[Message]]: ...


def assigned_consumer(bootstrap: str, *, fetch_wait_ms: int, request_timeout_ms: int) -> AssignedConsumer:
    """Not started and with nothing assigned. It commits nothing; where its offset is gone, it goes on from the first.

    `fetch_wait_ms` is how long a broker may hold a fetch that finds nothing. Raises ConfigurationError for a bootstrap
    list that is none.
    """
    consumer: AssignedConsumer = AIOKafkaConsumer(  # type: ignore[no-untyped-call]
        bootstrap_servers=list(parse_bootstrap_servers(bootstrap)),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=fetch_wait_ms,
        request_timeout_ms=request_timeout_ms,
    )
    return consumer

"""The driver's idempotent producer, rebuilt when an error has poisoned it.

The driver advances a partition's sequence when a batch leaves its queue and never rolls it back, so that after one
refused batch the broker answers OutOfOrderSequenceNumber to every later batch of that partition. Nothing but a new
producer helps. It is built once all that is under way on the old one is answered, so that no batch is sent twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumber,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    UnknownProducerId,
    UnknownTopicOrPartitionError,
)
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.default_records import DefaultRecordBatch

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import failpoint
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers

LARGEST_BATCH_BYTES = 512 * 1024
"""What a batch is filled to before compression: below the default `max.message.bytes` of a topic. One record alone may
be larger, and is the broker's to judge."""

_DRIVER_BATCH_BYTES = 1_000_000
_REQUEST_TIMEOUT_MS = 5_000
_START_SECONDS = 15.0
_STOP_SECONDS = 5.0

_REFUSALS = (MessageSizeTooLargeError, RecordListTooLargeError)
_STALE = (OutOfOrderSequenceNumber, UnknownProducerId)
_NOT_HANDED_OVER = (KafkaTimeoutError, UnknownTopicOrPartitionError, TopicAuthorizationFailedError)

FailureKind = Literal["refused", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a batch is not on the topic.

    `refused`: the broker will never take this batch. `stale`: it takes none of this partition from that producer any
    more. `failed`: it answered something else that the driver does not retry, and the batch may be on the topic.
    """

    kind: FailureKind
    detail: str


class Batch(Protocol):
    """The driver's batch builder. `append` answers None when the record does not fit; the first one always does."""

    def append(
        self, *, timestamp: int | None, key: bytes, value: bytes | None, headers: list[tuple[str, bytes]]
    ) -> object: ...

    def record_count(self) -> int: ...

    def size(self) -> int: ...

    def close(self) -> None: ...


def new_batch() -> Batch:
    """An empty batch, for any producer of this module; a refused one is filled again for the next."""
    batch: Batch = BatchBuilder(_DRIVER_BATCH_BYTES, DefaultRecordBatch.CODEC_ZSTD)  # type: ignore[no-untyped-call]
    return batch


class _Driver(Protocol):
    """What is used of the driver's producer, which is half typed."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def partitions_for(self, topic: str) -> set[int]: ...

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[object]: ...


class IdempotentProducer:
    """acks=all, sequences per partition, retries inside the driver for as long as the broker is away."""

    def __init__(self, bootstrap: str, clock: Clock) -> None:
        self._servers = list(parse_bootstrap_servers(bootstrap))
        self._clock = clock
        self._driver: _Driver | None = None
        self._poisoned: _Driver | None = None
        self._building = asyncio.Lock()
        self._users = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._last_answer_seconds = clock.monotonic_seconds()

    async def start(self) -> None:
        """Connect, or raise InfrastructureError; may be called again."""
        async with self._building:
            if self._driver is None:
                await self._idle.wait()
                await self._close(self._poisoned)
                self._poisoned = None
                self._driver = await self._build()

    async def stop(self) -> None:
        """Close the connections. Call it with nothing under way: the driver flushes what there is."""
        for driver in (self._driver, self._poisoned):
            await self._close(driver)
        self._driver = self._poisoned = None

    async def partition_count(self, topic: str) -> int:
        """How many partitions `topic` has now. Raises InfrastructureError where it has none."""
        async with self._in_use() as driver:
            with broker_errors(f"asking for the partitions of {topic}"):
                return len(await driver.partitions_for(topic))

    async def send(self, topic: str, partition: int, batch: Batch) -> Failure | None:
        """Send a filled batch of `new_batch`. None: every replica in sync has it.

        Returns only when the broker has answered. Raises InfrastructureError where it could not be handed over.
        """
        batch.close()
        async with self._in_use() as driver:
            try:
                answer = await driver.send_batch(batch, topic, partition=partition)
            except KafkaError as error:
                if not isinstance(error, _NOT_HANDED_OVER):
                    self._poison(driver)
                raise InfrastructureError(f"sending to {topic}/{partition}: {_words(error)}") from error
            return await self._answered(driver, answer)

    @property
    def unanswered_seconds(self) -> float:
        """How long the broker has answered nothing while it was asked something; 0 when nothing is under way."""
        return self._clock.monotonic_seconds() - self._last_answer_seconds if self._users else 0.0

    async def _answered(self, driver: _Driver, answer: asyncio.Future[object]) -> Failure | None:
        try:
            await failpoint("relay.after_send")
        finally:
            # Whatever the failpoint does: the caller may go on only when the broker has answered.
            await asyncio.wait([answer])
            error = answer.exception()
            if error is not None:
                self._poison(driver)
        return None if error is None else Failure(_kind(error), _words(error))

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[_Driver]:
        while (driver := self._driver) is None:
            await self.start()
        if not self._users:
            self._last_answer_seconds = self._clock.monotonic_seconds()
        self._users += 1
        self._idle.clear()
        try:
            yield driver
        finally:
            self._last_answer_seconds = self._clock.monotonic_seconds()
            self._users -= 1
            if not self._users:
                self._idle.set()

    def _poison(self, driver: _Driver) -> None:
        if self._driver is driver:
            self._driver, self._poisoned = None, driver

    async def _build(self) -> _Driver:
        driver: _Driver = AIOKafkaProducer(  # type: ignore[no-untyped-call]
            bootstrap_servers=self._servers,
            acks="all",
            enable_idempotence=True,
            compression_type="zstd",
            max_batch_size=_DRIVER_BATCH_BYTES,
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
        )
        with broker_errors(f"reaching Kafka at {','.join(self._servers)}"):
            try:
                # The driver would ask for its producer id until it gets one.
                async with asyncio.timeout(_START_SECONDS):
                    await driver.start()
            except BaseException:
                await self._close(driver)
                raise
        return driver

    async def _close(self, driver: _Driver | None) -> None:
        if driver is not None:
            with suppress(TimeoutError, KafkaError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await driver.stop()


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, _REFUSALS):
        return "refused"
    return "stale" if isinstance(error, _STALE) else "failed"


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__

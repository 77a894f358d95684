"""The live feed on `turns.traces`: one buffer, one sender, and what does not fit is dropped and counted (design 6)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from intention_kernel.kafka.connection import parse_bootstrap_servers
from intention_kernel.kafka.idempotent_producer import Batch
from intention_kernel.kafka.partitioner import Partitioner

logger = logging.getLogger(__name__)

_BUFFERED_RECORDS = 10_000
_TAKEN_AT_ONCE = 1_000  # a few milliseconds of work: turns run on the same loop
_BATCH_BYTES = 262_144
_REQUEST_TIMEOUT_SECONDS = 5.0
_RETRY_SECONDS = 1.0

_Headers = tuple[tuple[str, bytes], ...]
_Record = tuple[bytes, bytes, _Headers]


class KafkaTraces:
    """The Traces port. A turn never waits for it, and never fails with it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        """Raises ConfigurationError for a bootstrap list that is none."""
        self._servers = list(parse_bootstrap_servers(bootstrap))
        self._topic = topic
        self._buffer: deque[_Record] = deque()
        self._filled = asyncio.Event()
        self._handed_over = asyncio.Event()
        self._handed_over.set()
        self._sending: asyncio.Task[None] | None = None
        self.dropped = 0

    def publish(self, thread_id: str, headers: _Headers, value: bytes) -> None:
        """Hand a record over; drops it when the buffer is full."""
        if len(self._buffer) >= _BUFFERED_RECORDS:
            self.dropped += 1
            return
        self._buffer.append((thread_id.encode(), value, headers))
        if len(self._buffer) == 1:
            self._filled.set()
            self._handed_over.clear()

    async def start(self) -> None:
        """Begin to send; returns at once, whether the broker is there or not."""
        self._sending = asyncio.create_task(self._send_until_stopped())

    async def stop(self, seconds: float) -> None:
        """Send what is buffered, for at most `seconds`, then drop the rest."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._handed_over.wait()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending], timeout=seconds)

    async def _send_until_stopped(self) -> None:
        while True:
            producer = AIOKafkaProducer(  # type: ignore[no-untyped-call]  # the driver is half typed
                bootstrap_servers=self._servers,
                acks=1,
                request_timeout_ms=int(_REQUEST_TIMEOUT_SECONDS * 1000),
                max_batch_size=_BATCH_BYTES,
            )
            try:
                await producer.start()  # type: ignore[no-untyped-call]
                await self._send(producer)
            except (KafkaError, OSError) as error:
                logger.debug("traces are not sent: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
            finally:
                with suppress(KafkaError, OSError, TimeoutError):
                    async with asyncio.timeout(_RETRY_SECONDS):
                        await producer.stop()  # type: ignore[no-untyped-call]

    async def _send(self, producer: AIOKafkaProducer) -> None:
        partitioner: Partitioner | None = None
        while True:
            await self._filled.wait()
            partitions = await producer.partitions_for(self._topic)  # type: ignore[no-untyped-call]
            if partitioner is None or partitioner.partitions != len(partitions):
                partitioner = Partitioner(len(partitions))
            await self._hand_over(producer, self._taken(partitioner))
            if not self._buffer:
                self._filled.clear()
                self._handed_over.set()

    def _taken(self, partitioner: Partitioner) -> dict[int, list[_Record]]:
        """The oldest records of the buffer, in order, by partition."""
        taken: dict[int, list[_Record]] = {}
        for _ in range(min(len(self._buffer), _TAKEN_AT_ONCE)):
            record = self._buffer.popleft()
            taken.setdefault(partitioner.partition(record[0]), []).append(record)
        return taken

    async def _hand_over(self, producer: AIOKafkaProducer, taken: dict[int, list[_Record]]) -> None:
        try:
            for partition, records in taken.items():
                while records:
                    batch = _batch_of(producer, records)
                    sent = await producer.send_batch(  # type: ignore[no-untyped-call]
                        batch, self._topic, partition=partition
                    )
                    sent.add_done_callback(partial(self._answered, batch.record_count()))
                    del records[: batch.record_count()]
        finally:
            self.dropped += sum(map(len, taken.values()))

    def _answered(self, count: int, sent: asyncio.Future[object]) -> None:
        if sent.cancelled() or sent.exception() is not None:
            self.dropped += count


def _batch_of(producer: AIOKafkaProducer, records: Sequence[_Record]) -> Batch:
    """As many of the first records as fit; one record alone may be larger, and is the broker's to judge."""
    batch: Batch = producer.create_batch()  # type: ignore[no-untyped-call]
    for key, value, headers in records:
        if batch.append(timestamp=None, key=key, value=value, headers=list(headers)) is None:
            break
    return batch

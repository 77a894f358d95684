"""The live feed on `turns.traces`: one buffer, one sender, and what does not fit is dropped and counted (design 6)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from intention_kernel.kafka.connection import parse_bootstrap_servers

logger = logging.getLogger(__name__)

_BUFFERED_RECORDS = 10_000
_REQUEST_TIMEOUT_SECONDS = 5.0
_RETRY_SECONDS = 1.0

_Headers = tuple[tuple[str, bytes], ...]


class KafkaTraces:
    """The Traces port. A turn never waits for it, and never fails with it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        """Raises ConfigurationError for a bootstrap list that is none."""
        self._servers = list(parse_bootstrap_servers(bootstrap))
        self._topic = topic
        self._buffer: asyncio.Queue[tuple[bytes, bytes, _Headers]] = asyncio.Queue(_BUFFERED_RECORDS)
        self._sending: asyncio.Task[None] | None = None
        self.dropped = 0

    def publish(self, thread_id: str, headers: _Headers, value: bytes) -> None:
        """Hand a record over; drops it when the buffer is full."""
        try:
            self._buffer.put_nowait((thread_id.encode(), value, headers))
        except asyncio.QueueFull:
            self.dropped += 1

    async def start(self) -> None:
        """Begin to send; returns at once, whether the broker is there or not."""
        self._sending = asyncio.create_task(self._send_until_stopped())

    async def stop(self, seconds: float) -> None:
        """Send what is buffered, for at most `seconds`, then drop the rest."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._buffer.join()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending], timeout=seconds)

    async def _send_until_stopped(self) -> None:
        while True:
            producer = AIOKafkaProducer(  # type: ignore[no-untyped-call]  # the driver is half typed
                bootstrap_servers=self._servers,
                acks=1,
                request_timeout_ms=int(_REQUEST_TIMEOUT_SECONDS * 1000),
                max_batch_size=262_144,
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
        while True:
            key, value, headers = await self._buffer.get()
            try:
                sent = await producer.send(  # type: ignore[no-untyped-call]
                    self._topic, value, key=key, headers=list(headers)
                )
                sent.add_done_callback(self._answered)
            finally:
                self._buffer.task_done()

    def _answered(self, sent: asyncio.Future[object]) -> None:
        if sent.cancelled() or sent.exception() is not None:
            self.dropped += 1

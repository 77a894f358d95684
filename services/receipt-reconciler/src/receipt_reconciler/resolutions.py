"""Decisions from Kafka: one record at a time, its offset committed once what became of it is durable (interface 2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError
from faststream import AckPolicy
from faststream.kafka import KafkaBroker
from faststream.message import StreamMessage
from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers
from intention_kernel.kafka.group import completes
from intention_kernel.kafka.record import Record, origin_of
from intention_kernel.kafka.single_consumer import SingleConsumer
from intention_kernel.kafka.topics import partition_counts
from intention_kernel.lifecycle import set_or_after
from intention_kernel.ports.turn_store import Origin

from receipt_reconciler.metrics import RESOLUTIONS

logger = logging.getLogger(__name__)
# FastStream warns at each start that it makes no topics, which is meant; what fails it says as an error.
_broker_logger = logging.getLogger(f"{__name__}.broker")
_broker_logger.setLevel(logging.ERROR)

_REQUEST_SECONDS = 15.0
_SESSION_SECONDS = 10.0
_WATCH_SECONDS = 2.0
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_CLOSE_SECONDS = 2.0
_AT_ONCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Subscription:
    """Where decisions come from, and as whom they are read. `grace_seconds`: what a stop may take."""

    bootstrap_servers: str
    topic: str
    group: str
    grace_seconds: float


class ResolutionConsumer:
    """Runs until `stop` is set, whatever goes away meanwhile: then it waits, and `away` says for what."""

    def __init__(
        self, subscription: Subscription, take: Callable[[Origin], Awaitable[str]], stop: asyncio.Event
    ) -> None:
        """`take` says what became of a record, and raises InfrastructureError where it has to be asked again."""
        self._subscription = subscription
        self._take = take
        self._stop = stop
        self._kafka_away: str | None = f"no partitions of {subscription.topic} are assigned yet"
        self._store_away: str | None = None

    @property
    def away(self) -> str | None:
        """Why no decision is taken now, None where they are."""
        return self._store_away or self._kafka_away

    async def run(self) -> None:
        """Joins the group, and joins it again where that ended."""
        while not self._stop.is_set():
            try:
                async with self._joined() as consumer:
                    await self._watch(consumer)
            except InfrastructureError as error:
                self._kafka_is(str(error))
                await set_or_after(self._stop, jittered_seconds(_WATCH_SECONDS))

    @asynccontextmanager
    async def _joined(self) -> AsyncIterator[SingleConsumer]:
        topic = self._subscription.topic
        if topic not in await partition_counts(self._subscription.bootstrap_servers, [topic]):
            raise InfrastructureError(f"topic {topic} does not exist: run `intention migrate`")
        broker = _Broker(
            parse_bootstrap_servers(self._subscription.bootstrap_servers),
            client_id="receipt-reconciler",
            request_timeout_ms=int(_REQUEST_SECONDS * 1000),
            consumer_only=True,
            allow_auto_create_topics=False,
            graceful_timeout=_AT_ONCE_SECONDS,
            apply_types=False,
            logger=_broker_logger,
        )
        subscriber: Any = broker.subscriber(
            topic,
            group_id=self._subscription.group,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=int(_SESSION_SECONDS * 1000),
            ack_policy=AckPolicy.MANUAL,
            parser=_unread,
            decoder=_record,
        )
        hand = asyncio.Lock()
        subscriber(partial(self._handle, subscriber, hand))
        try:
            with broker_errors(f"joining group {self._subscription.group} of {topic}"):
                await self._unless_stopped(broker.start())
            yield subscriber.consumer
        finally:
            # The record in hand first: closing cancels what is left.
            await completes(hand.acquire(), max(self._subscription.grace_seconds - _CLOSE_SECONDS, _AT_ONCE_SECONDS))
            await _closed(broker, subscriber.consumer)

    async def _watch(self, consumer: SingleConsumer | None) -> None:
        """The driver waits for its brokers without a word, so they are asked now and then."""
        while consumer is not None and not self._stop.is_set():
            try:
                with broker_errors("asking Kafka for its topics"):
                    async with asyncio.timeout(_REQUEST_SECONDS):
                        await self._unless_stopped(consumer.topics())
                self._kafka_is(None)
            except InfrastructureError as error:
                self._kafka_is(str(error))
            if consumer.coordination_ended:
                raise InfrastructureError(f"the membership in group {self._subscription.group} has ended")
            await set_or_after(self._stop, jittered_seconds(_WATCH_SECONDS))

    async def _handle(self, subscriber: Any, hand: asyncio.Lock, record: Record) -> None:  # noqa: ANN401
        async with hand:
            outcome = await self._taken(record)
            if outcome is not None:
                RESOLUTIONS.labels(outcome).inc()
                await self._commit(subscriber.consumer, record)

    async def _taken(self, record: Record) -> str | None:
        """What became of the record, once that is durable; None where the process stops before."""
        failures = 0
        while True:
            try:
                outcome = await self._take(origin_of(record))
                self._store_away = None
                await failpoint("reconciler.after_resolution")
                return outcome
            except InfrastructureError as error:
                if self._store_away is None:
                    logger.warning("%s", error)
                self._store_away = str(error)
            except Exception:
                logger.exception("a decision could neither be made nor kept; it is tried again")
            failures += 1
            await set_or_after(self._stop, jittered_seconds(_pause(failures)))
            if self._stop.is_set():
                return None

    async def _commit(self, consumer: SingleConsumer, record: Record) -> None:
        """Exactly this record's end. Where that is not ours any more it comes again, and is known by its decision id."""
        end, failures = {TopicPartition(record.topic, record.partition): record.offset + 1}, 0
        while True:
            try:
                with broker_errors(f"committing offsets of {record.topic}"):
                    try:
                        async with asyncio.timeout(_REQUEST_SECONDS):
                            await consumer.commit(end)
                    except (CommitFailedError, IllegalStateError) as error:
                        logger.info("offset not committed, the group has moved on: %s", error)
                return
            except InfrastructureError as error:
                self._kafka_is(str(error))
            failures += 1
            await set_or_after(self._stop, jittered_seconds(_pause(failures)))
            if self._stop.is_set():
                return

    async def _unless_stopped(self, step: Coroutine[Any, Any, object]) -> None:
        """Wait for the step, or until the process stops; then it is cancelled."""
        working, stopping = asyncio.ensure_future(step), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not working.done():
                working.cancel()
        if working.done():
            working.result()

    def _kafka_is(self, away: str | None) -> None:
        if away is not None and away != self._kafka_away:
            logger.warning("%s", away)
        self._kafka_away = away


class _Broker(KafkaBroker):
    """FastStream's, over the consumer that no record stops."""

    async def _connect(self) -> Any:  # noqa: ANN401
        made = await super()._connect()
        settings = made.keywords if isinstance(made, partial) else {}
        self.config.broker_config.builder = partial(SingleConsumer, **settings)
        return self.config.broker_config.builder


async def _unread(record: Record) -> StreamMessage[Record]:
    """FastStream decodes headers, and skips a record whose headers it cannot; nothing of ours is read there."""
    return StreamMessage(raw_message=record, body=record.value or b"")


async def _record(message: StreamMessage[Record]) -> Record:
    return message.raw_message


async def _closed(broker: KafkaBroker, consumer: SingleConsumer | None) -> None:
    if not await completes(broker.stop(), _CLOSE_SECONDS) and consumer is not None:
        await completes(consumer.close_sockets(), 1.0)


def _pause(failures: int) -> float:
    return min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30))

"""The sending side: turn requests in, outcomes and events out, over Kafka alone (interface 2 and 3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError

from intention_kernel.client.feed import FeedItem, read_feed
from intention_kernel.client.outcome import (
    Origin,
    Outcome,
    Wanted,
    outcome_of_event,
    outcome_of_rejection,
    outcome_of_trace,
)
from intention_kernel.client.reader import Place, TopicReader, TopicRecord, open_reader
from intention_kernel.clock import Clock, SystemClock
from intention_kernel.contracts.topics import Topics
from intention_kernel.contracts.turn_request import TurnRequest, decode_turn_request, encode_turn_request
from intention_kernel.errors import ConfigurationError, RejectedError
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.kafka.topics import partition_counts

_LARGEST_RECORD_BYTES = 1_048_000
"""Below the `max.message.bytes` that brokers have by default, with room for a batch's own bytes: a record that the broker
refuses would poison an idempotent producer."""

_REQUEST_TIMEOUT_MS = 15_000

_Look = Callable[[TopicRecord, Wanted], Outcome | None]


class _Sent(Protocol):
    partition: int
    offset: int


class _Producer(Protocol):
    """What is used of the driver's producer, which is half typed."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send_and_wait(self, topic: str, value: bytes, *, key: bytes, partition: int) -> _Sent: ...


class Waiting:
    """Waits for one turn's outcome. Made by `Client`."""

    def __init__(self, reader: TopicReader, looks: dict[str, _Look], wanted: Wanted, clock: Clock) -> None:
        self._reader = reader
        self._looks = looks
        self._wanted = wanted
        self._clock = clock
        self._unread: list[TopicRecord] = []

    def sent_as(self, origin: Origin | None) -> None:
        """From here on only a rejection of that very record counts."""
        self._wanted = replace(self._wanted, origin=origin)

    async def outcome(self, timeout_seconds: float) -> Outcome | None:
        """The turn's outcome, or None where none came in time; another call goes on behind what this one saw.

        Raises InfrastructureError.
        """
        end = self._clock.monotonic_seconds() + timeout_seconds
        while True:
            while self._unread:
                record = self._unread.pop(0)
                outcome = self._looks[record.topic](record, self._wanted)
                if outcome is not None:
                    return outcome
            left = end - self._clock.monotonic_seconds()
            if left <= 0:
                return None
            self._unread = await self._reader.read(left)


class Client:
    """Sends turn requests and watches what becomes of them; an async context manager.

    It needs Kafka alone. Every method raises InfrastructureError where the broker cannot be reached or does not
    answer, and ConfigurationError for a bootstrap list that is none or topics that were not made.
    """

    def __init__(self, bootstrap: str, prefix: str = "") -> None:
        """`prefix` is `INTENTION_TOPIC_PREFIX`."""
        self._servers = list(parse_bootstrap_servers(bootstrap))
        self._bootstrap = bootstrap
        self._topics = Topics(prefix)
        self._clock: Clock = SystemClock()
        self._counts: dict[str, int] = {}
        self._producer: _Producer | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Client:
        """Looks at the topics; raises ConfigurationError where some are missing."""
        wanted = (self._topics.requests, self._topics.events, self._topics.traces, self._topics.rejected)
        self._counts = await partition_counts(self._bootstrap, wanted)
        missing = [name for name in wanted if name not in self._counts]
        if missing:
            raise ConfigurationError(
                f"Kafka at {self._bootstrap} has no topic {', '.join(missing)}: run `intention migrate`,"
                " and see that INTENTION_TOPIC_PREFIX is the same for all"
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._producer is not None:
            await self._producer.stop()

    async def send(self, request: TurnRequest) -> str:
        """Put the request on its topic; returns its turn id when every replica in sync has it.

        After an InfrastructureError it may be there or not: send it again with the same turn id. Raises RejectedError,
        and sends nothing, for a request that a runner would reject at sight.
        """
        await self._send(request)
        return request.turn_id

    @asynccontextmanager
    async def sending(self, request: TurnRequest) -> AsyncIterator[Waiting]:
        """`send`, subscribed before; the body may wait for the outcome of this very request."""
        async with self._waiting(request.thread_id, request.turn_id) as (reader, waiting):
            reader.put(await reader.ends())
            waiting.sent_as(await self._send(request))
            yield waiting

    async def outcome(self, thread_id: str, turn_id: str, timeout_seconds: float) -> Outcome | None:
        """The first outcome of a turn that the topics have or get in time; None where they have none by then.

        It reads the thread's partitions from their beginning. For a request of one's own use `sending`.
        """
        async with self._waiting(thread_id, turn_id) as (reader, waiting):
            reader.put(await reader.begins())
            return await waiting.outcome(timeout_seconds)

    async def events(
        self, thread_id: str | None = None, *, from_beginning: bool = False, follow: bool = True
    ) -> AsyncGenerator[FeedItem]:
        """Committed events of one thread or all, each once and in thread order (protocol R37).

        From now on, or `from_beginning`; without `follow` it ends with what is there at the call. A Gap is told once,
        and nothing after the hole is yielded until it is filled.
        """
        counted = self._counts[self._topics.events]
        partitions = range(counted) if thread_id is None else [partition_for(thread_id.encode(), counted)]
        async with open_reader(self._bootstrap, [Place(self._topics.events, one) for one in partitions]) as reader:
            async for item in read_feed(reader, thread_id, from_beginning=from_beginning, follow=follow):
                yield item

    @asynccontextmanager
    async def _waiting(self, thread_id: str, turn_id: str) -> AsyncIterator[tuple[TopicReader, Waiting]]:
        looks: dict[str, _Look] = {
            self._topics.events: outcome_of_event,
            self._topics.traces: outcome_of_trace,
            self._topics.rejected: outcome_of_rejection,
        }
        places = [Place(topic, partition_for(thread_id.encode(), self._counts[topic])) for topic in looks]
        async with open_reader(self._bootstrap, places) as reader:
            yield reader, Waiting(reader, looks, Wanted(thread_id, turn_id), self._clock)

    async def _send(self, request: TurnRequest) -> Origin | None:
        key, value = request.thread_id.encode(), encode_turn_request(request)
        decode_turn_request(key, value)
        topic = self._topics.requests
        partition = partition_for(key, self._counts[topic])
        producer = await self._started_producer()
        with broker_errors(f"sending to {topic}"):
            try:
                sent = await producer.send_and_wait(topic, value, key=key, partition=partition)
            except MessageSizeTooLargeError as error:
                problem = f"the record has more than {_LARGEST_RECORD_BYTES} bytes"
                raise RejectedError("too_large", problem) from error
        # A repeat that the broker recognised has no offset of its own.
        return Origin(topic, sent.partition, sent.offset) if sent.offset >= 0 else None

    async def _started_producer(self) -> _Producer:
        async with self._starting:  # several may send for the first time at once
            if self._producer is None:
                self._producer = await self._start_producer()
            return self._producer

    async def _start_producer(self) -> _Producer:
        producer: _Producer = AIOKafkaProducer(  # type: ignore[no-untyped-call]
            bootstrap_servers=self._servers,
            acks="all",
            enable_idempotence=True,
            max_request_size=_LARGEST_RECORD_BYTES,
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
        )
        with broker_errors(f"reaching Kafka at {self._bootstrap}"):
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
        return producer

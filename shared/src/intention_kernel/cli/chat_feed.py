"""What the topics tell of one thread while somebody talks on it: progress, and how turns ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from intention_kernel.client import Outcome
from intention_kernel.client.outcome import Wanted, outcome_of_event, outcome_of_rejection, outcome_of_trace
from intention_kernel.client.reader import Place, TopicReader, TopicRecord, open_reader
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.topics import Topics
from intention_kernel.errors import JsonError
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.kafka.topics import partition_counts

_READ_SECONDS = 0.5

_Look = Callable[[TopicRecord, Wanted], Outcome | None]


@dataclass(frozen=True, slots=True)
class Progress:
    """A live trace: what a turn is doing. It proves nothing, the attempt may never commit."""

    turn_id: str
    type: str
    data: JsonValue


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn ended. Readers of the topic may be told twice."""

    turn_id: str
    outcome: Outcome


Told = Progress | Ended


class ThreadFeed:
    """One thread's records from the moment of its making on; `open_feed` makes it."""

    def __init__(self, reader: TopicReader, topics: Topics, thread_id: str) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._traces = topics.traces
        self._looks: dict[str, _Look] = {
            topics.events: outcome_of_event,
            topics.traces: outcome_of_trace,
            topics.rejected: outcome_of_rejection,
        }

    async def told(self) -> AsyncIterator[Told]:
        """What is told, for ever. Raises InfrastructureError where Kafka is away."""
        while True:
            for record in await self._reader.read(_READ_SECONDS):
                item = self._read(record)
                if item is not None:
                    yield item

    def _read(self, record: TopicRecord) -> Told | None:
        document = self._document(record)
        turn_id = document.get("turnId")
        if not isinstance(turn_id, str):
            return None
        outcome = self._looks[record.topic](record, Wanted(self._thread_id, turn_id))
        if outcome is not None:
            return Ended(turn_id, outcome)
        if record.topic == self._traces:
            return Progress(turn_id, record.header("ce_type"), document.get("data"))
        return None

    def _document(self, record: TopicRecord) -> dict[str, JsonValue]:
        """The record's object, empty where it is of another thread or of nobody's making."""
        if record.key != self._thread_id.encode():
            return {}
        try:
            document = loads(record.value or b"")
        except JsonError:
            return {}
        return document if isinstance(document, dict) else {}


@asynccontextmanager
async def open_feed(bootstrap: str, prefix: str, thread_id: str) -> AsyncIterator[ThreadFeed]:
    """A feed of the thread from now on. The topics are there (`Client` looks). Raises InfrastructureError."""
    topics = Topics(prefix)
    names = (topics.events, topics.traces, topics.rejected)
    counts = await partition_counts(bootstrap, names)
    places = [Place(name, partition_for(thread_id.encode(), counts[name])) for name in names]
    async with open_reader(bootstrap, places) as reader:
        reader.put(await reader.ends())
        yield ThreadFeed(reader, topics, thread_id)

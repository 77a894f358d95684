"""The committed events of `turns.events`, each once and in thread order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from intention_kernel.client.order import Gap, ThreadOrder
from intention_kernel.client.reader import Place, TopicReader, TopicRecord
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import JsonError

_READ_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """One committed event. `value` is the record's bytes, `document` the envelope in it (interface 2)."""

    thread_id: str
    turn_id: str
    type: str
    sequence: int
    incarnation: str
    value: bytes
    document: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record on the events topic that is no event of this system."""

    partition: int
    offset: int
    why: str


FeedItem: TypeAlias = Event | Gap | Unreadable


async def read_feed(
    reader: TopicReader, thread_id: str | None, *, from_beginning: bool, follow: bool
) -> AsyncIterator[FeedItem]:
    """See `Client.events`."""
    begins, ends = await reader.begins(), await reader.ends()
    reader.put(begins if from_beginning else ends)
    order = ThreadOrder(from_the_first=from_beginning and not any(begins.values()))
    key = None if thread_id is None else thread_id.encode()
    while follow or not await reader.is_at(ends):
        for record in await reader.read(_READ_SECONDS):
            if (key is None or record.key == key) and (follow or record.offset < ends[_place(record)]):
                item = _item(record, order)
                if item is not None:
                    yield item


def _place(record: TopicRecord) -> Place:
    return Place(record.topic, record.partition)


def _item(record: TopicRecord, order: ThreadOrder) -> FeedItem | None:
    event = _event(record)
    if isinstance(event, Unreadable):
        return event
    match order.judge(event.thread_id, event.sequence, event.incarnation):
        case "next":
            return event
        case "old" | "held":
            return None
        case gap:
            return gap


def _event(record: TopicRecord) -> Event | Unreadable:
    try:
        document = loads(record.value or b"")
    except JsonError as error:
        return Unreadable(record.partition, record.offset, str(error))
    if not isinstance(document, dict):
        return Unreadable(record.partition, record.offset, "it is not a JSON object")
    thread_id, turn_id, kind = (document.get(name) for name in ("threadId", "turnId", "type"))
    sequence = document.get("sequence")
    if not (isinstance(thread_id, str) and isinstance(turn_id, str) and isinstance(kind, str)):
        return Unreadable(record.partition, record.offset, "it has no threadId, turnId or type")
    if type(sequence) is not int:
        return Unreadable(record.partition, record.offset, "it has no sequence")
    incarnation = record.header("ce_incarnation")
    return Event(thread_id, turn_id, kind, sequence, incarnation, record.value or b"", document)

"""Events: what a turn tells the outside, and the final bytes and headers that the relay copies (interface 2, design 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Literal

import msgpack

from intention_kernel.contracts.json_codec import JsonValue, dumps

EventCategory = Literal["trace", "audit", "integration"]
EVENT_VERSION = 1
MAX_EVENT_BYTES = 900_000
"""Below Kafka's default record limit with room for headers: a larger event fails the turn at commit, so that no record
that the broker refuses ever reaches the outbox (design 6)."""

_SECONDS_END = len("2026-01-01T00:00:00.000000")

_Header = tuple[str, bytes]

_SPECIFICATION: _Header = ("ce_specversion", b"1.0")
_CONTENT_TYPE: _Header = ("content-type", b"application/json")


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One event of one turn, redacted already. `sequence` is the thread's; None on a live trace."""

    id: str
    type: str
    category: EventCategory
    occurred_at: datetime
    thread_id: str
    turn_id: str
    agent_id: str
    correlation_id: str
    data: JsonValue
    step_id: str | None = None
    causation_id: str | None = None

    def to_json(self, *, sequence: int | None, attempt: int | None = None) -> dict[str, JsonValue]:
        """The envelope: with a `sequence` it is the durable event, with an `attempt` the live trace of it."""
        envelope: dict[str, JsonValue] = {
            "id": self.id,
            "type": self.type,
            "version": EVENT_VERSION,
            "occurredAt": rfc3339(self.occurred_at),
            "threadId": self.thread_id,
            "turnId": self.turn_id,
            "stepId": self.step_id,
            "sequence": sequence,
            "attempt": attempt,
            "correlationId": self.correlation_id,
            "causationId": self.causation_id,
            "category": self.category,
            "data": self.data,
        }
        optional = ("stepId", "sequence", "attempt", "causationId")
        return {name: member for name, member in envelope.items() if member is not None or name not in optional}


@dataclass(frozen=True, slots=True)
class WireRecord:
    """Final bytes for a topic: headers in order and the value. Nothing downstream encodes again."""

    headers: tuple[_Header, ...]
    value: bytes | None

    @property
    def size_bytes(self) -> int:
        """Of the value and of the headers, whose names are ASCII."""
        return len(self.value or b"") + sum(map(len, chain.from_iterable(self.headers)))


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """An event as bytes, but for its number: the envelope on both sides of it, and the headers that every feed has.

    A turn encodes an event once, and numbers it for the live trace and for each render (protocol R36). What happens to
    the event's data later changes nothing.
    """

    type: str
    headers: tuple[_Header, ...]
    before_number: bytes
    after_number: bytes

    def durable(self, sequence: int, incarnation: str) -> WireRecord:
        """The event of `turns.events` as CloudEvents binary mode; its value is `KernelEvent.to_json(sequence=…)`."""
        numbers = (("ce_sequence", b"%d" % sequence), ("ce_incarnation", incarnation.encode()))
        return WireRecord((*self.headers, *numbers, _CONTENT_TYPE), self._value(b"sequence", sequence))

    def trace(self, attempt: int) -> tuple[tuple[_Header, ...], bytes]:
        """Headers and value of the live mirror: the same id, an attempt instead of a sequence (interface 2)."""
        return (*self.headers, _CONTENT_TYPE), self._value(b"attempt", attempt)

    def _value(self, member: bytes, number: int) -> bytes:
        return b'{%b,"%b":%d,%b}' % (self.before_number, member, number, self.after_number)


class EventEncoder:
    """Makes the events of one turn into bytes; what they share is encoded once."""

    __slots__ = ("_correlation_id", "_source", "_subject", "_thread_id", "_turn_id")

    def __init__(self, thread_id: str, turn_id: str, agent_id: str, correlation_id: str) -> None:
        self._thread_id = thread_id
        self._turn_id = turn_id
        self._correlation_id = correlation_id
        self._source = ("ce_source", f"/agents/{agent_id}".encode())
        self._subject = ("ce_subject", thread_id.encode())

    def encode(
        self,
        event_id: str,
        event_type: str,
        category: EventCategory,
        occurred_at: datetime,
        data: JsonValue,
        step_id: str | None = None,
        causation_id: str | None = None,
    ) -> EncodedEvent:
        """Raises JsonError where `data` is not JSON, or would be nested too deep inside of the envelope."""
        time = rfc3339(occurred_at)
        before: dict[str, JsonValue] = {
            "id": event_id,
            "type": event_type,
            "version": EVENT_VERSION,
            "occurredAt": time,
            "threadId": self._thread_id,
            "turnId": self._turn_id,
        }
        if step_id is not None:
            before["stepId"] = step_id
        after: dict[str, JsonValue] = {"correlationId": self._correlation_id}
        if causation_id is not None:
            after["causationId"] = causation_id
        after["category"] = category
        after["data"] = data
        headers = (
            _SPECIFICATION,
            ("ce_id", event_id.encode()),
            ("ce_type", event_type.encode()),
            self._source,
            self._subject,
            ("ce_time", time.encode()),
        )
        return EncodedEvent(event_type, headers, dumps(before)[1:-1], dumps(after)[1:-1])


def encode_event(event: KernelEvent) -> EncodedEvent:
    """An event that is alone in its turn; see `EventEncoder.encode`."""
    encoder = EventEncoder(event.thread_id, event.turn_id, event.agent_id, event.correlation_id)
    return encoder.encode(
        event.id, event.type, event.category, event.occurred_at, event.data, event.step_id, event.causation_id
    )


def render_event(event: KernelEvent, sequence: int, incarnation: str) -> WireRecord:
    """The durable event; see `EncodedEvent.durable`."""
    return encode_event(event).durable(sequence, incarnation)


def pack_records(records: Sequence[WireRecord]) -> bytes:
    """A turn's records as one block of bytes, for one column."""
    packed: bytes = msgpack.packb([(record.headers, record.value) for record in records])
    return packed


def unpack_records(block: bytes) -> tuple[WireRecord, ...]:
    """What `pack_records` packed."""
    return tuple(WireRecord(headers, value) for headers, value in unpack_pairs(block))


def unpack_pairs(block: bytes) -> tuple[tuple[tuple[tuple[str, bytes], ...], bytes | None], ...]:
    """What `pack_records` packed, as headers and value: for the relay, which copies many and looks at none."""
    pairs: tuple[tuple[tuple[tuple[str, bytes], ...], bytes | None], ...] = msgpack.unpackb(block, use_list=False)
    return pairs


def rfc3339(at: datetime) -> str:
    """An aware UTC time, with microseconds and a Z."""
    return at.isoformat(timespec="microseconds")[:_SECONDS_END] + "Z"

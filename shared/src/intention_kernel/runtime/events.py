"""The events of one attempt: recorded for the commit, mirrored live, shown to sinks, always redacted first (design 6)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from intention_kernel.clock import Clock
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.event import (
    MAX_EVENT_BYTES,
    EventCategory,
    KernelEvent,
    WireRecord,
    pack_records,
    render_event,
    rfc3339,
)
from intention_kernel.contracts.json_codec import JsonValue, check, dumps
from intention_kernel.errors import TurnLimitError
from intention_kernel.ids import derived_id
from intention_kernel.ports.traces import Traces
from intention_kernel.ports.turn_body import PackedEvents

logger = logging.getLogger(__name__)

MAX_AUDIT_BYTES = 65_536
"""Larger audit data is cut to its digest: observation never makes a turn fail."""


class EventSink(Protocol):
    """Gets every event after redaction, while the turn runs. One that raises is counted and logged, nothing more."""

    async def emit(self, event: KernelEvent) -> None: ...


Redact = Callable[[JsonValue], JsonValue]


@dataclass(frozen=True, slots=True)
class Observers:
    """Who sees events beside the outbox, and what is taken out of them first."""

    traces: Traces
    sinks: Sequence[EventSink] = ()
    redact: Redact | None = None

    def redacted(self, data: JsonValue) -> JsonValue:
        """What may leave the process; raises what the application's function raises."""
        return data if self.redact is None else self.redact(data)


@dataclass(frozen=True, slots=True)
class EventIdentity:
    """Whose events they are; ids derive from thread, turn and ordinal, so that a retry makes the same ones (R17)."""

    thread_id: str
    turn_id: str
    agent_id: str
    correlation_id: str

    def event(self, ordinal: int, name: str, category: EventCategory, data: JsonValue, clock: Clock) -> KernelEvent:
        """The nth event of the turn; `data` is redacted already."""
        return KernelEvent(
            id=derived_id("event", self.thread_id, self.turn_id, str(ordinal)),
            type=name,
            category=category,
            occurred_at=clock.now(),
            thread_id=self.thread_id,
            turn_id=self.turn_id,
            agent_id=self.agent_id,
            correlation_id=self.correlation_id,
            data=data,
        )


class EventRecorder:
    """Records the events of one attempt in order."""

    def __init__(self, identity: EventIdentity, attempt: int, observers: Observers, clock: Clock) -> None:
        self._identity = identity
        self._attempt = attempt
        self._observers = observers
        self._clock = clock
        self._events: list[KernelEvent] = []

    async def emit(self, name: str, data: JsonValue, category: EventCategory = "trace") -> None:
        """Record one event. Raises JsonError where `data` is not JSON, and what `redact` raises."""
        check(data)
        shown = self._observers.redacted(data)
        if category == "audit":
            shown = _bounded(shown)
        event = self._identity.event(len(self._events), name, category, shown, self._clock)
        self._events.append(event)
        publish_trace(self._observers.traces, event, self._attempt)
        for sink in self._observers.sinks:
            await _show(sink, event)

    def render(self, first_sequence: int, incarnation: str) -> PackedEvents:
        """The recorded events as final bytes. Raises TurnLimitError for one that the broker would refuse."""
        return render_events(tuple(self._events), first_sequence, incarnation)


def render_events(events: tuple[KernelEvent, ...], first_sequence: int, incarnation: str) -> PackedEvents:
    """Events numbered from `first_sequence`, packed. Raises TurnLimitError for one that the broker would refuse."""
    records = tuple(
        render_event(event, sequence, incarnation) for sequence, event in enumerate(events, start=first_sequence)
    )
    for event, record in zip(events, records, strict=True):
        _check_size(event, record)
    return PackedEvents(pack_records(records), len(records))


def publish_trace(traces: Traces, event: KernelEvent, attempt: int) -> None:
    """Mirror an event live: the same id as the durable one, an attempt instead of a sequence (interface 2)."""
    headers = (
        ("ce_specversion", b"1.0"),
        ("ce_id", event.id.encode()),
        ("ce_type", event.type.encode()),
        ("ce_source", f"/agents/{event.agent_id}".encode()),
        ("ce_subject", event.thread_id.encode()),
        ("ce_time", rfc3339(event.occurred_at).encode()),
        ("content-type", b"application/json"),
    )
    traces.publish(event.thread_id, headers, dumps(event.to_json(sequence=None, attempt=attempt)))


async def _show(sink: EventSink, event: KernelEvent) -> None:
    try:
        await sink.emit(event)
    except Exception:
        logger.exception("event_sink.failed", extra={"thread_id": event.thread_id, "turn_id": event.turn_id})


def _bounded(data: JsonValue) -> JsonValue:
    size_bytes = len(dumps(data))
    if size_bytes <= MAX_AUDIT_BYTES:
        return data
    return {"digest": digest(data).hex(), "bytes": size_bytes}


def _check_size(event: KernelEvent, record: WireRecord) -> None:
    size_bytes = len(record.value or b"") + sum(len(name) + len(value) for name, value in record.headers)
    if size_bytes > MAX_EVENT_BYTES:
        raise TurnLimitError(f"event {event.type} has {size_bytes} bytes, the most is {MAX_EVENT_BYTES}")

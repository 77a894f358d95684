"""The events of one attempt: recorded for the commit, mirrored live, shown to sinks, always redacted first (design 6)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from intention_kernel.clock import Clock
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.event import (
    MAX_EVENT_BYTES,
    EncodedEvent,
    EventCategory,
    EventEncoder,
    KernelEvent,
    encode_event,
    pack_records,
)
from intention_kernel.contracts.json_codec import JsonValue, check, dumps, loads
from intention_kernel.errors import EffectClosedError, TurnLimitError
from intention_kernel.ids import DerivedIds
from intention_kernel.ports.traces import Traces
from intention_kernel.ports.turn_body import PackedEvents

logger = logging.getLogger(__name__)

MAX_AUDIT_BYTES = 65_536
"""Larger audit data is cut to its digest: observation never makes a turn fail."""


@dataclass(slots=True)
class SinkFailures:
    """How often an event sink of this process raised."""

    count: int = 0


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
    sink_failures: SinkFailures = field(default_factory=SinkFailures)

    def redacted(self, data: JsonValue) -> JsonValue:
        """What may leave the process. Raises JsonError before the application's function sees what is not JSON, and
        what that function raises."""
        if self.redact is None:
            return data
        check(data)
        return self.redact(data)


@dataclass(frozen=True, slots=True)
class EventIdentity:
    """Whose events they are; ids derive from thread, turn and ordinal, so that a retry makes the same ones (R17)."""

    thread_id: str
    turn_id: str
    agent_id: str
    correlation_id: str

    def ids(self) -> DerivedIds:
        """The id of an event is the one of its ordinal, in decimal."""
        return DerivedIds("event", self.thread_id, self.turn_id)

    def encoder(self) -> EventEncoder:
        """For many events of the turn."""
        return EventEncoder(self.thread_id, self.turn_id, self.agent_id, self.correlation_id)

    def event(self, ordinal: int, name: str, category: EventCategory, data: JsonValue, at: datetime) -> KernelEvent:
        """The nth event of the turn; `data` is redacted already."""
        return KernelEvent(
            id=self.ids().id(str(ordinal)),
            type=name,
            category=category,
            occurred_at=at,
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
        self._ids = identity.ids()
        self._encoder = identity.encoder()
        self._attempt = attempt
        self._observers = observers
        self._clock = clock
        self._events: list[EncodedEvent] = []
        self._closed = False

    async def emit(self, name: str, data: JsonValue, category: EventCategory = "trace") -> None:
        """Record one event as it is now; errors as `record`."""
        await self.record(name, data, category)

    async def record(
        self,
        name: str,
        data: JsonValue,
        category: EventCategory,
        *,
        step_id: str | None = None,
        causation_id: str | None = None,
        bounded: bool = False,
    ) -> str:
        """Record one event as it is now, and return its id. Audits, and what is `bounded`, are cut to a digest when large.

        Raises JsonError where `data` is not JSON, EffectClosedError after the last one, and what `redact` raises.
        """
        if self._closed:
            raise EffectClosedError("the turn is over")
        return await self._record(name, data, category, step_id, causation_id, bounded=bounded)

    async def emit_last(
        self, name: str, data: JsonValue, category: EventCategory, *, causation_id: str | None = None
    ) -> None:
        """The event that ends the turn: what a task that outlives its program emits must not come behind it."""
        self._closed = True
        await self._record(name, data, category, None, causation_id)

    async def _record(
        self,
        name: str,
        data: JsonValue,
        category: EventCategory,
        step_id: str | None,
        causation_id: str | None,
        *,
        bounded: bool = False,
    ) -> str:
        shown = self._observers.redacted(data)
        ordinal, at = len(self._events), self._clock.now()
        event_id = self._ids.id(str(ordinal))
        encoded = self._encoder.encode(event_id, name, category, at, shown, step_id, causation_id)
        # The envelope is larger than its data: only where it is near the bound the data is measured by itself.
        if (bounded or category == "audit") and len(encoded.after_number) > MAX_AUDIT_BYTES:
            shown = _bounded(shown)
            encoded = self._encoder.encode(event_id, name, category, at, shown, step_id, causation_id)
        self._events.append(encoded)
        _publish(self._observers.traces, self._identity.thread_id, encoded, self._attempt)
        if self._observers.sinks:
            # A copy: sinks may keep what they get, and the program goes on with its own.
            event = self._identity.event(ordinal, name, category, loads(dumps(shown)), at)
            event = replace(event, step_id=step_id, causation_id=causation_id)
            for sink in self._observers.sinks:
                await self._show(sink, event)
        return event_id

    async def _show(self, sink: EventSink, event: KernelEvent) -> None:
        try:
            await sink.emit(event)
        except Exception:
            self._observers.sink_failures.count += 1
            logger.exception("event_sink.failed", extra={"thread_id": event.thread_id, "turn_id": event.turn_id})

    def render(self, first_sequence: int, incarnation: str) -> PackedEvents:
        """The recorded events as final bytes. Raises TurnLimitError for one that the broker would refuse."""
        return _packed(self._events, first_sequence, incarnation)


def render_events(events: Sequence[KernelEvent], first_sequence: int, incarnation: str) -> PackedEvents:
    """Events numbered from `first_sequence`, packed. Raises TurnLimitError for one that the broker would refuse."""
    return _packed([encode_event(event) for event in events], first_sequence, incarnation)


def publish_trace(traces: Traces, event: KernelEvent, attempt: int) -> None:
    """Mirror an event live: the same id as the durable one, an attempt instead of a sequence (interface 2)."""
    _publish(traces, event.thread_id, encode_event(event), attempt)


def _packed(events: Sequence[EncodedEvent], first_sequence: int, incarnation: str) -> PackedEvents:
    records = [event.durable(sequence, incarnation) for sequence, event in enumerate(events, start=first_sequence)]
    for event, record in zip(events, records, strict=True):
        if record.size_bytes > MAX_EVENT_BYTES:
            raise TurnLimitError(f"event {event.type} has {record.size_bytes} bytes, the most is {MAX_EVENT_BYTES}")
    return PackedEvents(pack_records(records), len(records))


def _publish(traces: Traces, thread_id: str, event: EncodedEvent, attempt: int) -> None:
    headers, value = event.trace(attempt)
    traces.publish(thread_id, headers, value)


def _bounded(data: JsonValue) -> JsonValue:
    size_bytes = len(dumps(data))
    if size_bytes <= MAX_AUDIT_BYTES:
        return data
    return {"digest": digest(data).hex(), "bytes": size_bytes}

"""Events: what a turn tells the outside, and the final bytes and headers that the relay copies (interface 2, design 6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import msgpack

from intention_kernel.contracts.json_codec import JsonValue, dumps

EventCategory = Literal["trace", "audit", "integration"]
EVENT_VERSION = 1
MAX_EVENT_BYTES = 900_000
"""Below Kafka's default record limit with room for headers: a larger event fails the turn at commit, so that no record
that the broker refuses ever reaches the outbox (design 6)."""


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

    headers: tuple[tuple[str, bytes], ...]
    value: bytes | None


def render_event(event: KernelEvent, sequence: int, incarnation: str) -> WireRecord:
    """The durable event as CloudEvents binary mode."""
    headers = {
        "ce_specversion": "1.0",
        "ce_id": event.id,
        "ce_type": event.type,
        "ce_source": f"/agents/{event.agent_id}",
        "ce_subject": event.thread_id,
        "ce_time": rfc3339(event.occurred_at),
        "ce_sequence": str(sequence),
        "ce_incarnation": incarnation,
        "content-type": "application/json",
    }
    encoded = tuple((name, text.encode()) for name, text in headers.items())
    return WireRecord(encoded, dumps(event.to_json(sequence=sequence)))


def pack_records(records: tuple[WireRecord, ...]) -> bytes:
    """A turn's records as one block of bytes, for one column."""
    packed: bytes = msgpack.packb([[list(map(list, record.headers)), record.value] for record in records])
    return packed


def unpack_records(block: bytes) -> tuple[WireRecord, ...]:
    """What `pack_records` packed."""
    return tuple(WireRecord(headers, value) for headers, value in unpack_pairs(block))


def unpack_pairs(block: bytes) -> tuple[tuple[tuple[tuple[str, bytes], ...], bytes | None], ...]:
    """What `pack_records` packed, as headers and value: for the relay, which copies many and looks at none."""
    pairs: tuple[tuple[tuple[tuple[str, bytes], ...], bytes | None], ...] = msgpack.unpackb(block, use_list=False)
    return pairs


def rfc3339(at: datetime) -> str:
    """UTC with microseconds and a Z."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

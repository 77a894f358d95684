"""What a turn of the boundary benchmarks writes: bytes made before the clock starts, the same for both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from intention_kernel.contracts.event import KernelEvent, unpack_records
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.receipt import Summary
from intention_kernel.ids import derived_id
from intention_kernel.postgres.packing import pack
from intention_kernel.runtime.events import render_events

EVENTS = 18
EVENT_BYTES = 8192
CHECKPOINT_BYTES = 2048
JOURNAL_BYTES = 1200
VARIANTS = 64
"""Different payloads that turns take in turn: no page of the database sees the same bytes again and again."""

_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Payload:
    """One turn's bytes, as they are before a store packs them."""

    digest: bytes
    request: bytes
    checkpoint: bytes
    events: bytes
    result: bytes
    journal: bytes
    effect_payload: bytes
    effect_value: bytes
    summary: Summary

    def sizes(self) -> dict[str, JsonValue]:
        """Bytes as they are, and as both sides store them."""
        values = sum(len(record.value or b"") for record in unpack_records(self.events))
        return {
            "checkpoint": len(self.checkpoint),
            "checkpoint_stored": len(pack(self.checkpoint)),
            "events": values,
            "events_with_headers": len(self.events),
            "events_stored": len(pack(self.events)),
            "journal": len(self.journal),
        }


def payloads() -> tuple[Payload, ...]:
    """VARIANTS of them."""
    return tuple(_payload(_words(f"payload {number}"), number) for number in range(VARIANTS))


def _payload(words: Iterator[str], number: int) -> Payload:
    effect: JsonValue = {"sku": next(words), "quantity": 2, "note": next(words)}
    request: JsonValue = {"schemaVersion": 1, "input": {"text": _text(words, 120)}, "turnId": f"turn-{number}"}
    message: JsonValue = {"message": _text(words, 200), "status": "completed", "claims": [], "artifacts": []}
    return Payload(
        digest=hashlib.sha256(dumps(request)).digest(),
        request=dumps(request),
        checkpoint=_document(words, CHECKPOINT_BYTES),
        events=_events(words, number),
        result=dumps({"revision": number, "status": "completed", "response": message, "blockedOn": [], "facts": []}),
        journal=_document(words, JOURNAL_BYTES),
        effect_payload=dumps(effect),
        effect_value=dumps({"reservation": next(words), "left": 2}),
        summary=Summary(title="Reserve 2 pieces", provider="inventory"),
    )


def _events(words: Iterator[str], number: int) -> bytes:
    """The block that the turn path would write; the data's text is what fills the values up to EVENT_BYTES."""
    missing = (EVENT_BYTES - _value_bytes(_packed([""] * EVENTS, number))) // EVENTS
    return _packed([_text(words, missing) for _ in range(EVENTS)], number)


def _packed(texts: list[str], number: int) -> bytes:
    thread_id, turn_id = f"thread-{number:06}", f"turn-{number:06}"
    events = tuple(
        KernelEvent(
            id=derived_id("event", thread_id, turn_id, str(ordinal)),
            type="step.progressed",
            category="trace",
            occurred_at=_AT,
            thread_id=thread_id,
            turn_id=turn_id,
            agent_id="agent",
            correlation_id=turn_id,
            data={"step": ordinal, "text": text},
        )
        for ordinal, text in enumerate(texts)
    )
    return render_events(events, 1 + number * EVENTS, derived_id("incarnation")).block


def _value_bytes(block: bytes) -> int:
    return sum(len(record.value or b"") for record in unpack_records(block))


def _document(words: Iterator[str], size_bytes: int) -> bytes:
    """A JSON document of that size, of short messages."""
    messages: list[JsonValue] = []
    while len(dumps({"messages": messages})) < size_bytes - 60:
        messages.append({"role": "user", "text": _text(words, 80)})
    document = dumps({"messages": messages})
    return document + b" " * (size_bytes - len(document))


def _text(words: Iterator[str], size: int) -> str:
    text = ""
    while len(text) < size:
        text += f"{next(words)} "
    return text[:size]


def _words(seed: str) -> Iterator[str]:
    """Endless words of hex digits: no compressor gets below half of them."""
    block = seed.encode()
    while True:
        block = hashlib.sha256(block).digest()
        yield from (block[place : place + 4].hex() for place in range(0, len(block), 4))

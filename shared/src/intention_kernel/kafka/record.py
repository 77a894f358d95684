"""A record as it came from the broker; nothing in it is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ports.turn_store import Origin


@dataclass(frozen=True, slots=True)
class Record:
    """Key, value and header values are the producer's bytes, None where it sent none; header order is kept.

    Two are the consumer's: `alone`, this time it is handled while no other record is; `restored`, a database that is lost may
    have had it already (protocol R39).
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int
    size_bytes: int
    alone: bool = False
    restored: bool = False


def origin_of(record: Record) -> Origin:
    """Where it came from, with its bytes."""
    return Origin(
        record.topic, record.partition, record.offset, record.key, record.value, record.headers, record.timestamp_ms
    )

"""A record as it came from the broker; nothing in it is decoded."""

from __future__ import annotations

from dataclasses import dataclass


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

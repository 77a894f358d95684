"""What the consumer asks of a handler: one record in, a closed union of outcomes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from intention_kernel.kafka.record import Record


@dataclass(frozen=True, slots=True)
class Done:
    """The record's outcome is a committed row; only this lets its offset go (protocol R4)."""


@dataclass(frozen=True, slots=True)
class Again:
    """Begin again after `delay_seconds`; the lane waits without a permit. `reason` is a short code for the counters."""

    delay_seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class RunAlone:
    """Begin again while no other handler runs (protocol R6); that call's record has `alone` set."""


Outcome = Done | Again | RunAlone

Handler = Callable[[Record], Awaitable[Outcome]]
"""Called once at a time for a lane, concurrently between lanes.

InfrastructureError from it means that the database or the broker is away: polling stops until a handler answers
again. Any other exception is a bug in the handler: it is logged and the record is begun again. No record is skipped.
"""

LaneOf = Callable[[Record], Hashable]
"""Records of one lane are handled in delivery order, one at a time."""


def lane_of(record: Record) -> Hashable:
    """The lane of the key's bytes; a record without a key goes through a lane of its partition."""
    return record.key if record.key is not None else (record.topic, record.partition)

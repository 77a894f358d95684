"""Stored events as a trace reads them: whatever is in one, reading it never fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from intention_kernel.contracts.json_codec import JsonValue

Members = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Told:
    """One event. `data` are its members, none where it is no object; `content` is it as it is stored."""

    id: str | None
    type: str
    sequence: int | None
    at: datetime | None
    step_id: str | None
    caused_by: str | None
    data: Members
    content: JsonValue


def told(events: Sequence[JsonValue]) -> tuple[Told, ...]:
    """Events in their order."""
    return tuple(_told(members(event)) for event in events)


def members(value: JsonValue) -> Members:
    """An object's members; none of anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: JsonValue) -> list[JsonValue]:
    """A list's values; none of anything else."""
    return value if isinstance(value, list) else []


def text(value: JsonValue) -> str | None:
    """A text; None of anything else."""
    return value if isinstance(value, str) else None


def milliseconds(start: datetime | None, end: datetime | None) -> float | None:
    """From one to the other, never less than 0; None where one is not known."""
    if start is None or end is None:
        return None
    return max(0.0, round((end - start) / timedelta(milliseconds=1), 3))


def _told(event: Members) -> Told:
    sequence = event.get("sequence")
    return Told(
        id=text(event.get("id")),
        type=text(event.get("type")) or "unknown",
        sequence=sequence if isinstance(sequence, int) and not isinstance(sequence, bool) else None,
        at=_time(event.get("occurredAt")),
        step_id=text(event.get("stepId")),
        caused_by=text(event.get("causationId")),
        data=members(event.get("data")),
        content=event.get("data"),
    )


def _time(value: JsonValue) -> datetime | None:
    try:
        at = datetime.fromisoformat(text(value) or "")
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

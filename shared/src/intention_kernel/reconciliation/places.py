"""Pure: times in cursors, which callers may have written themselves."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str) -> datetime | None:
    """The time in UTC; None for what is none, says no zone, or is none in UTC, which has neither a year 0 nor a year 10000."""
    try:
        at = datetime.fromisoformat(text)
        return None if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

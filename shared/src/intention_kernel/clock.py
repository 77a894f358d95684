"""Time as a port: wall time for records, monotonic time for deadlines. Nothing else in this library reads a clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time may jump; monotonic time never goes back. Both are seconds apart at the same rate."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def monotonic_seconds(self) -> float:
        """For deadlines and ages inside one process; means nothing outside it."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_seconds(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to; both times move together."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._monotonic_seconds = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic_seconds(self) -> float:
        return self._monotonic_seconds

    def advance(self, seconds: float) -> None:
        """Move both times forward."""
        self._now = datetime.fromtimestamp(self._now.timestamp() + seconds, UTC)
        self._monotonic_seconds += seconds

"""Is the consumer still consuming? Some of the driver's failures show in nothing but polls that never return."""

from __future__ import annotations

from intention_kernel.clock import Clock


class Watchdog:
    """Polls are noted; a membership that wants to rejoin while none returns for `stuck_seconds` is stuck.

    A broker that is merely away leaves polls returning empty, and is no reason to restart the process.
    """

    def __init__(self, clock: Clock, stuck_seconds: float) -> None:
        self._clock = clock
        self._stuck_seconds = stuck_seconds
        self._last_poll = clock.monotonic_seconds()

    def polled(self) -> None:
        """A poll returned."""
        self._last_poll = self._clock.monotonic_seconds()

    @property
    def last_poll_age_seconds(self) -> float:
        """Seconds since a poll returned (or since the start)."""
        return self._clock.monotonic_seconds() - self._last_poll

    def stuck(self, *, rejoin_wanted: bool) -> bool:
        """Whether only a new process will consume again."""
        return rejoin_wanted and self.last_poll_age_seconds > self._stuck_seconds

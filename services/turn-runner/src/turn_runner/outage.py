"""Database or broker away: one attempt per backoff step asks whether they are back; everything else waits."""

from __future__ import annotations

from intention_kernel.ids import jittered_seconds

from turn_runner.limits import ConsumerLimits


class Outage:
    """Times are monotonic seconds. Not away until a handler says so, and again as soon as one answers."""

    def __init__(self, limits: ConsumerLimits) -> None:
        self._limits = limits
        self._steps = 0
        self.next_start = 0.0

    @property
    def away(self) -> bool:
        """No polling, and one start per step."""
        return self._steps > 0

    def failed(self, now: float) -> None:
        """A handler met an outage. Those that were in flight together count as one step."""
        if not self.away or now >= self.next_start:
            self._steps += 1
            self.next_start = now + self._pause()

    def started(self, now: float) -> None:
        """An attempt was started; the next one has to wait its step, however long this one takes."""
        if self.away:
            self.next_start = now + self._pause()

    def answered(self) -> None:
        """A handler got an answer: all goes on."""
        self._steps = 0

    def may_start(self, now: float) -> bool:
        """Whether an attempt may be started now."""
        return not self.away or now >= self.next_start

    def _pause(self) -> float:
        return jittered_seconds(self._limits.backoff(self._steps))

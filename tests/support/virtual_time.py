"""Processes in virtual time: each has an event loop of its own that waits for nothing, over one clock that a test moves.

The code under test runs as it is, with its tasks, timeouts and timers; a second of it costs nothing. A process that is paused
(SIGSTOP) is a loop that is not run, one that is killed is a loop that never runs again.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from unittest.mock import patch

from intention_kernel import ids
from intention_kernel.clock import ManualClock

START = datetime(2026, 1, 1, tzinfo=UTC)


class _Idle(selectors.SelectSelector):
    """Reports when there is nothing to do at this moment, instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.next_timer_seconds: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self.next_timer_seconds = timeout
            assert self.loop is not None
            self.loop.stop()
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is the clock's; it runs when told to and never sleeps."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._idle = _Idle()
        super().__init__(self._idle)
        self._idle.loop = self
        self.paused = False

    def time(self) -> float:
        """The clock's."""
        return self._clock.monotonic_seconds()

    def settle(self) -> float | None:
        """Run all that can run now; when the next timer is due, None without one."""
        self.run_forever()
        left = self._idle.next_timer_seconds
        return None if left is None else self.time() + left

    def kill(self) -> None:
        """Nothing of it runs again, except that its coroutines are unwound: who uses it makes that unseen."""
        self.set_exception_handler(lambda _loop, _context: None)
        for _ in range(5):
            tasks = asyncio.all_tasks(self)
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            self.run_forever()
        self.close()


class VirtualTime:
    """One clock, and the loops that live on it, until it is closed.

    Meanwhile the jitter of waits is the same in every run, so that what a machine finds is found again.
    """

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.loops: list[VirtualLoop] = []
        self._steady_jitter = patch.object(ids, "_jitter", random.Random(7))
        self._steady_jitter.start()

    def loop(self) -> VirtualLoop:
        """Another process."""
        loop = VirtualLoop(self.clock)
        self.loops.append(loop)
        return loop

    def kill(self, loop: VirtualLoop) -> None:
        """That process is gone."""
        self.loops.remove(loop)
        loop.kill()

    def settle(self) -> None:
        """Run every process that is not paused until all of them wait for time or for the test."""
        self.advance(0.0)

    def advance(self, seconds: float) -> None:
        """So much time passes, from timer to timer."""
        end = self.clock.monotonic_seconds() + seconds
        while True:
            due = _settle_all([loop for loop in self.loops if not loop.paused])
            now = self.clock.monotonic_seconds()
            step = min([when for when in due if when > now], default=end)
            if now >= end:
                return
            self.clock.advance(min(step, end) - now)

    def run(self, loop: VirtualLoop, work: Coroutine[object, object, object], seconds: float) -> None:
        """Until it is done, with every process alive meanwhile; raises what it raises, and where it takes longer."""
        task = loop.create_task(work)
        for _ in range(1 + int(seconds / 0.05)):
            self.settle()
            if task.done():
                task.result()
                return
            self.advance(0.05)
        raise AssertionError(f"not done after {seconds} s")

    def close(self) -> None:
        """All of them end."""
        for loop in list(self.loops):
            self.kill(loop)
        self._steady_jitter.stop()


def _settle_all(loops: Sequence[VirtualLoop]) -> list[float]:
    # Twice: what one process does may be what another waits for at the same moment.
    for loop in loops:
        loop.settle()
    return [when for loop in loops if (when := loop.settle()) is not None]

"""Calls the handler for what the lanes allow, and turns its outcome into the lanes' next state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import jittered_seconds

from turn_runner.lanes import Item, Lanes
from turn_runner.limits import ConsumerCounters, ConsumerLimits
from turn_runner.offsets import Epoch
from turn_runner.outage import Outage
from turn_runner.outcomes import Again, Done, Handler, Outcome, RunAlone

_logger = logging.getLogger(__name__)


class Dispatcher:
    """Starts handlers, never cancels one before `stop`. `settled` is called after each outcome, on the loop."""

    def __init__(
        self,
        handler: Handler,
        limits: ConsumerLimits,
        counters: ConsumerCounters,
        clock: Clock,
        settled: Callable[[], None],
    ) -> None:
        self._handler = handler
        self._limits = limits
        self._counters = counters
        self._clock = clock
        self._settled = settled
        self._tasks: dict[Item, asyncio.Task[None]] = {}
        self._probe: asyncio.TimerHandle | None = None
        self._stopped = False
        self._outage = Outage(limits)
        self.lanes = Lanes(limits.in_flight)

    @property
    def away(self) -> bool:
        """A handler reported the database or the broker away, and none has got an answer since."""
        return self._outage.away

    def submit(self, items: Iterable[Item]) -> None:
        """Put delivered records into their lanes and start what may start."""
        for item in items:
            self.lanes.add(item)
        self._pump()

    def drop(self, epochs: Collection[Epoch]) -> None:
        """Forget what is not running of these epochs."""
        self._counters.dropped += self.lanes.drop(epochs)
        self._pump()

    async def drain(self, epochs: Collection[Epoch], seconds: float) -> None:
        """Wait until no handler of these epochs runs, or for `seconds`; those that still run go on."""
        running = [task for item, task in self._tasks.items() if item.epoch in epochs]
        if running:
            await asyncio.wait(running, timeout=seconds)

    async def stop(self, grace_seconds: float, unwind_seconds: float) -> None:
        """Start nothing more, wait for running handlers, cancel those left and give them a moment to unwind.

        A cancelled handler's record stays unfinished and is delivered again (the fence makes that safe).
        """
        self._stopped = True
        if self._probe is not None:
            self._probe.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=grace_seconds)
        left = list(self._tasks.values())
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=unwind_seconds)

    def _pump(self) -> None:
        while not self._stopped:
            now = self._clock.monotonic_seconds()
            if not self._outage.may_start(now):
                self._pump_later(self._outage.next_start - now)
                return
            taken = self.lanes.take()
            if taken is None:
                return
            self._outage.started(now)
            item, alone = taken
            self._tasks[item] = asyncio.create_task(self._attempt(item, alone=alone))

    def _pump_later(self, seconds: float) -> None:
        if self._probe is None:
            self._probe = asyncio.get_running_loop().call_later(seconds, self._pump_now)

    def _pump_now(self) -> None:
        self._probe = None
        self._pump()

    async def _attempt(self, item: Item, *, alone: bool) -> None:
        try:
            outcome = await self._call(item, alone=alone)
        except asyncio.CancelledError:
            if self._stopped:
                self.lanes.wait(item)
                raise
            outcome = self._failed(item, "cancelled")
            _logger.exception("the handler of %s was cancelled from inside", _name(item))
        finally:
            del self._tasks[item]
        self._settle(item, outcome)
        self._settled()
        self._pump()

    async def _call(self, item: Item, *, alone: bool) -> Outcome:
        try:
            outcome = await self._handler(replace(item.record, alone=True) if alone else item.record)
        except InfrastructureError as error:
            self._counters.infrastructure_errors += 1
            self._outage.failed(self._clock.monotonic_seconds())
            _logger.warning("database or broker away at %s: %s", _name(item), error)
            return self._failed(item, "away")
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            self._counters.handler_errors += 1
            _logger.exception("the handler of %s failed", _name(item))
            return self._failed(item, "error")
        item.failures = 0
        self._outage.answered()
        return outcome

    def _failed(self, item: Item, reason: str) -> Again:
        item.failures += 1
        return Again(jittered_seconds(self._limits.backoff(item.failures)), reason)

    def _settle(self, item: Item, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self._finish(item)
        elif not item.epoch.accepts:
            # The partition went away meanwhile: whoever has it now begins again.
            self._counters.dropped += 1
            self.lanes.finish(item)
        elif isinstance(outcome, RunAlone):
            self._counters.run_alone += 1
            self.lanes.alone(item)
        else:
            self._counters.again[outcome.reason] += 1
            self.lanes.wait(item)
            asyncio.get_running_loop().call_later(max(0.0, outcome.delay_seconds), self._wake, item)

    def _finish(self, item: Item) -> None:
        if item.epoch.finish(item.delivered):
            self._counters.finished += 1
        else:
            self._counters.stale += 1
        self.lanes.finish(item)

    def _wake(self, item: Item) -> None:
        self.lanes.wake(item)
        self._pump()


def _name(item: Item) -> str:
    record = item.record
    return f"{record.topic}-{record.partition}@{record.offset}"

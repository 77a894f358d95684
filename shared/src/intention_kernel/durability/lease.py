"""A lease as its holder sees it, and its renewal while a turn runs (protocol R12, R19)."""

from __future__ import annotations

import asyncio

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.ports.turn_store import TurnStore


class Lease:
    """Permission to start things, until a local deadline that was taken before the store was asked.

    The local deadline is never later than the store's. A lease that was lost or ran out never comes back (R3).
    """

    def __init__(self, clock: Clock, asked_at_seconds: float, seconds: float) -> None:
        self._clock = clock
        self._until_seconds = asked_at_seconds + seconds
        self._lost = False

    def extend(self, asked_at_seconds: float, seconds: float) -> None:
        """The store renewed it: an answer that comes late says less."""
        self._until_seconds = max(self._until_seconds, asked_at_seconds + seconds)

    def lose(self) -> None:
        """The store said that it is not ours any more."""
        self._lost = True

    def allows(self, margin_seconds: float) -> bool:
        """Whether something that takes `margin_seconds` to start may be started."""
        return not self._lost and self._clock.monotonic_seconds() + margin_seconds < self._until_seconds


class LeaseKeeper:
    """Renews one turn's lease at each third of it, never beyond `end_seconds` on the monotonic clock (R12).

    Costs a timer, and a task only while a renewal is under way. It decides nothing: a lost lease only stops new effects.
    """

    def __init__(
        self,
        store: TurnStore,
        clock: Clock,
        lease: Lease,
        thread_id: str,
        fence: int,
        seconds: float,
        end_seconds: float,
    ) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._thread_id = thread_id
        self._fence = fence
        self._seconds = seconds
        self._end_seconds = end_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._renewal: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Wait for the next third."""
        self._timer = asyncio.get_running_loop().call_later(self._seconds / 3, self._spawn)

    def stop(self) -> None:
        """No further renewal; one that is under way ends by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _spawn(self) -> None:
        self._renewal = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        asked_at = self._clock.monotonic_seconds()
        seconds = min(self._seconds, self._end_seconds - asked_at)
        if seconds <= 0:
            return
        try:
            alive = await self._store.renew(self._thread_id, self._fence, seconds)
        except InfrastructureError:
            alive = None  # unknown: the local deadline goes on counting
        if alive is False:
            self._lease.lose()
            return
        if alive:
            self._lease.extend(asked_at, seconds)
        if self._timer is not None:
            self.start()

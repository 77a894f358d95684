"""The two loops of a reconciler: finding and following up, and looking at providers; a slow provider delays neither."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import jittered_seconds
from intention_kernel.lifecycle import set_or_after
from intention_kernel.ports.receipt_ledger import OpenReceipt
from intention_kernel.reconciliation.reconciler import AT_ONCE, Reconciler

from receipt_reconciler.metrics import BECAME_UNCERTAIN, CONTINUATIONS, FAILURES, ITEMS_OPENED, LOOKS

logger = logging.getLogger(__name__)


class Rounds:
    """Runs until `stop` is set. Whatever a round raises, the next one comes: the database says what is to be done."""

    def __init__(self, reconciler: Reconciler, clock: Clock, most_seconds: float) -> None:
        """`most_seconds` is the longest pause between two rounds."""
        self._reconciler = reconciler
        self._clock = clock
        self._most_seconds = most_seconds
        self._last_round_seconds = clock.monotonic_seconds()
        self._found = asyncio.Event()
        self._working: set[asyncio.Task[None]] = set()
        self.away: str | None = None
        """Why the database cannot be asked, None while it can."""

    @property
    def silent_seconds(self) -> float:
        """How long ago the last round ended, whatever its outcome."""
        return self._clock.monotonic_seconds() - self._last_round_seconds

    async def run(self, stop: asyncio.Event, grace_seconds: float) -> None:
        """Returns after `stop`, when the looks under way are over or `grace_seconds` have passed."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._find(stop))
            group.create_task(self._look(stop))
        if self._working:
            _, late = await asyncio.wait(self._working, timeout=grace_seconds)
            for task in late:
                task.cancel()

    async def _find(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._guarded("find", self._find_once)
            self._last_round_seconds = self._clock.monotonic_seconds()
            await set_or_after(stop, self._pause())

    async def _find_once(self) -> None:
        scanned = await self._reconciler.scan()
        BECAME_UNCERTAIN.inc(scanned.uncertain)
        ITEMS_OPENED.inc(scanned.opened)
        if scanned.opened:
            self._found.set()
        cared = await self._reconciler.care()
        CONTINUATIONS.labels("done").inc(cared.done)
        CONTINUATIONS.labels("reissued").inc(cared.reissued)
        CONTINUATIONS.labels("republished").inc(cared.republished)
        CONTINUATIONS.labels("failed").inc(cared.failed)

    async def _look(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._found.clear()
            await self._guarded("claim", self._claim)
            await self._until_there_is_room(stop)

    async def _claim(self) -> None:
        room = AT_ONCE - len(self._working)
        if room:
            for due in await self._reconciler.claim(room):
                task = asyncio.get_running_loop().create_task(self._guarded("look", partial(self._work, due)))
                self._working.add(task)
                task.add_done_callback(self._working.discard)

    async def _work(self, due: OpenReceipt) -> None:
        LOOKS.labels(await self._reconciler.work(due)).inc()

    async def _until_there_is_room(self, stop: asyncio.Event) -> None:
        """Until a look is over, an item was opened, or it is time anyway."""
        waits = {asyncio.ensure_future(event.wait()) for event in (stop, self._found)}
        await asyncio.wait({*waits, *self._working}, timeout=self._pause(), return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _guarded(self, what: str, round_: Callable[[], Awaitable[None]]) -> None:
        try:
            await round_()
        except InfrastructureError as error:
            FAILURES.labels(what).inc()
            if self.away is None:
                logger.warning("%s", error)
            self.away = str(error)
        except Exception:
            FAILURES.labels(what).inc()
            logger.exception("a round failed (%s); the next one comes", what)
        else:
            self.away = None

    def _pause(self) -> float:
        """At most `most_seconds`, and not in step with other reconcilers."""
        return jittered_seconds(self._most_seconds * 2 / 3)

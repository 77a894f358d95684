"""The relay's loop: one query for all pipes that are free, then each pipe on its own way."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds
from intention_kernel.lifecycle import set_or_after
from intention_kernel.ports.outbox import Outbox, OutboxRow
from intention_kernel.ports.publisher import Publisher

from outbox_relay import metrics
from outbox_relay.pipe import HeldStreams, Pipe
from outbox_relay.shards import Shards

_log = logging.getLogger(__name__)

ROWS_PER_SHARD = 4
"""How far a zombie could run ahead, and how much of a backlog goes out at once."""

CHUNK_BYTES = 16 * 1024 * 1024
PIPES = 2
POLL_SECONDS = 1.0
_BACKOFF_SECONDS = 0.2
_LONGEST_BACKOFF_SECONDS = 5.0


@dataclass(slots=True)
class _Lane:
    pipe: Pipe
    wanted: bool = True  # there may be rows that were not looked for
    busy: bool = False
    failures: int = 0


class Relay:
    """Publishes what is in the outbox of its shards until it is stopped (protocol R35, R37).

    A shard's next rows are fetched only when its last ones are answered for and deleted.
    """

    def __init__(self, outbox: Outbox, publisher: Publisher, shards: Shards, clock: Clock) -> None:
        self._outbox = outbox
        self._shards = shards
        self._held = HeldStreams(clock)
        self._lanes = [_Lane(Pipe(outbox, publisher, shards, self._held, clock)) for _ in range(PIPES)]
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures = 0

    def wake(self) -> None:
        """There may be something to relay. Cheap, and calls that come close together are one."""
        for lane in self._lanes:
            lane.wanted = True
        self._changed.set()

    def stop(self) -> None:
        """Fetch nothing more; `run` returns when what is in hand is done."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Returns after `stop`. What it raises is a bug."""
        async with asyncio.TaskGroup() as pipes:
            while not self._stopping.is_set():
                self._changed.clear()
                free = [lane for lane in self._lanes if lane.wanted and not lane.busy]
                if free:
                    await self._fetch(free, pipes)
                else:
                    await self._wait()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            self.wake()

    async def _fetch(self, lanes: Sequence[_Lane], pipes: asyncio.TaskGroup) -> None:
        for lane in lanes:
            lane.wanted = False
        places = {self._lanes.index(lane) for lane in lanes}
        numbers = [number for number in self._shards.usable() if number % PIPES in places]
        if not numbers:
            return
        self._shards.use(numbers)
        try:
            rows = await self._outbox.fetch(
                numbers, rows_per_shard=ROWS_PER_SHARD, max_bytes=CHUNK_BYTES, held=self._held.now()
            )
        except InfrastructureError as error:
            self._shards.leave(numbers)
            await self._fetch_failed(lanes, error)
            return
        self._failures = 0
        chunks: defaultdict[int, list[OutboxRow]] = defaultdict(list)
        for row in rows:
            chunks[row.shard % PIPES].append(row)
        await self._leave(set(numbers) - {row.shard for row in rows})
        if sum(row.size_bytes for row in rows) >= CHUNK_BYTES:
            # The bytes ran out before the rows did: who got nothing looks again.
            for lane in lanes:
                lane.wanted = True
        for place, chunk in chunks.items():
            self._lanes[place].busy = True
            pipes.create_task(self._relay(self._lanes[place], chunk))

    async def _relay(self, lane: _Lane, rows: Sequence[OutboxRow]) -> None:
        try:
            await failpoint("relay.after_fetch")
            moved = await lane.pipe.relay(rows)
        except InfrastructureError as error:
            metrics.FAILURES.labels("relay").inc()
            _log.warning("%s", error)
            moved = False
        await self._leave({row.shard for row in rows})
        lane.failures = 0 if moved else lane.failures + 1
        if not moved:
            await self._pause(lane.failures)
        lane.busy = False
        lane.wanted = True
        self._changed.set()

    async def _leave(self, numbers: Set[int]) -> None:
        self._shards.leave(numbers)
        try:
            await self._shards.give_back()
        except InfrastructureError as error:
            # They are no longer used; the lease runs out by itself.
            _log.warning("%s", error)

    async def _fetch_failed(self, lanes: Sequence[_Lane], error: InfrastructureError) -> None:
        metrics.FAILURES.labels("fetch").inc()
        if not self._failures:
            _log.warning("%s", error)
        self._failures += 1
        for lane in lanes:
            lane.wanted = True
        await self._pause(self._failures)

    async def _pause(self, failures: int) -> None:
        seconds = min(_BACKOFF_SECONDS * 2 ** min(failures - 1, 10), _LONGEST_BACKOFF_SECONDS)
        await set_or_after(self._stopping, jittered_seconds(seconds))

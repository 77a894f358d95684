"""The database's own word on how far the partitions are done, against the group's (protocol R39).

Offsets are in Kafka, what they stand for is in the database. Where the group is further than the database says, the
database is an older one: records that nobody would read again have lost their outcome. A database is older as a whole:
in the other partitions, too, it may have lost turns that committed and whose offset the group was not yet told of.

What an assignment finds stays true until the next one. Runners of this database store an offset before the group has it,
and an offset commit of an earlier membership is refused: only a process that still works against the lost database as a
member of the same generation could show it later, and a restore begins by stopping them all (docs/recovery.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import jittered_seconds
from intention_kernel.ports.partition_progress import Progress, ProgressStore

from turn_runner.limits import ConsumerLimits
from turn_runner.offsets import Epoch

_logger = logging.getLogger(__name__)

_RECOVER = "stop every process, then run `intention recover`"


class GroupOffsets(Protocol):
    """What the group has committed. Both calls raise InfrastructureError."""

    async def committed(self) -> dict[int, int]:
        """Of each partition of the topic, whoever has it."""
        ...

    async def commit(self, offsets: Mapping[int, int]) -> bool: ...


def refusal(topic: str, group_offsets: Mapping[int, int], progress: Progress) -> str | None:
    """Why nothing of the topic may run; None where the database knows of everything that the group has passed.

    One partition is enough. A group that has committed nothing, or less than the database knows of, reads records again
    that are done: replays.
    """
    if progress.recovering:
        return f"{topic}: a recovery of this database is not finished: {_RECOVER}"
    ahead = sorted(one for one, offset in group_offsets.items() if offset > progress.of(one).done_offset)
    if not ahead:
        return None
    first, more = ahead[0], f", as {len(ahead) - 1} more partitions show" if len(ahead) > 1 else ""
    return (
        f"{topic}-{first}: the database is older than Kafka: the group has passed offset {group_offsets[first]} and the "
        f"database knows of {progress.of(first).done_offset}, so that it was restored or lost what it had{more}. "
        f"No partition runs: {_RECOVER}"
    )


class RecordedOffsets:
    """Commits offsets: to the database first, then to the group. One statement, however many partitions moved."""

    def __init__(self, store: ProgressStore, group: GroupOffsets, topic: str) -> None:
        self._store = store
        self._group = group
        self._topic = topic

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """As OffsetStore. What is stored and then refused by the group is true all the same: those records are done."""
        await self._store.store_progress(self._topic, offsets)
        return await self._group.commit(offsets)


class Admission:
    """Compares both, for the whole topic, before anything of an assignment is taken. `decided` is called once it has; it
    never waits for ever while the epochs live, and gives up on those that ended."""

    def __init__(
        self,
        store: ProgressStore,
        group: GroupOffsets,
        topic: str,
        limits: ConsumerLimits,
        decided: Callable[[], None],
    ) -> None:
        self._store = store
        self._group = group
        self._topic = topic
        self._limits = limits
        self._decided = decided
        self._deciding: set[asyncio.Task[None]] = set()

    def begin(self, epochs: Collection[Epoch]) -> None:
        """Nothing of these epochs is accepted until both have answered."""
        if epochs:
            task = asyncio.create_task(self._decide(tuple(epochs)))
            self._deciding.add(task)
            task.add_done_callback(self._deciding.discard)

    async def stop(self) -> None:
        """Decide nothing more."""
        for task in tuple(self._deciding):
            task.cancel()
        if self._deciding:
            await asyncio.wait(self._deciding)

    async def _decide(self, epochs: tuple[Epoch, ...]) -> None:
        failures = 0
        while not all(epoch.ended for epoch in epochs):
            try:
                await self._ask(epochs)
                self._decided()
                return
            except InfrastructureError as error:
                _logger.warning("partitions wait for the database's word on them: %s", error)
            except Exception:
                _logger.exception("partitions wait for the database's word on them")
            failures += 1
            await asyncio.sleep(jittered_seconds(self._limits.backoff(failures)))

    async def _ask(self, epochs: tuple[Epoch, ...]) -> None:
        # The group first: whoever had a partition before may still commit, and tells the database before the group.
        offsets = await self._group.committed()
        partitions = sorted({*offsets, *(epoch.partition for epoch in epochs)})
        progress = await self._store.progress(self._topic, partitions)
        reason = refusal(self._topic, offsets, progress)
        for epoch in epochs:
            epoch.admit(progress.of(epoch.partition).restore_until, reason)
        if reason is not None:
            _logger.error("partition.refused: %s", reason)

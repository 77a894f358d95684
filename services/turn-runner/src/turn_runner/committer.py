"""Commits each partition's finished prefix: every so often, and once more before a partition is given up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds

from turn_runner.limits import ConsumerCounters, ConsumerLimits
from turn_runner.offsets import Epoch

_logger = logging.getLogger(__name__)


class OffsetStore(Protocol):
    """Where offsets go: the group."""

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """False: no longer ours. Raises InfrastructureError when the outcome is unknown."""
        ...


class Committer:
    """The only one that commits; commits never overlap. `refused` hears of epochs that turned out not to be ours."""

    def __init__(
        self,
        store: OffsetStore,
        limits: ConsumerLimits,
        counters: ConsumerCounters,
        refused: Callable[[Collection[Epoch]], None],
    ) -> None:
        self._store = store
        self._limits = limits
        self._counters = counters
        self._refused = refused
        self._committing = asyncio.Lock()
        self._committed: dict[Epoch, int] = {}
        self._due = asyncio.Event()
        self._completions = 0

    def completed(self) -> None:
        """A handler has settled; enough of them bring the next commit forward."""
        self._completions += 1
        if self._completions >= self._limits.commit_completions:
            self._due.set()

    def forget(self, epochs: Collection[Epoch]) -> None:
        """These epochs are over."""
        for epoch in epochs:
            self._committed.pop(epoch, None)

    async def run(self, epochs: Callable[[], Collection[Epoch]]) -> None:
        """Commit for ever, with backoff while the group does not answer."""
        failures = 0
        while True:
            await self._await_due(self._pause(failures), early=not failures)
            try:
                await self.commit(epochs())
                failures = 0
            except InfrastructureError as error:
                failures += 1
                _logger.warning("%s", error)

    async def commit(self, epochs: Collection[Epoch]) -> None:
        """Commit what moved since the last time. Raises InfrastructureError; what failed is tried the next time."""
        async with self._committing:
            offsets = {epoch: offset for epoch in epochs if (offset := self._moved(epoch)) is not None}
            if not offsets:
                return
            await failpoint("runner.before_offset_commit")
            await self._commit(offsets)
            await failpoint("runner.after_offset_commit")

    async def _commit(self, offsets: Mapping[Epoch, int]) -> None:
        try:
            ours = await self._store.commit({epoch.partition: offset for epoch, offset in offsets.items()})
        except InfrastructureError:
            self._counters.commit_failures += 1
            raise
        if ours:
            self._counters.commits += 1
            self._committed.update(offsets)
        else:
            self._counters.commits_refused += 1
            self._refused(tuple(offsets))

    def _moved(self, epoch: Epoch) -> int | None:
        offset = epoch.committable()
        return offset if offset != self._committed.get(epoch) else None

    def _pause(self, failures: int) -> float:
        return jittered_seconds(self._limits.backoff(failures)) if failures else self._limits.commit_seconds

    async def _await_due(self, seconds: float, *, early: bool) -> None:
        try:
            async with asyncio.timeout(seconds):
                await (self._due if early else asyncio.Event()).wait()
        except TimeoutError:
            pass
        self._due.clear()
        self._completions = 0

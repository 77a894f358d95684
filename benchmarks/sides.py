"""Two ways to make the same turn durable, and a round of either: N threads, each with one turn after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Protocol

AGENT, TENANT, FINGERPRINT, EFFECT = "agent", "tenant", "build-1", "inventory.reserve"
REQUESTED_AT_MS = 1_767_225_600_000
LEASE_SECONDS, CALL_SECONDS = 15.0, 30.0


class Side(Protocol):
    """Runs the four boundaries of a turn; there is no program in between."""

    async def turn(self, thread_id: str, number: int) -> None:
        """Returns once the turn is durable; raises where anything is not as it should be."""
        ...


@dataclass(frozen=True, slots=True)
class Round:
    """What one side did in a round; `cpu_seconds` is the client's."""

    turns: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds

    @property
    def cpu_microseconds(self) -> float:
        """Client CPU per turn."""
        return self.cpu_seconds / self.turns * 1e6


class Threads:
    """Counts each thread's turns on over rounds, so that no turn id comes twice."""

    def __init__(self, side: Side, thread_ids: Sequence[str]) -> None:
        self._side = side
        self._numbers = dict.fromkeys(thread_ids, 0)

    async def round(self, seconds: float) -> Round:
        """Every thread makes turns until `seconds` are over, and ends the one that it is in."""
        before = sum(self._numbers.values())
        start, start_cpu = perf_counter(), process_time()
        async with asyncio.TaskGroup() as group:
            for thread_id in self._numbers:
                group.create_task(self._until(thread_id, start + seconds))
        end, end_cpu = perf_counter(), process_time()
        return Round(sum(self._numbers.values()) - before, end - start, end_cpu - start_cpu)

    async def _until(self, thread_id: str, end: float) -> None:
        while perf_counter() < end:
            await self._side.turn(thread_id, self._numbers[thread_id])
            self._numbers[thread_id] += 1

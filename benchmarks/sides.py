"""Two ways to make the same turn durable, and a round of either: N threads, each with one turn after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Protocol

from benchmarks.machine import server_cpu_seconds

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
    """What one side did in a round, and the CPU that client and server used."""

    turns: int
    seconds: float
    client_cpu_seconds: float
    server_cpu_seconds: float

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds

    @property
    def client_cpu_us(self) -> float:
        """Microseconds per turn."""
        return self.client_cpu_seconds / self.turns * 1e6

    @property
    def server_cpu_us(self) -> float:
        """Microseconds per turn."""
        return self.server_cpu_seconds / self.turns * 1e6


class Threads:
    """Counts each thread's turns on over rounds, so that no turn id comes twice."""

    def __init__(self, side: Side, thread_ids: Sequence[str]) -> None:
        self._side = side
        self._numbers = dict.fromkeys(thread_ids, 0)

    async def round(self, seconds: float) -> Round:
        """Every thread makes turns until `seconds` are over, and ends the one that it is in."""
        before = sum(self._numbers.values())
        start_server = server_cpu_seconds("postgres")
        start, start_client = perf_counter(), process_time()
        async with asyncio.TaskGroup() as group:
            for thread_id in self._numbers:
                group.create_task(self._until(thread_id, start + seconds))
        end, end_client = perf_counter(), process_time()
        return Round(
            turns=sum(self._numbers.values()) - before,
            seconds=end - start,
            client_cpu_seconds=end_client - start_client,
            server_cpu_seconds=server_cpu_seconds("postgres") - start_server,
        )

    async def _until(self, thread_id: str, end: float) -> None:
        while perf_counter() < end:
            await self._side.turn(thread_id, self._numbers[thread_id])
            self._numbers[thread_id] += 1

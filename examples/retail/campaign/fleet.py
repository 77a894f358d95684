"""Several instances of all three processes: started together, killed one by one, replaced at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.processes import Process, script
from intention_kernel.testing.system import Installation

from examples.retail.campaign.plan import Kind

_START_SECONDS = 120.0
_MOST_STARTING = 2
"""A start is dear: where more of them are under way at once, the work that is to be disturbed stands still."""


@dataclass(slots=True)
class _Place:
    """Where one process after the other runs; its name is the instance's."""

    kind: Kind
    name: str
    process: Process
    ready: bool = True


class Fleet:
    """Made by `running_fleet`. `ended` tells of processes that ended though nobody killed them."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._places: list[_Place] = []
        self._starts = asyncio.Semaphore(_MOST_STARTING)
        self._getting_ready: set[asyncio.Task[None]] = set()
        self.killed: Counter[Kind] = Counter()
        self.ended: list[str] = []

    async def start(self, processes: Mapping[Kind, int]) -> None:
        """Returns when all are ready."""
        for kind, count in processes.items():
            for number in range(1, count + 1):
                name = f"{kind}-{number}"
                self._places.append(_Place(kind, name, await self._process(kind, name)))
        await asyncio.gather(*(place.process.await_ready(_START_SECONDS) for place in self._places))

    async def kill_one(self, fraction: float) -> str:
        """SIGKILL one of those that are ready and start its successor; returns the name.

        `fraction` chooses: 0 is the first, towards 1 the last. It waits while two successors are not ready yet. Raises
        InfrastructureError where no successor got ready.
        """
        await self._starts.acquire()
        ready = [place for place in self._places if place.ready]
        if not ready:
            raise InfrastructureError("no process is ready any more:\n" + "\n".join(self.ended))
        place = ready[int(fraction * len(ready))]
        place.ready = False
        self._look_at(place)
        place.process.kill()
        await place.process.await_end()
        self.killed[place.kind] += 1
        place.process = await self._process(place.kind, place.name)
        task = asyncio.create_task(self._await_ready(place))
        self._getting_ready.add(task)
        task.add_done_callback(self._getting_ready.discard)
        return place.name

    async def stop(self) -> None:
        """End all of them in order, and say in `ended` what had ended before or did not end well."""
        await asyncio.gather(*self._getting_ready, return_exceptions=True)
        for place in self._places:
            self._look_at(place)
            place.process.terminate()
        for place in self._places:
            code = await place.process.await_end()
            if code and not self.ended:
                self.ended.append(f"{place.name} ended with {code} when it was stopped:\n{place.process.output()}")

    async def close(self) -> None:
        """Kill what still runs."""
        for task in self._getting_ready:
            task.cancel()
        for place in self._places:
            await place.process.__aexit__()

    def _look_at(self, place: _Place) -> None:
        if not place.process.running:
            self.ended.append(f"{place.name} ended though nobody killed it:\n{place.process.output()}")

    async def _await_ready(self, place: _Place) -> None:
        try:
            await place.process.await_ready(_START_SECONDS)
            place.ready = True
        except InfrastructureError as error:
            self.ended.append(str(error))
        finally:
            self._starts.release()

    async def _process(self, kind: Kind, name: str) -> Process:
        variables = self._installation.variables() | {"INTENTION_INSTANCE": name}
        return await Process.start(name, [script(kind), "run"], variables)


@asynccontextmanager
async def running_fleet(installation: Installation, processes: Mapping[Kind, int]) -> AsyncIterator[Fleet]:
    """All of them ready. What runs at the end is killed."""
    fleet = Fleet(installation)
    try:
        await fleet.start(processes)
        yield fleet
    finally:
        await fleet.close()

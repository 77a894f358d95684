"""Several instances of all three processes: started together, armed, paused, killed one by one, replaced at once.

A successor has its predecessor's instance name, so that the database knows that the older life is over (protocol R22 c).
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.processes import Process, script
from intention_kernel.testing.system import Installation

Kind = Literal["turn-runner", "outbox-relay", "receipt-reconciler"]

PROCESSES: Mapping[Kind, int] = {"turn-runner": 3, "outbox-relay": 2, "receipt-reconciler": 2}

Start = Callable[[str, Sequence[str | Path], Mapping[str, str]], Awaitable[Process]]
"""How a process is started: its name, what it runs, and what is set for it."""

FAIL_STOPS: Mapping[Kind, int] = {"outbox-relay": 70}
"""Codes with which a kind ends itself by design: a relay that lost a shard with records under way (protocol R37). Whatever
runs it has to start it again, which `revive` does."""

_START_SECONDS = 120.0
MOST_STARTING = 2
"""A start is dear: where more of them are under way at once, the work that is to be disturbed stands still."""


@dataclass(slots=True)
class Member:
    """Where one process after the other runs; `name` is the instance's, `command` what its processes run."""

    kind: Kind
    name: str
    command: Sequence[str | Path]
    process: Process
    ready: bool = True


class Fleet:
    """Made by `running_fleet`. `ended` tells of processes that ended though nobody killed them."""

    def __init__(
        self,
        installation: Installation,
        commands: Mapping[Kind, Sequence[str | Path]] | None = None,
        start: Start = Process.start,
        most_starting: int = MOST_STARTING,
    ) -> None:
        self._installation = installation
        self._commands = commands or {}
        self._start = start
        self._members: list[Member] = []
        self._names: Counter[Kind] = Counter()
        self._starts = asyncio.Semaphore(most_starting)
        self._getting_ready: set[asyncio.Task[None]] = set()
        self.killed: Counter[Kind] = Counter()
        self.revived: Counter[Kind] = Counter()
        self.ended: list[str] = []

    @property
    def members(self) -> Sequence[Member]:
        """All places, in the order in which they were made."""
        return tuple(self._members)

    async def start(self, processes: Mapping[Kind, int]) -> None:
        """Returns when all are ready."""
        added = [await self.add(kind) for kind, count in processes.items() for _ in range(count)]
        await asyncio.gather(*(member.process.await_ready(_START_SECONDS) for member in added))

    async def add(
        self, kind: Kind, environment: Mapping[str, str] | None = None, command: Sequence[str | Path] = ()
    ) -> Member:
        """One more, started and not awaited. `command` runs instead of the fleet's for the kind, or its console script."""
        self._names[kind] += 1
        name, words = f"{kind}-{self._names[kind]}", command or self._commands.get(kind) or [script(kind), "run"]
        member = Member(kind, name, words, await self._process(name, words, environment or {}))
        self._members.append(member)
        return member

    async def kill_one(self, fraction: float) -> str:
        """SIGKILL one of those that are ready and start its successor; returns the name.

        `fraction` chooses: 0 is the first, towards 1 the last. It waits while two successors are not ready yet. Raises
        InfrastructureError where no successor got ready.
        """
        await self._starts.acquire()
        ready = [member for member in self._members if member.ready]
        if not ready:
            raise InfrastructureError("no process is ready any more:\n" + "\n".join(self.ended))
        member = ready[int(fraction * len(ready))]
        self._look_at(member)
        member.process.kill()
        await self._replace(member, {})
        return member.name

    async def replace(self, member: Member, environment: Mapping[str, str] | None = None) -> None:
        """Start a successor, with these settings alone, where a process has ended or is killed now; returns when ready."""
        await self._starts.acquire()
        member.process.kill()
        await self._replace(member, dict(environment or {}))
        await asyncio.gather(*self._getting_ready)

    async def arm(self, member: Member, failpoints: str) -> None:
        """Put one that is armed with these failpoints in its place; it may die or stop there before it is ready.

        Returns once it is started. `replace` puts one that is not armed in its place again.
        """
        async with self._starts:
            member.ready = False
            member.process.kill()
            await member.process.await_end()
            self.killed[member.kind] += 1
            variables = {"INTENTION_FAILPOINTS": failpoints}
            member.process = await self._process(member.name, member.command, variables)

    async def revive(self) -> None:
        """Start again, not awaited, what ended itself by design."""
        for member in self._members:
            if member.ready and _has_fail_stopped(member):
                member.ready = False
                self.revived[member.kind] += 1
                await self._starts.acquire()
                await self._succeed(member, {})

    async def await_death(self, member: Member, seconds: float = _START_SECONDS) -> bool:
        """Whether it ended by SIGKILL within `seconds`; any other end is told in `ended`."""
        try:
            code = await member.process.await_end(seconds)
        except InfrastructureError:
            return False
        if code != -signal.SIGKILL:
            self.ended.append(f"{member.name} ended with {code}:\n{member.process.output()}")
        return code == -signal.SIGKILL

    async def remove(self, member: Member) -> int:
        """SIGTERM; returns its exit code. A code that is not 0 is told in `ended`."""
        self._look_at(member)
        self._members.remove(member)
        member.process.terminate()
        code = await member.process.await_end()
        if code:
            self.ended.append(f"{member.name} ended with {code} when it was stopped:\n{member.process.output()}")
        return code

    async def end_all(self, *, kill: bool) -> None:
        """SIGKILL or SIGTERM for all of them; returns when none is left. `start_again` follows."""
        await asyncio.gather(*self._getting_ready, return_exceptions=True)
        for member in self._members:
            self._look_at(member)
            member.ready = False
            if kill:
                member.process.kill()
            else:
                member.process.terminate()
        for member in self._members:
            code = await member.process.await_end()
            self.killed[member.kind] += kill
            if code and not kill and not _has_fail_stopped(member):
                self.ended.append(f"{member.name} ended with {code} when it was stopped:\n{member.process.output()}")

    async def start_again(self) -> None:
        """A process in every place, where `end_all` left none; returns when all are ready."""
        for member in self._members:
            member.process = await self._process(member.name, member.command, {})
        await asyncio.gather(*(member.process.await_ready(_START_SECONDS) for member in self._members))
        for member in self._members:
            member.ready = True

    async def stop(self) -> None:
        """End all of them in order, and say in `ended` what had ended before or did not end well."""
        await asyncio.gather(*self._getting_ready, return_exceptions=True)
        for member in self._members:
            self._look_at(member)
            member.process.terminate()
        for member in self._members:
            code = await member.process.await_end()
            if code and not _has_fail_stopped(member) and not self.ended:
                self.ended.append(f"{member.name} ended with {code} when it was stopped:\n{member.process.output()}")

    async def close(self) -> None:
        """Kill what still runs."""
        for task in self._getting_ready:
            task.cancel()
        for member in self._members:
            await member.process.__aexit__()

    def output(self) -> str:
        """The last lines of all processes, for an error."""
        return "\n".join(
            f"--- {member.name}, pid {member.process.pid}:\n{member.process.output()}" for member in self._members
        )

    def _look_at(self, member: Member) -> None:
        if not member.process.running and not _has_fail_stopped(member):
            self.ended.append(f"{member.name} ended though nobody killed it:\n{member.process.output()}")

    async def _replace(self, member: Member, environment: Mapping[str, str]) -> None:
        """One start has been acquired: it is given back once the successor is ready."""
        member.ready = False
        await member.process.await_end()
        self.killed[member.kind] += 1
        await self._succeed(member, environment)

    async def _succeed(self, member: Member, environment: Mapping[str, str]) -> None:
        member.process = await self._process(member.name, member.command, environment)
        task = asyncio.create_task(self._await_ready(member))
        self._getting_ready.add(task)
        task.add_done_callback(self._getting_ready.discard)

    async def _await_ready(self, member: Member) -> None:
        try:
            await member.process.await_ready(_START_SECONDS)
            member.ready = True
        except InfrastructureError as error:
            self.ended.append(str(error))
        finally:
            self._starts.release()

    async def _process(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> Process:
        variables = self._installation.variables() | {"INTENTION_INSTANCE": name} | dict(environment)
        return await self._start(name, command, variables)


def _has_fail_stopped(member: Member) -> bool:
    return member.process.code is not None and member.process.code == FAIL_STOPS.get(member.kind)


@asynccontextmanager
async def running_fleet(
    installation: Installation,
    processes: Mapping[Kind, int] = PROCESSES,
    commands: Mapping[Kind, Sequence[str | Path]] | None = None,
    start: Start = Process.start,
    most_starting: int = MOST_STARTING,
) -> AsyncIterator[Fleet]:
    """All of them ready. What runs at the end is killed. `commands` run instead of a kind's console script."""
    fleet = Fleet(installation, commands, start, most_starting)
    try:
        await fleet.start(processes)
        yield fleet
    finally:
        await fleet.close()

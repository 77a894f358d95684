"""One campaign from the first turn to the report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from intention_kernel.client import Client
from intention_kernel.clock import SystemClock
from intention_kernel.servers.addresses import Servers
from intention_kernel.testing.draws import Draws
from intention_kernel.testing.fleet import Fleet, running_fleet
from intention_kernel.testing.system import System, Work
from pydantic import JsonValue

from examples.retail.campaign.evidence import collect
from examples.retail.campaign.hearing import Hearing, hearing
from examples.retail.campaign.kills import Kills
from examples.retail.campaign.plan import Plan
from examples.retail.campaign.player import Played, Player
from examples.retail.campaign.report import Report, Run, report_on
from examples.retail.campaign.scratch import Place, open_place
from examples.retail.script_turns import turns_of

Say = Callable[[str], None]

SHOP_FAULTS: Mapping[str, JsonValue] = {
    "dropReply": {"probability": 0.08},
    "failBeforeCommit": {"probability": 0.06},
    "failAfterCommit": {"probability": 0.06},
    "refuse": {"probability": 0.06},
    "delay": {"probability": 0.03, "seconds": 6.0},
}
"""A write that is delayed is applied after its caller has given up (`effects.CALL_TIMEOUT_SECONDS`)."""

PROGRESS_SECONDS = 5.0
_QUIET_SECONDS = 90.0
_LOOK_AGAIN_SECONDS = 0.5
_MOST_UNPLAYABLE = 3
_FOR_OPERATORS = frozenset({"unsettled receipts", "unfinished items", "blocked steps", "journal entries"})


async def run_campaign(
    servers: Servers, scratch: Path, plan: Plan, say: Say, every: float = PROGRESS_SECONDS
) -> Report:
    """Play the plan in a place of its own on these servers; `say` gets a line of progress `every` so many seconds.

    `scratch` is a folder that exists. Raises InfrastructureError and ConfigurationError where it cannot be played at all.
    """
    async with open_place(servers, scratch, plan) as place:
        faults = SHOP_FAULTS if plan.shop_faults else {}
        await place.shop.turn_faults({**faults, "seed": plan.seed})
        async with running_fleet(place.installation, plan.processes) as fleet:
            say(f"{sum(plan.processes.values())} processes are ready")
            return await _Campaign(plan, place, fleet, say, every).run()


@dataclass(slots=True)
class _Campaign:
    plan: Plan
    place: Place
    fleet: Fleet
    say: Say
    every: float
    clock: SystemClock = field(default_factory=SystemClock)

    async def run(self) -> Report:
        """Play, wait until all is quiet, stop, look."""
        started = self.clock.monotonic_seconds()
        played = [Played(conversation) for conversation in self.plan.conversations]
        left = await self._play(played)
        seconds = self.clock.monotonic_seconds() - started
        await self.fleet.stop()
        self.say("all processes are stopped; comparing")
        evidence = await collect(self.place, played, left)
        struck = (await self.place.shop.turn_faults({}))["struck"]
        run = Run(self.plan.seed, seconds, dict(self.fleet.killed), _numbers(struck), tuple(self.fleet.ended))
        return report_on(evidence, run)

    async def _play(self, played: Sequence[Played]) -> list[str]:
        """Everybody says everything; returns the work that is left when nothing moves any more."""
        draws = Draws(self.plan.seed)
        turns = sum(len(turns_of(one.conversation)) for one in played)
        kills = Kills(self.plan.kills, turns, draws)
        installation = self.place.installation
        async with (
            Client(installation.kafka_bootstrap_servers, installation.topic_prefix) as client,
            hearing(client) as heard,
            self._telling(played, heard, kills),
        ):
            killing = asyncio.create_task(kills.run(self.fleet))
            try:
                await _all_at_once(Player(client, heard, kills, draws), played, self.plan.in_flight)
                if not any(one.problems for one in played):
                    await killing
            finally:
                killing.cancel()
                await asyncio.wait([killing])
            return await _left(self.place.system, played)

    @asynccontextmanager
    async def _telling(self, played: Sequence[Played], heard: Hearing, kills: Kills) -> AsyncIterator[None]:
        async def tell() -> None:
            while True:
                await asyncio.sleep(self.every)
                self.say(_progress(played, heard, kills))

        telling = asyncio.create_task(tell())
        try:
            yield
        finally:
            telling.cancel()
            self.say(_progress(played, heard, kills))


def _progress(played: Sequence[Played], heard: Hearing, kills: Kills) -> str:
    ended = sum(one.ended for one in played)
    return (
        f"{ended} of {len(played)} conversations ended; turns: {heard.completed},"
        f" blocked for a while: {heard.blocked}, processes killed: {kills.done}"
    )


async def _all_at_once(player: Player, played: Sequence[Played], in_flight: int) -> None:
    """At most `in_flight` conversations at a time. Where some could not be played, no others are begun."""
    waiting = iter(played)

    async def play() -> None:
        for one in waiting:
            if sum(bool(other.problems) for other in played) < _MOST_UNPLAYABLE:
                await player.play(one)
            else:
                one.problems.append(f"{one.conversation['id']}: not begun, since {_MOST_UNPLAYABLE} others did not end")

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(play())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def _left(system: System, played: Iterable[Played]) -> list[str]:
    """Returns once nothing is left to do, or only what needs an operator; what else is left when patience is over."""
    requests = [request for one in played for request in one.requests]
    clock = SystemClock()
    deadline = clock.monotonic_seconds() + _QUIET_SECONDS
    while left := await system.open_work(requests):
        if clock.monotonic_seconds() > deadline:
            return _unattended(left)
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return []


def _unattended(left: Sequence[Work]) -> list[str]:
    has_items = any(work.what == "unfinished items" for work in left)
    return [str(work) for work in left if not (has_items and work.what in _FOR_OPERATORS)]


def _numbers(struck: JsonValue) -> dict[str, int]:
    members = struck.items() if isinstance(struck, dict) else ()
    return {name: count for name, count in members if isinstance(count, int)}

"""No connection to be had: one for all of a process's single statements, and none left at the server.

Fault: INTENTION_POOL_SIZE=1 with much work in flight; and, several times, a hog that takes every connection that the server
gives until it says 53300 (too_many_connections), keeps them for seconds, and takes each that becomes free; our sessions are
ended meanwhile so that running processes have to connect again, and processes are killed so that their successors start
into it.

What must hold: who gets no connection waits and tries again; no process ends, none that starts gives up; all goes on once
there are connections.

That it struck: the hog counts the times it heard 53300 from a full server while our sessions were ended, and each process of
ours that said in `/readyz` that it is not ready.
"""

from __future__ import annotations

import asyncio

import asyncpg
from intention_kernel.postgres.errors import DRIVER_ERRORS

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.going_on import seconds_until_a_commit
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.readiness import await_unready
from tests.campaigns.traffic import Shape

_SETUP = Setup(
    shape=Shape(threads=120, per_second=40.0, no_effect=0.5, pause_seconds=1.0),
    environment={"INTENTION_POOL_SIZE": "1", "INTENTION_IN_FLIGHT": "100"},
)
_SIEGE_SECONDS = 2.0
_KILLS = 2
_FULL_SECONDS = 60.0
_UNREADY_SECONDS = 20.0
_PATIENCE_SECONDS = 60.0
_AT_ONCE = 20
_END_OURS = (
    "select count(pg_terminate_backend(pid)) from pg_stat_activity"
    " where datname = $1 and pid <> pg_backend_pid() and backend_type = 'client backend'"
)


async def run(plan: Plan) -> Result:
    """`count` times without a connection left."""
    return await play(plan, _disturb, _SETUP)


async def _disturb(arena: Arena) -> Counts:
    counts: dict[str, int] = {"sieges": 0, "refusals": 0, "sessions_ended": 0, "unready": 0}
    longest = 0.0
    for number in range(arena.plan.count):
        hog = _Hog(arena.plan.ground.servers.database_url)
        try:
            await _besiege(arena, hog, number, counts)
        finally:
            await hog.let_go()
        longest = max(longest, await seconds_until_a_commit(arena, _PATIENCE_SECONDS))
    if not counts["refusals"] or counts["unready"] < arena.plan.count:
        arena.problems.append(f"connections did not run out for our processes {arena.plan.count} times: {counts}")
    kills = sum(arena.fleet.killed.values())
    return {**counts, "kills": kills, "longest_recovery_seconds": round(longest, 2)}


async def _besiege(arena: Arena, hog: _Hog, number: int, counts: dict[str, int]) -> None:
    """Take everything, end our sessions, kill, and wait until it hurts."""
    await asyncio.wait_for(hog.full.wait(), _FULL_SECONDS)
    database = arena.place.installation.database_url.rpartition("/")[2]
    counts["sessions_ended"] += await hog.held[0].fetchval(_END_OURS, database)
    running = [member for member in arena.fleet.members if member.ready]
    for kill in range(_KILLS):
        await arena.fleet.kill_one(arena.plan.draws.fraction("victim", str(number), str(kill)))
    left = [member for member in running if member.ready]
    quiet = await await_unready(left, _UNREADY_SECONDS)
    counts["unready"] += len(left) - len(quiet)
    await asyncio.sleep(_SIEGE_SECONDS * arena.plan.draws.fraction("siege", str(number)))
    counts["sieges"] += 1
    counts["refusals"] += hog.refusals


class _Hog:
    """Takes connections until none is left, and every one that becomes free, until it lets go; `full` is set at 53300."""

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url
        self.held: list[asyncpg.Connection] = []
        self.refusals = 0
        self.full = asyncio.Event()
        self._taking = [asyncio.create_task(self._take()) for _ in range(_AT_ONCE)]

    async def let_go(self) -> None:
        """Of everything."""
        for task in self._taking:
            task.cancel()
        await asyncio.gather(*self._taking, return_exceptions=True)
        for connection in self.held:
            connection.terminate()

    async def _take(self) -> None:
        while True:
            try:
                self.held.append(await asyncpg.connect(self._database_url, timeout=30.0))
            except asyncpg.TooManyConnectionsError:
                self.refusals += 1
                self.full.set()
                await asyncio.sleep(0.05)
            except DRIVER_ERRORS:
                await asyncio.sleep(0.05)


CAMPAIGN = Campaign(
    name="pool",
    title="one connection for much work, and a server whose connections are used up while processes restart",
    unit="sieges",
    count=4,
    short=1,
    run=run,
    own_servers=True,
)

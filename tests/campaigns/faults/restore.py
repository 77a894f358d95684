"""An older copy of the database takes the place of a newer one, while the topics and the group's offsets stay.

What must hold: runners refuse and name `intention recover`; after it, everything that was asked gets its outcome once more,
effects of the lost database are found again by their resolvers and nobody is called twice, and events go on above what
the topic has (protocol R39). That it struck: every restore loses committed turns and receipts, the runners really refused,
there are as many recoveries, and effects that were met again are doubtful because of them.
"""

from __future__ import annotations

import asyncio
import os
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.fleet import Kind
from intention_kernel.testing.processes import Process, script
from intention_kernel.testing.scratch import beside, execute, fetch_value

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_PROCESSES: dict[Kind, int] = {"turn-runner": 2, "outbox-relay": 1, "receipt-reconciler": 1}
# A continuation that a lost settlement asked for is refused, and keeps its mark of the recovery for a redrive (R39, R33).
_SETUP = Setup(
    shape=Shape(per_second=5.0), processes=_PROCESSES, quiet_seconds=240.0, stays=frozenset({"journal entries"})
)
_LOAD_SECONDS = 2.0
_MORE_LOAD_SECONDS = 4.0
_PATIENCE_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.2
_REFUSED = 6
"""The exit code while somebody may still be alive."""

_TURNS = "select count(*) from turns"
_DOUBTFUL = "select count(*) from receipt_transitions where cause = 'restore'"
_RECOVERIES = "select recoveries from installation"


async def run(plan: Plan) -> Result:
    """`count` restores; the seed says how old the copies are, and which of them lose what killed processes left."""
    return await play(plan, _restores, _SETUP)


async def _restores(arena: Arena) -> Counts:
    first_is_kill = arena.plan.draws.number(2, "kill") == 0
    counts: Counts = {"restores": 0, "after_kills": 0, "lost_turns": 0}
    for number in range(arena.plan.count):
        is_kill = (number % 2 == 0) == first_is_kill
        counts["lost_turns"] += await _restore(arena, str(number), is_kill=is_kill)
        counts["restores"] += 1
        counts["after_kills"] += int(is_kill)
        await arena.fleet.start_again()
    url = arena.place.installation.database_url
    await _await_doubt(arena)
    recoveries = await fetch_value(url, _RECOVERIES)
    if recoveries != arena.plan.count:
        arena.problems.append(f"{recoveries} recoveries are recorded, there were {arena.plan.count}")
    return counts


async def _await_doubt(arena: Arena) -> None:
    """Until an effect of a lost database is written as uncertain: it is what becomes of those that run again."""
    url, clock = arena.place.installation.database_url, asyncio.get_running_loop().time
    deadline = clock() + _PATIENCE_SECONDS
    while clock() < deadline:
        if await fetch_value(url, _DOUBTFUL):
            return
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    arena.problems.append("no effect of a lost database was met again")


async def _restore(arena: Arena, what: str, *, is_kill: bool) -> int:
    """One of them, up to the recovery; nothing runs afterwards. Returns how many turns the lost database had more.

    Processes are killed before the copy and stopped before the loss, or the other way round.
    """
    url, draws = arena.place.installation.database_url, arena.plan.draws
    name = urlsplit(url).path.removeprefix("/")
    maintenance = arena.plan.ground.servers.database_url
    await asyncio.sleep(_LOAD_SECONDS * draws.fraction("before", what))
    await arena.fleet.end_all(kill=not is_kill)
    await execute(maintenance, f'create database "{name}_older" template "{name}"')
    await arena.fleet.start_again()
    await asyncio.sleep(_LOAD_SECONDS + _MORE_LOAD_SECONDS * draws.fraction("after", what))
    await arena.fleet.end_all(kill=is_kill)
    lost = await fetch_value(url, _TURNS) - await fetch_value(beside(url, f"{name}_older"), _TURNS)
    if lost <= 0:
        arena.problems.append(f"restore {what} lost no turn")
    await execute(maintenance, f'drop database "{name}" with (force)')
    await execute(maintenance, f'alter database "{name}_older" rename to "{name}"')
    await _see_it_refuse(arena, what)
    await _recover(arena)
    return lost


async def _see_it_refuse(arena: Arena, what: str) -> None:
    """A runner on the older database takes nothing and says what to do."""
    variables = arena.place.installation.variables() | {"INTENTION_INSTANCE": "too-early"}
    async with await Process.start("too-early", [script("turn-runner"), "run"], variables) as runner:
        port = (await runner.await_ready(_PATIENCE_SECONDS)).rpartition("http=")[2].strip()
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE_SECONDS
        while "intention recover" not in await asyncio.to_thread(_readiness, port):
            if clock() > deadline:
                arena.problems.append(f"after restore {what} a runner did not refuse:\n{runner.output()}")
                break
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        runner.terminate()
        if code := await runner.await_end():
            arena.problems.append(f"the runner that refused ended with {code}:\n{runner.output()}")


def _readiness(port: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


async def _recover(arena: Arena) -> None:
    """`intention recover --yes`, again while it is refused because dead processes still count as alive."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _PATIENCE_SECONDS
    command: list[str | Path] = [script("intention"), "recover", "--yes", "--as", "campaign"]
    while True:
        recovering = await Process.start("recover", command, arena.place.installation.variables())
        code = await recovering.await_end(_PATIENCE_SECONDS)
        if code == os.EX_OK:
            return
        if code != _REFUSED or clock() > deadline:
            raise InfrastructureError(f"intention recover ended with {code}:\n{recovering.output()}")
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


CAMPAIGN = Campaign(
    name="restore",
    title="an older copy of the database takes the place of a newer one",
    unit="restores",
    count=3,
    short=1,
    run=run,
)

"""One campaign from the first turn to its result: traffic, a disturbance, rest, and the judgement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from intention_kernel.contracts.topics import Topics
from intention_kernel.history.check import check_history
from intention_kernel.history.values import Allowed, History
from intention_kernel.postgres.errors import DRIVER_ERRORS
from intention_kernel.testing.broker import open_broker
from intention_kernel.testing.fleet import MOST_STARTING, PROCESSES, Fleet, Kind, Start, running_fleet
from intention_kernel.testing.processes import Process
from intention_kernel.testing.recorder import record_history
from intention_kernel.testing.system import System, open_system
from intention_kernel.verification.bank.faults import LONGEST_DELAY_SECONDS, Faults

from tests.campaigns.campaign import Plan, Result
from tests.campaigns.forking import open_nursery
from tests.campaigns.looking import looking_at
from tests.campaigns.place import Place, opened_place
from tests.campaigns.traffic import Shape, Traffic

Counts = dict[str, int | float]

BANK_FAULTS = Faults(
    drop_reply=0.06, fail_before=0.04, fail_after=0.04, refuse=0.04, delay=0.02, delay_seconds=LONGEST_DELAY_SECONDS
)
"""What the bank does wrong in every campaign: an unknown outcome is as common there as a process that dies."""

_ENDED = (
    "select (select count(*) from turns where turn_id not like 'reconciliation:%')"
    " + (select count(*) from set_aside_turns where state = 'open')"
)
_LOOK_AGAIN_SECONDS = 0.25
_LOOK_SECONDS = 1.0
_PROGRESS_SECONDS = 10.0
_FOR_OPERATORS = frozenset({"unsettled receipts", "unfinished items", "blocked steps", "journal entries"})


@dataclass(frozen=True, slots=True)
class Setup:
    """How a campaign's system is set up and what its history may have.

    `environment` goes to every process; `quiet_seconds` is how long it may take to come to rest, `stays` names kinds of
    work that are never done. Where traffic is not `steady`, the disturbance sends for itself. `commands` run instead of a
    kind's console script, and `through` leads our
    processes to the database another way. `forked` processes begin with everything loaded (`nursery`);
    so many may be starting when one more is killed.
    """

    shape: Shape = field(default_factory=Shape)
    processes: Mapping[Kind, int] = field(default_factory=lambda: PROCESSES)
    environment: Mapping[str, str] = field(default_factory=dict)
    bank_faults: Faults = BANK_FAULTS
    quiet_seconds: float = 90.0
    stays: frozenset[str] = frozenset()
    steady: bool = True
    commands: Mapping[Kind, Sequence[str | Path]] = field(default_factory=dict)
    through: Callable[[str], str] | None = None
    forked: bool = False
    most_starting: int = MOST_STARTING


@dataclass(slots=True)
class Arena:
    """What a disturbance has its hands on while traffic runs.

    It adds to `problems` what went wrong that no history shows, and sets `allowed` where its history may be unusual.
    """

    plan: Plan
    place: Place
    fleet: Fleet
    traffic: Traffic
    setup: Setup
    problems: list[str] = field(default_factory=list)
    allowed: Allowed = field(default_factory=Allowed)


Disturb = Callable[[Arena], Awaitable[Counts]]


async def play(plan: Plan, disturb: Disturb, setup: Setup | None = None) -> Result:
    """Run traffic while `disturb` does its work, wait until all is quiet, stop everything and judge.

    `disturb` returns counts of what it did and leaves mended what it broke. Raises InfrastructureError where the campaign
    could not be run at all.
    """
    async with _opened_arena(plan, setup or Setup()) as arena:
        reviving = asyncio.create_task(_revive_relays(arena))
        try:
            counts = await _disturbed(arena, disturb)
            await arena.place.client.set_faults(Faults())
            plan.say("no more faults; waiting until all is quiet")
            async with open_system(arena.place.installation) as system:
                await _rest(arena, system)
        finally:
            reviving.cancel()
        async with open_system(arena.place.installation) as system:
            await arena.fleet.stop()
            history = await record_history(system, arena.traffic.sent, await arena.place.client.applied())
        findings = tuple(check_history(history, arena.allowed))
        problems = (*arena.problems, *arena.fleet.ended)
        if findings or problems:
            plan.keep(history)
        return Result(_counted(history) | counts, findings, problems)


@asynccontextmanager
async def _opened_arena(plan: Plan, setup: Setup) -> AsyncIterator[Arena]:
    ground = plan.ground
    async with (
        opened_place(ground.servers, ground.scratch, setup.environment, setup.through) as place,
        _starting(setup) as start,
    ):
        await place.client.set_faults(replace(setup.bank_faults, seed=plan.seed))
        installation = place.installation
        async with running_fleet(installation, setup.processes, setup.commands, start, setup.most_starting) as fleet:
            plan.say(f"{sum(setup.processes.values())} processes are ready")
            async with open_broker(installation.kafka_bootstrap_servers) as broker:
                traffic = Traffic(broker, Topics(installation.topic_prefix), plan.draws, setup.shape)
                yield Arena(plan, place, fleet, traffic, setup)


async def _revive_relays(arena: Arena) -> None:
    """Start relays again that ended themselves since they lost a shard with records under way (R37)."""
    while True:
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        await arena.fleet.revive()


@asynccontextmanager
async def _starting(setup: Setup) -> AsyncIterator[Start]:
    """How this setup's processes are started."""
    if setup.forked:
        async with open_nursery() as nursery:
            yield nursery.start
    else:
        yield Process.start


async def _disturbed(arena: Arena, disturb: Disturb) -> Counts:
    """The disturbance with its traffic, and lines of progress; an error carries what the processes printed."""
    over = asyncio.Event()
    sending = asyncio.create_task(arena.traffic.run(over)) if arena.setup.steady else None
    telling, looking = asyncio.create_task(_tell(arena)), asyncio.create_task(_look(arena))
    try:
        counts = await disturb(arena)
    except Exception as error:
        error.add_note(arena.fleet.output())
        raise
    finally:
        over.set()
        telling.cancel()
        looking.cancel()
        if sending is not None:
            await asyncio.wait([sending])
    if sending is not None:
        sending.result()
    return counts


async def _tell(arena: Arena) -> None:
    while True:
        await asyncio.sleep(_PROGRESS_SECONDS)
        killed = sum(arena.fleet.killed.values())
        arena.plan.say(f"{len(arena.traffic.sent)} records sent, {killed} processes killed")


async def _look(arena: Arena) -> None:
    """Keep `ended` of the traffic up to date, as far as the database answers; a disturbance may copy or drop it meanwhile."""
    while True:
        with suppress(*DRIVER_ERRORS):
            async with looking_at(arena.place.installation.database_url) as database:
                arena.traffic.ended = await database.fetchval(_ENDED)
        await asyncio.sleep(_LOOK_SECONDS)


async def _rest(arena: Arena, system: System) -> None:
    """Returns once nothing moves any more; says in `problems` what is left when patience is over."""
    clock = asyncio.get_running_loop().time
    deadline, told = clock() + arena.setup.quiet_seconds, clock()
    ignored = arena.setup.stays | (_FOR_OPERATORS if arena.allowed.open_items else frozenset())
    while left := [work for work in await system.open_work(arena.traffic.requests) if work.what not in ignored]:
        if clock() > deadline:
            arena.problems.append(f"left after {arena.setup.quiet_seconds:g} s: " + "; ".join(map(str, left)))
            arena.plan.say(arena.fleet.output())
            return
        if clock() - told > _PROGRESS_SECONDS:
            told = clock()
            arena.plan.say("left: " + "; ".join(map(str, left)))
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _counted(history: History) -> Counts:
    """What the history holds, in numbers."""
    continuations = sum(turn.turn_id.startswith("reconciliation:") for turn in history.turns)
    return {
        "records": len(history.sent),
        "turns": len(history.turns),
        "continuations": continuations,
        "rejected": len(history.rejected),
        "set_aside": len(history.set_aside),
        "effects": len(history.ledger),
        "uncertain": sum(move.state == "uncertain" and move.from_state == "prepared" for move in history.moves),
        "events": sum(len(turn.events) for turn in history.turns),
    }

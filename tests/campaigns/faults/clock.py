"""The wall clock of our processes steps back and forth by hours.

Fault: each process runs under a clock whose wall time is off by an offset of its own (`tests/campaigns/stepping.py`, in the
place of the clock port's SystemClock), and at moments from the seed one process's offset becomes another, up to twelve hours
in either direction.

What must hold: leases, deadlines, items, retries and turns do not care, for all of them are on the database's clock or on
monotonic time; no attempt is used up. Only the time that events tell may jump.

That it struck: a process notes each offset that it used to tell a time, and committed events carry times that are hours off
and go back inside of a thread. Each step waits until its process has used it, where that is a runner; the others tell no
wall time, which is why they cannot care.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from intention_kernel.ids import random_id
from intention_kernel.testing.fleet import PROCESSES, Member

from tests.campaigns import stepping
from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.going_on import ONE_ATTEMPT
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_LONGEST_PAUSE_SECONDS = 0.5
_USED_SECONDS = 20.0
_LOOK_AGAIN_SECONDS = 0.02
_MOST_HOURS = 12.0
_HOURS_OFF = timedelta(hours=1)


async def run(plan: Plan) -> Result:
    """`count` steps."""
    folder = plan.ground.scratch / f"clock-{random_id().hex[:8]}"
    folder.mkdir()
    setup = Setup(
        shape=Shape(per_second=25.0),
        environment={**ONE_ATTEMPT, stepping.FOLDER: str(folder)},
        commands={kind: [sys.executable, "-m", "tests.campaigns.stepping", kind, "run"] for kind in PROCESSES},
    )
    return await play(plan, lambda arena: _disturb(arena, folder), setup)


async def _disturb(arena: Arena, folder: Path) -> Counts:
    draws, used, wanted = arena.plan.draws, 0, 0
    for number in range(arena.plan.count):
        await asyncio.sleep(_LONGEST_PAUSE_SECONDS * draws.fraction("pause", str(number)))
        member = _runner(arena) if number % 2 else _any(arena, number)
        offset = round(3600 * _MOST_HOURS * (2 * draws.fraction("offset", str(number)) - 1), 3)
        _step(folder / member.name, offset)
        if member.kind == "turn-runner":
            wanted += 1
            used += await _is_used(folder / f"{member.name}.used", offset)
    early_or_late, backwards = await _times_told(arena)
    if used < wanted or not early_or_late or not backwards:
        arena.problems.append(
            f"stepped time was not in use: {used} of {wanted} steps, {early_or_late} events, {backwards} back"
        )
    return {"steps": arena.plan.count, "steps_used": used, "events_hours_off": early_or_late, "events_back": backwards}


def _step(file: Path, offset: float) -> None:
    """All of it or nothing: a process may read at any moment."""
    written = file.with_suffix(".new")
    written.write_text(str(offset), "ascii")
    written.replace(file)


def _any(arena: Arena, number: int) -> Member:
    members = arena.fleet.members
    return members[arena.plan.draws.number(len(members), "member", str(number))]


def _runner(arena: Arena) -> Member:
    return next(member for member in arena.fleet.members if member.kind == "turn-runner")


async def _is_used(file: Path, offset: float) -> bool:
    """Whether the process has told a time by that offset before patience is over."""
    deadline = asyncio.get_running_loop().time() + _USED_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        if str(offset) in _used(file):
            return True
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return False


def _used(file: Path) -> list[str]:
    return file.read_text("ascii").split() if file.exists() else []


async def _times_told(arena: Arena) -> tuple[int, int]:
    """How many committed events on the topic are hours off, and how many are earlier than the one before on their thread."""
    now, off, back = datetime.now(UTC), 0, 0
    last = dict[bytes | None, datetime]()
    for record in await arena.traffic.broker.read(arena.traffic.topics.events):
        told = datetime.fromisoformat(record.header("ce_time"))
        off += abs(told - now) > _HOURS_OFF
        back += told < last.get(record.key, told)
        last[record.key] = told
    return off, back


CAMPAIGN = Campaign(
    name="clock",
    title="the wall clock of our processes steps back and forth by hours",
    unit="steps",
    count=60,
    short=10,
    run=run,
)

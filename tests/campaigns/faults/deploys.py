"""Rolling deploys back and forth between two builds that do not accept each other's threads.

What must hold: a thread that the other build has touched is `held`, however often; that consumes no attempt and sets nothing
aside (protocol R8: turns have few attempts here, far fewer than times held), and when the build that fits is back, the
thread goes on. That it struck: runners say how often they answered `held`, and each build did.
"""

from __future__ import annotations

import asyncio
import re
import urllib.error
import urllib.request
from collections import Counter
from typing import Literal

from intention_kernel.testing.fleet import Kind, Member
from intention_kernel.testing.system import System, open_system
from intention_kernel.verification.bank.application import BUILD_VARIABLE
from intention_kernel.verification.bank.faults import Faults

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

Build = Literal["a", "c"]

_RUNNERS = 2
_PROCESSES: dict[Kind, int] = {"turn-runner": _RUNNERS, "outbox-relay": 1, "receipt-reconciler": 1}
_SETUP = Setup(
    shape=Shape(per_second=8.0),
    processes=_PROCESSES,
    environment={"INTENTION_HELD_SECONDS": "3600", "INTENTION_TURN_ATTEMPTS": "3", BUILD_VARIABLE: "a"},
    steady=False,
)
_BOTH_SECONDS = 1.0
"""The longest time that two builds run side by side before the next runner is replaced."""

_SETTLING_DEPLOYS = 12
_STANDSTILL_SECONDS = 6.0
"""A build has done what it can if nothing has become less for so long: longer than a doubtful effect is looked for."""

_LOOK_AGAIN_SECONDS = 0.25
_START_SECONDS = 120.0
_HELD = re.compile(r'^turn_runner_outcomes_total\{outcome="held"\} ([0-9.e+]+)$', re.MULTILINE)


async def run(plan: Plan) -> Result:
    """`count` deploys under load, then as many more as the work that is left needs."""
    return await play(plan, _deploys, _SETUP)


async def _deploys(arena: Arena) -> Counts:
    held: Counter[Build] = Counter()
    over = asyncio.Event()
    sending = asyncio.create_task(arena.traffic.run(over))
    build: Build = "a"
    try:
        for number in range(arena.plan.count):
            await asyncio.sleep(arena.plan.draws.fraction("wait", str(number)))
            build = await _deploy(arena, build, held, str(number))
    finally:
        over.set()
        await asyncio.wait([sending])
    sending.result()
    await arena.place.client.set_faults(Faults())
    more = await _settle(arena, build, held)
    for one in ("a", "c"):
        if not held[one]:
            arena.problems.append(f"build {one} held nothing")
    return {"deploys": arena.plan.count, "deploys_to_settle": more, "held": sum(held.values())}


async def _deploy(arena: Arena, build: Build, held: Counter[Build], what: str) -> Build:
    """One runner after the other makes room for one of the other build; returns that."""
    following: Build = "c" if build == "a" else "a"
    for index, member in enumerate([one for one in arena.fleet.members if one.kind == "turn-runner"]):
        added = await arena.fleet.add("turn-runner", {BUILD_VARIABLE: following})
        await added.process.await_ready(_START_SECONDS)
        await asyncio.sleep(_BOTH_SECONDS * arena.plan.draws.fraction("both", what, str(index)))
        held[build] += await _held(member)
        await arena.fleet.remove(member)
    return following


async def _settle(arena: Arena, build: Build, held: Counter[Build]) -> int:
    """Deploys back and forth until nothing is left; how many there were."""
    async with open_system(arena.place.installation) as system:
        for number in range(_SETTLING_DEPLOYS):
            if await _done_what_it_can(arena, system):
                await _add_held(arena, build, held)
                return number
            build = await _deploy(arena, build, held, f"settle {number}")
    arena.problems.append(f"after {_SETTLING_DEPLOYS} more deploys there is work left")
    return _SETTLING_DEPLOYS


async def _done_what_it_can(arena: Arena, system: System) -> bool:
    """Returns once there is no work (true), or none that this build gets done (false)."""
    clock = asyncio.get_running_loop().time
    before, since = [0], clock()
    while left := await system.open_work(arena.traffic.requests):
        now = [work.count for work in left]
        if now != before:
            before, since = now, clock()
        elif clock() - since > _STANDSTILL_SECONDS:
            arena.plan.say("left to the other build: " + "; ".join(map(str, left)))
            return False
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return True


async def _add_held(arena: Arena, build: Build, held: Counter[Build]) -> None:
    for member in arena.fleet.members:
        if member.kind == "turn-runner":
            held[build] += await _held(member)


async def _held(member: Member) -> int:
    """How often this process has answered `held`."""
    line = await member.process.await_ready()
    port = line.rpartition("http=")[2].strip()

    def ask() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=_START_SECONDS) as answer:
            return str(answer.read().decode())

    try:
        found = _HELD.search(await asyncio.to_thread(ask))
    except (OSError, urllib.error.URLError):
        return 0  # `remove` tells of a process that is gone
    return int(float(found[1])) if found else 0


CAMPAIGN = Campaign(
    name="deploys",
    title="rolling deploys back and forth between two builds that leave each other's threads alone",
    unit="deploys",
    count=10,
    short=2,
    run=run,
)

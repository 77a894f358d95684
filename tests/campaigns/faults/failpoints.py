"""SIGKILL at every failpoint, of runners, relays, reconcilers and of the bank, while traffic runs.

Fault: every process is armed with one failpoint after the other, `NAME=kill@N` with a small N from the seed; where it has
died its successor is started in its place, armed with the next one, and the last goes on unarmed. All runners, relays and
reconcilers are armed at once, so that nobody can rely on a neighbour that never dies. The bank dies right after it has
committed, and comes back at the same address over the same ledger.

What must hold: everything that a history promises; a process's death loses, repeats and reorders nothing, and an effect
whose call a death cut off is settled by what the bank knows.

That it struck: a process counts only if it ended by the SIGKILL of its failpoint in bounded time; every point has to count
once a pass. tests/crash kills at the same points, one at a time, in one scripted conversation.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence

from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.crash_points import PROVIDER_POINT, RECONCILER_POINTS, RELAY_POINTS, RUNNER_POINTS
from intention_kernel.testing.draws import Draws
from intention_kernel.testing.fleet import Kind, Member

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

POINTS: Mapping[Kind, Sequence[str]] = {
    "turn-runner": RUNNER_POINTS,
    "outbox-relay": RELAY_POINTS,
    "receipt-reconciler": RECONCILER_POINTS,
}
_MOST_PASSES = 3
_REACHED_SECONDS = 120.0
_BANK_WORKS_SECONDS = 4.0
_SETUP = Setup(shape=Shape(per_second=20.0))


async def run(plan: Plan) -> Result:
    """A death at every point, `count` times."""
    return await play(plan, _kill_everywhere, _SETUP)


async def _kill_everywhere(arena: Arena) -> Counts:
    lanes = [_kill_at_each(arena, member, armed) for member, armed in shares(arena, "kill")]
    died = sum(await asyncio.gather(*lanes, _kill_the_bank(arena)))
    points = sum(map(len, POINTS.values())) + 1
    return {"failpoint_kills": died, "failpoints": points}


def shares(arena: Arena, action: str, spared: int = 0) -> list[tuple[Member, list[str]]]:
    """Which process is armed with what, one after the other; the last `spared` of each kind with nothing.

    Every failpoint comes `count` times, in an order of the seed.
    """
    found = list[tuple[Member, list[str]]]()
    for kind, points in POINTS.items():
        members = [member for member in arena.fleet.members if member.kind == kind]
        members = members[: len(members) - spared]
        armed = [
            _armed(arena.plan.draws, point, action, number)
            for number in range(arena.plan.count)
            for point in _shuffled(arena.plan.draws, points, number)
        ]
        found += [(member, armed[place :: len(members)]) for place, member in enumerate(members)]
    return found


def _armed(draws: Draws, point: str, action: str, number: int) -> str:
    return f"{point}={action}@{1 + draws.number(_MOST_PASSES, 'pass', point, str(number))}"


def _shuffled(draws: Draws, points: Sequence[str], number: int) -> list[str]:
    return sorted(points, key=lambda point: draws.fraction("order", point, str(number)))


async def _kill_at_each(arena: Arena, member: Member, armed: Sequence[str]) -> int:
    died = 0
    for failpoint in armed:
        await arena.fleet.arm(member, failpoint)
        if await arena.fleet.await_death(member, _REACHED_SECONDS):
            died += 1
        else:
            arena.problems.append(f"{member.name} did not die at {failpoint} within {_REACHED_SECONDS:g} s")
    await arena.fleet.replace(member)
    return died


async def _kill_the_bank(arena: Arena) -> int:
    """Its death leaves the calls under way without an answer."""
    bank, died = arena.place.bank, 0
    for number in range(arena.plan.count):
        failpoint = _armed(arena.plan.draws, PROVIDER_POINT, "kill", number)
        await bank.kill()
        await bank.start(failpoint)
        try:
            died += await bank.process.await_end(_REACHED_SECONDS) == -signal.SIGKILL
        except InfrastructureError as error:
            arena.problems.append(f"the bank did not die at {failpoint}: {error}")
            await bank.kill()
        await bank.start()
        await asyncio.sleep(_BANK_WORKS_SECONDS)
    if died < arena.plan.count:
        arena.problems.append(f"the bank died {died} times at {PROVIDER_POINT}, not {arena.plan.count}")
    return died


CAMPAIGN = Campaign(
    name="failpoints",
    title="SIGKILL at every failpoint under load, the bank's among them",
    unit="passes",
    count=3,
    short=0,
    run=run,
)

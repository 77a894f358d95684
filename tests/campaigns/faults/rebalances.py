"""Rebalances while slow turns are under way.

Fault: one runner stays; others are ended and started again without pause, by turns in order and by SIGKILL, so that the
group gives all partitions to others again and again. Turns of 2 to 4 s are under way all the time, longer than a rebalance waits
for them: they go on in a process that has lost their partition, or die with it.

What must hold: everything that a history promises. A turn that outlives its partition commits under its fence, and whoever
has the partition then meets it as busy and afterwards as done.

That it struck: rebalances are counted by the runner that stays, each time the group took partitions from it, and it goes on
until that is as many as asked. Slow turns count when they were committed during the rebalances.
"""

from __future__ import annotations

import asyncio

from intention_kernel.testing.fleet import Kind, Member
from intention_kernel.verification.bank.steps import Emit, Pause, Reserve, Step

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.looking import looking_at
from tests.campaigns.metrics import counted
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_PROCESSES: dict[Kind, int] = {"turn-runner": 4, "outbox-relay": 1, "receipt-reconciler": 1}
_SETUP = Setup(shape=Shape(per_second=10.0), processes=_PROCESSES)
_SLOW_THREADS = 8
_SLOW_EVERY_SECONDS = 0.6
_FASTEST_SECONDS, _SLOWEST_SECONDS = 2.0, 4.0
_EACH_SECONDS = 10.0
"""The longest that a rebalance may take to come about, on the average."""

_LOOK_AGAIN_SECONDS = 0.2
_SLOW = "select count(*) from turns where turn_id like 'slow-%'"


async def run(plan: Plan) -> Result:
    """At least `count` rebalances."""
    return await play(plan, _rebalance, _SETUP)


async def _rebalance(arena: Arena) -> Counts:
    stays, *others = (member for member in arena.fleet.members if member.kind == "turn-runner")
    over = asyncio.Event()
    cycles = [asyncio.create_task(_come_and_go(arena, member, over)) for member in others]
    slow = asyncio.create_task(_send_slow(arena, over))
    seen = await _await_rebalances(arena, stays)
    async with looking_at(arena.place.installation.database_url) as database:
        done = await database.fetchval(_SLOW)
    over.set()
    ended = sum(await asyncio.gather(*cycles))
    if not done:
        arena.problems.append("no slow turn was committed during the rebalances")
    return {"rebalances": seen, "runners_ended": ended, "slow_turns": await slow, "slow_turns_meanwhile": done}


async def _await_rebalances(arena: Arena, stays: Member) -> int:
    """How many the runner that stays has seen, once it is enough or patience is over."""
    clock, wanted = asyncio.get_running_loop().time, arena.plan.count
    deadline = clock() + wanted * _EACH_SECONDS
    before = (await counted(stays, "turn_runner_rebalances"))[""]
    while (seen := (await counted(stays, "turn_runner_rebalances"))[""] - before) < wanted:
        if clock() > deadline:
            arena.problems.append(f"{seen} rebalances within {wanted * _EACH_SECONDS:g} s, not {wanted}")
            break
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return seen


async def _come_and_go(arena: Arena, member: Member, over: asyncio.Event) -> int:
    """How often it ended: by turns in order, which leaves the group, and by SIGKILL, which the group finds out."""
    number = 0
    while not over.is_set():
        if number % 2 == 0:
            member.process.terminate()
            if code := await member.process.await_end():
                arena.problems.append(
                    f"{member.name} ended with {code} when it was stopped:\n{member.process.output()}"
                )
        await arena.fleet.replace(member)
        number += 1
    return number


async def _send_slow(arena: Arena, over: asyncio.Event) -> int:
    """Slow turns over threads of their own, each with an effect when its time is over."""
    number = 0
    while not over.is_set():
        number += 1
        fraction = arena.plan.draws.fraction("slow", str(number))
        seconds = _FASTEST_SECONDS + fraction * (_SLOWEST_SECONDS - _FASTEST_SECONDS)
        steps: list[Step] = [Pause(seconds=seconds), Reserve(key=f"slow-{number}"), Emit(count=1)]
        await arena.traffic.say(f"slow-{number % _SLOW_THREADS}", steps, f"slow-{number}")
        await asyncio.sleep(_SLOW_EVERY_SECONDS)
    return number


CAMPAIGN = Campaign(
    name="rebalances",
    title="rebalances while slow turns are under way",
    unit="rebalances",
    count=50,
    short=3,
    run=run,
)

"""SIGKILLs at random moments over runners, relays and reconcilers."""

from __future__ import annotations

import asyncio

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_LONGEST_WAIT_SECONDS = 0.3
_SETUP = Setup(
    shape=Shape(per_second=20.0),
    processes={"turn-runner": 4, "outbox-relay": 3, "receipt-reconciler": 3},
    forked=True,
    most_starting=5,
)
"""A forked start costs little, and most of its time is the wait for the dead one's session."""


async def run(plan: Plan) -> Result:
    """`count` kills, each of a process that works; a successor is started at once."""
    return await play(plan, _kill, _SETUP)


async def _kill(arena: Arena) -> Counts:
    draws = arena.plan.draws
    for number in range(arena.plan.count):
        await asyncio.sleep(_LONGEST_WAIT_SECONDS * draws.fraction("wait", str(number)))
        await arena.fleet.kill_one(draws.fraction("victim", str(number)))
    killed = arena.fleet.killed
    return {"kills": sum(killed.values()), **{f"kills_{kind}": count for kind, count in sorted(killed.items())}}


CAMPAIGN = Campaign(
    name="kills",
    title="SIGKILL at random moments over runners, relays and reconcilers",
    unit="kills",
    count=1000,
    short=12,
    run=run,
)

"""Kafka is killed or stopped and comes back, under load; in between, turns are committed that nobody can be told of.

What must hold: no process of ours ends by itself, no outbox row is lost, and everything is published in its order once the
broker is back. That it struck: every absence is one that this campaign ends itself, and the longest of them begins with
so much work in the runners' hands that rows have to pile up in the outbox; there have to be some.
"""

from __future__ import annotations

import asyncio

from intention_kernel.testing.scratch import fetch_value

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_SETUP = Setup(shape=Shape(per_second=20.0))
_BETWEEN_SECONDS = 3.0
_LONG_SECONDS = 25.0
_LONG_SECONDS_EACH = 5.0
_BURST = 120
"""Turns that are under way when the long absence begins."""

_OUTBOX = "select count(*) from outbox"


async def run(plan: Plan) -> Result:
    """`count` absences, SIGKILL and orderly stop in turns; the seed says when, and which is the long one."""
    return await play(plan, _absences, _SETUP)


async def _absences(arena: Arena) -> Counts:
    draws, count = arena.plan.draws, arena.plan.count
    long, first_is_kill = draws.number(count, "long"), draws.number(2, "kill") == 0
    kills = piled_up = 0
    for number in range(count):
        await asyncio.sleep(_BETWEEN_SECONDS * draws.fraction("wait", str(number)))
        is_kill = (number % 2 == 0) == first_is_kill
        kills += is_kill
        if number == long:
            await arena.traffic.send(_BURST)
        await _end_kafka(arena, is_kill=is_kill)
        if number == long:
            await asyncio.sleep(min(_LONG_SECONDS, _LONG_SECONDS_EACH * count))
            piled_up = await fetch_value(arena.place.installation.database_url, _OUTBOX)
        await arena.plan.ground.own.start_kafka()
    if not piled_up:
        arena.problems.append("while Kafka was away for long nothing piled up in the outbox")
    return {"kafka_kills": kills, "kafka_stops": count - kills, "outbox_rows_while_away": piled_up}


async def _end_kafka(arena: Arena, *, is_kill: bool) -> None:
    own = arena.plan.ground.own
    await (own.kill_kafka() if is_kill else own.stop_kafka())


CAMPAIGN = Campaign(
    name="kafka",
    title="Kafka is killed or stopped and comes back, once after long enough for the outbox to fill",
    unit="absences",
    count=5,
    short=1,
    run=run,
    own_servers=True,
)

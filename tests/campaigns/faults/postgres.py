"""Postgres killed and restarted under load.

Fault: SIGKILL to the postmaster and all its children at a moment from the seed; it stays away for a moment, and every
fourth time for longer than a lease, then recovers from its log. Between some kills it is restarted in order besides, which
ends every session with an error of its own (57P01).

What must hold: whatever was answered is there after the recovery, and what was not is asked again with the same ids; no
attempt is used up by it, though each turn has one only; no process ends; turns are committed again after every return.

That it struck: each kill is counted when the processes are gone, which the ground sees to, and each time a commit of a
time after the return is awaited, so that no two kills fall into one outage.
"""

from __future__ import annotations

import asyncio

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.going_on import ONE_ATTEMPT, seconds_until_a_commit
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_LEASE_SECONDS = 2.0
_LONG_SECONDS = 1.3 * _LEASE_SECONDS
_SHORT_SECONDS = 0.4
_LONGEST_LOAD_SECONDS = 0.5
_PATIENCE_SECONDS = 30.0
_LONG_EVERY, _ORDERLY_EVERY = 4, 5
_SETUP = Setup(
    shape=Shape(per_second=20.0),
    environment={**ONE_ATTEMPT, "INTENTION_LEASE_SECONDS": str(_LEASE_SECONDS)},
)


async def run(plan: Plan) -> Result:
    """`count` kills, and a fifth as many restarts in order."""
    return await play(plan, _disturb, _SETUP)


async def _disturb(arena: Arena) -> Counts:
    recoveries = list[float]()
    counts: dict[str, int] = {"postgres_kills": 0, "postgres_restarts": 0, "away_beyond_lease": 0}
    for number in range(arena.plan.count):
        away = _away_seconds(arena, number)
        recoveries.append(await _strike(arena, f"kill-{number}", away, kill=True))
        counts["postgres_kills"] += 1
        counts["away_beyond_lease"] += away > _LEASE_SECONDS
        if number % _ORDERLY_EVERY == 0:
            recoveries.append(await _strike(arena, f"restart-{number}", 0.0, kill=False))
            counts["postgres_restarts"] += 1
    return {**counts, "longest_recovery_seconds": round(max(recoveries), 2)}


async def _strike(arena: Arena, name: str, away_seconds: float, *, kill: bool) -> float:
    """Load, the blow, its absence, its return; the seconds from the return to the next commit."""
    own = arena.plan.ground.own
    await asyncio.sleep(_LONGEST_LOAD_SECONDS * arena.plan.draws.fraction("load", name))
    await (own.kill_postgres() if kill else own.stop_postgres())
    await asyncio.sleep(away_seconds)
    await own.start_postgres()
    return await seconds_until_a_commit(arena, _PATIENCE_SECONDS)


def _away_seconds(arena: Arena, number: int) -> float:
    if number % _LONG_EVERY == 1:
        return _LONG_SECONDS
    return _SHORT_SECONDS * arena.plan.draws.fraction("away", str(number))


CAMPAIGN = Campaign(
    name="postgres",
    title="Postgres killed and restarted under load, some times away for longer than a lease",
    unit="kills",
    count=20,
    short=2,
    run=run,
    own_servers=True,
)

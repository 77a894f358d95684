"""Whether work goes on: seen in the database, from a connection of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from intention_kernel.postgres.errors import DRIVER_ERRORS

from tests.campaigns.looking import looking_at
from tests.campaigns.play import Arena

ONE_ATTEMPT: Mapping[str, str] = {"INTENTION_TURN_ATTEMPTS": "1", "INTENTION_SESSION_TIMEOUT_SECONDS": "60"}
"""Settings under which a fault that uses up an attempt gives its turn up, which the checker finds: where no process of ours
is killed. The group leaves a slow runner its partitions, for a turn that another runner begins is another attempt."""

_LOOK_AGAIN_SECONDS = 0.05


async def seconds_until_a_commit(arena: Arena, patience_seconds: float) -> float:
    """How long it took until one more turn was committed than there were at the call.

    Where it takes longer than the patience, that is one of the arena's problems.
    """
    clock = asyncio.get_running_loop().time
    begun, before = clock(), None
    while clock() - begun < patience_seconds:
        try:
            async with looking_at(arena.place.installation.database_url) as database:
                while clock() - begun < patience_seconds:
                    now = await database.fetchval("select count(*) from turns")
                    before = now if before is None else before
                    if now > before:
                        return clock() - begun
                    await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        except DRIVER_ERRORS:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    arena.problems.append(f"nothing was committed within {patience_seconds:g} s after the fault was over")
    return clock() - begun

"""Processes that stop at their failpoints and go on when they are told to."""

from __future__ import annotations

import asyncio

from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.fleet import Member

AWAY_SECONDS = 2.8
"""Longer than the lease and the session of a campaign's processes, which are 2 s."""


async def resume_each_stop(member: Member, stops: int, patience_seconds: float) -> int:
    """Let it stop so many times, each time for AWAY_SECONDS; returns how often it did.

    It gives up where the process does not stop within the patience.
    """
    for number in range(stops):
        try:
            await member.process.await_stopped(patience_seconds)
        except InfrastructureError:
            return number
        await asyncio.sleep(AWAY_SECONDS)
        member.process.resume()
    return stops

"""Kills that are spread over the work: each falls into a share of the turns of its own, while some are under way."""

from __future__ import annotations

import asyncio

from intention_kernel.testing.draws import Draws
from intention_kernel.testing.fleet import Fleet

_LONGEST_DELAY_SECONDS = 0.5
_LAST_SHARE = 0.85
_MOST_AHEAD_TURNS = 64
"""How many turns may begin beyond the next kill's place before they wait for it."""


class Kills:
    """`count` kills over about `turns` turns. Players ask `admit` before each turn; `run` kills."""

    def __init__(self, count: int, turns: int, draws: Draws) -> None:
        # The last turns have no kill of their own, so that one that comes late still meets work.
        shares = ((number + draws.fraction("place", str(number))) / count for number in range(count))
        self._places = [int(_LAST_SHARE * turns * share) for share in shares]
        self._ahead = max(1, min(_MOST_AHEAD_TURNS, int(turns * (1 - _LAST_SHARE))))
        self._draws = draws
        self._begun = 0
        self._changed = asyncio.Condition()
        self.done = 0

    async def admit(self) -> None:
        """Returns when the turn may begin: work does not run away from the kills that belong into it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._begun < self._limit())
            self._begun += 1
            self._changed.notify_all()

    async def run(self, fleet: Fleet) -> None:
        """Returns when all kills are done; from then on, or after an error, no turn waits any more."""
        try:
            for number, place in enumerate(self._places):
                await self._until_begun(place)
                # So that it meets turns wherever they are.
                await asyncio.sleep(_LONGEST_DELAY_SECONDS * self._draws.fraction("delay", str(number)))
                await fleet.kill_one(self._draws.fraction("victim", str(number)))
                self.done += 1
                await self._tell()
        finally:
            self._places = []
            await self._tell()

    async def _until_begun(self, place: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._begun >= place)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _limit(self) -> float:
        left = self._places[self.done :]
        return left[0] + self._ahead if left else float("inf")

"""Kills that are spread over the work: each falls into a share of the turns of its own, while some are under way."""

from __future__ import annotations

import asyncio

from examples.retail.campaign.fleet import Fleet
from examples.retail.campaign.plan import Draws

_AHEAD_TURNS = 64
"""How many turns may begin beyond the next kill's place before they wait for it."""

_LONGEST_DELAY_SECONDS = 0.5


class Kills:
    """`count` kills over about `turns` turns. Players ask `admit` before each turn; `run` kills."""

    def __init__(self, count: int, turns: int, draws: Draws) -> None:
        shares = (number + draws.fraction("place", str(number)) for number in range(count))
        self._places = [int(share * turns / count) for share in shares]
        self._draws = draws
        self._begun = 0
        self.done = 0
        self._changed = asyncio.Condition()

    async def admit(self) -> None:
        """Returns when the turn may begin: work does not run away from the kills that belong into it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._begun < self._limit())
            self._begun += 1
            self._changed.notify_all()

    async def run(self, fleet: Fleet) -> None:
        """Returns when all kills are done."""
        for number, place in enumerate(self._places):
            async with self._changed:
                await self._changed.wait_for(lambda place=place: self._begun >= place)  # type: ignore[misc]
            # So that it meets turns wherever they are.
            await asyncio.sleep(_LONGEST_DELAY_SECONDS * self._draws.fraction("delay", str(number)))
            await fleet.kill_one(self._draws.fraction("victim", str(number)))
            async with self._changed:
                self.done += 1
                self._changed.notify_all()

    def _limit(self) -> float:
        left = self._places[self.done :]
        return left[0] + _AHEAD_TURNS if left else float("inf")

"""Connections to Postgres cut in every way that a network knows.

Fault: a proxy between our processes and Postgres refuses new connections for a while and resets all that are there; resets
one in the middle of a statement; delays all bytes; lets a connection fall silent in one direction or both while nothing
closes (half-open); and, aimed at the statements of the boundary, lets the server do its work and loses the reply. Twice
everything falls silent at once while a process is replaced, so that its first look at the database meets the silence.

What must hold: a statement that got no answer is asked again with the same ids and finds "mine, already done" (protocol
R11); a silent connection is given up by our own bounds (8 s for an answer, 5 s for a connection: `postgres/pool.py`); no
process ends.

That it struck: a reset counts only where a statement was under way on that connection, a lost reply only once the server
has said that the statement is done, a silence only on a connection that was open. Together they are as many as asked for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import get_args

from intention_kernel.postgres.statements import statement

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.going_on import seconds_until_a_commit
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.proxy import Direction, Link, Proxy, open_proxy
from tests.campaigns.traffic import Shape

_AIMED_AT = (
    "begin_turns",
    "prepare_effects",
    "end_effects",
    "commit_turns",
    "commit_turns",
    "relay_delete",
    "store_progress",
    "reconciler_settle",
)
_SHARES: Mapping[str, float] = {"lost_reply": 0.4, "reset": 0.34, "half_open": 0.14, "delay": 0.06, "refuse": 0.06}
_SILENT_FOR_ALL = 2
_SILENCE_SECONDS = 6.0
_AIM_SECONDS = 20.0
_SHORTEST_SILENCE_OF_ALL = 50
"""Of a run with fewer cuts it would be most of the time."""

_PATIENCE_SECONDS = 60.0


async def run(plan: Plan) -> Result:
    """`count` cuts."""
    names = {statement(name): name for name in _AIMED_AT}
    async with open_proxy(plan.ground.servers.database_url, names) as proxy:
        setup = Setup(shape=Shape(per_second=20.0), through=proxy.url)
        return await play(plan, lambda arena: _Cuts(arena, proxy).make(), setup)


class _Cuts:
    """All cuts of one run, one after the other; a half-open connection stays so while the next ones come."""

    def __init__(self, arena: Arena, proxy: Proxy) -> None:
        self._arena = arena
        self._proxy = proxy
        self._draws = arena.plan.draws
        self._struck: Counter[str] = Counter()
        self._ways: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "lost_reply": self._lose_reply,
            "reset": self._reset,
            "half_open": self._half_open,
            "delay": self._delay,
            "refuse": self._refuse,
        }

    async def make(self) -> Counts:
        """Returns what struck."""
        count = self._arena.plan.count
        for number, way in enumerate(self._order(count)):
            await asyncio.sleep(0.1 * self._draws.fraction("pause", str(number)))
            await self._ways[way](str(number))
            if count >= _SHORTEST_SILENCE_OF_ALL and (number + 1) % (count // _SILENT_FOR_ALL) == 0:
                await self._silence_for_all()
        recovery = await seconds_until_a_commit(self._arena, _PATIENCE_SECONDS)
        made = sum(self._struck[way] for way in _SHARES)
        if made < count:
            self._arena.problems.append(f"{made} of {count} cuts struck: {dict(self._struck)}")
        return {"cuts": made, **self._struck, "recovery_seconds": round(recovery, 2)}

    def _order(self, count: int) -> list[str]:
        """Each way as often as its share says, at least once, in the seed's order."""
        ways = [way for way, share in _SHARES.items() for _ in range(max(1, int(share * count)))]
        ways += ["lost_reply"] * (count - len(ways))
        places = sorted(range(count), key=lambda place: self._draws.fraction("order", str(place)))
        return [ways[place] for place in places]

    async def _lose_reply(self, number: str) -> None:
        name = _AIMED_AT[self._draws.number(len(_AIMED_AT), "aim", number)]
        try:
            await asyncio.wait_for(self._proxy.lose_a_reply(name), _AIM_SECONDS)
        except TimeoutError:
            self._arena.problems.append(f"no reply to {name} came by within {_AIM_SECONDS:g} s")
            return
        self._count("lost_reply", f"lost_reply_{name}")

    async def _reset(self, number: str) -> None:
        link = await self._await_link(number, lambda link: link.running is not None)
        if link is not None:
            link.reset()
            self._count("reset")

    async def _half_open(self, number: str) -> None:
        link = await self._await_link(number, lambda link: link.is_open)
        if link is not None:
            directions = get_args(Direction)
            link.silent = directions[self._draws.number(len(directions), "direction", number)]
            self._count("half_open", f"half_open_{link.silent.replace(' ', '_')}")

    async def _delay(self, number: str) -> None:
        self._proxy.delay_seconds = 0.05 + 0.25 * self._draws.fraction("delay", number)
        await asyncio.sleep(1.0)
        self._proxy.delay_seconds = 0.0
        self._count("delay")

    async def _refuse(self, number: str) -> None:
        self._proxy.refuse()
        for link in tuple(self._proxy.links):
            link.reset()
        await asyncio.sleep(0.5 + self._draws.fraction("refusal", number))
        await self._proxy.listen()
        self._count("refuse")

    async def _silence_for_all(self) -> None:
        self._struck["half_open_at_once"] += len(self._proxy.links)
        self._proxy.fall_silent("both")
        await self._arena.fleet.kill_one(self._draws.fraction("victim", str(self._struck.total())))
        await asyncio.sleep(_SILENCE_SECONDS)
        self._proxy.speak_again()
        self._count("silences_of_all")
        await seconds_until_a_commit(self._arena, _PATIENCE_SECONDS)

    async def _await_link(self, number: str, fits: Callable[[Link], bool]) -> Link | None:
        """One of the connections that fit, once there is one."""
        deadline = asyncio.get_running_loop().time() + _AIM_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            if found := [link for link in self._proxy.links if link.silent is None and fits(link)]:
                return found[self._draws.number(len(found), "link", number)]
            await asyncio.sleep(0)
        self._arena.problems.append(f"cut {number} found no connection to strike within {_AIM_SECONDS:g} s")
        return None

    def _count(self, *names: str) -> None:
        self._struck.update(names)


CAMPAIGN = Campaign(
    name="network",
    title="connections to Postgres refused, reset in mid-statement, delayed, half-open, and replies lost after the commit",
    unit="cuts",
    count=200,
    short=10,
    run=run,
)

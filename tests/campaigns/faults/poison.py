"""Turns that kill the process they run in, whenever they run, among turns of others.

What must hold: each of them is given up after its attempts, with its `turn.failed` event, and its thread goes on; nothing
else is given up, though whatever shared a process with it has lost attempts, too (protocol R6: attempts are counted in the
database, and after two crashes a turn runs alone). That it struck: every one of them is set aside after exactly its
attempts, and from the third on each attempt is a process of its own that died.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import asyncpg
from intention_kernel.history.values import Allowed
from intention_kernel.testing.fleet import Kind
from intention_kernel.verification.bank.steps import Die, Emit

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_ATTEMPTS = 5
_TOGETHER = 2
"""Attempts of several poison turns that may end in one death; later ones run alone."""

_PROCESSES: dict[Kind, int] = {"turn-runner": 3, "outbox-relay": 1, "receipt-reconciler": 1}
_SETUP = Setup(
    shape=Shape(per_second=8.0),
    processes=_PROCESSES,
    environment={"INTENTION_TURN_ATTEMPTS": str(_ATTEMPTS)},
)
_LOOK_AGAIN_SECONDS = 0.05
_GIVEN_UP_SECONDS = 240.0
_GIVEN_UP = "select turn_id, attempts from set_aside_turns where turn_id = any($1::text[])"


async def run(plan: Plan) -> Result:
    """`count` poison turns, each on a thread of its own, each followed by turns that are well."""
    return await play(plan, _poison, _SETUP)


async def _poison(arena: Arena) -> Counts:
    poison = [(f"poisoned-{number}", f"poison-{number}") for number in range(arena.plan.count)]
    arena.allowed = Allowed(set_aside=frozenset(poison))
    deaths: Counter[str] = Counter()
    supervising = asyncio.create_task(_supervise(arena, deaths))
    try:
        for thread_id, turn_id in poison:
            await asyncio.sleep(arena.plan.draws.fraction("wait", thread_id))
            await arena.traffic.say(thread_id, [Emit(1)], f"{turn_id}-before")
            await arena.traffic.say(thread_id, [Emit(2), Die()], turn_id)
            await arena.traffic.say(thread_id, [Emit(1)], f"{turn_id}-after")
        attempts = await _await_given_up(arena, [turn_id for _, turn_id in poison])
    finally:
        supervising.cancel()
        await asyncio.wait([supervising])
    _judge(arena, attempts, sum(deaths.values()))
    return {"poison_turns": len(poison), "attempts": sum(attempts.values()), "deaths": sum(deaths.values())}


async def _supervise(arena: Arena, deaths: Counter[str]) -> None:
    """What a container platform does: what has died starts again in its place."""
    replacing: set[asyncio.Task[None]] = set()
    while True:
        for member in arena.fleet.members:
            if member.ready and not member.process.running and await arena.fleet.await_death(member):
                deaths[member.name] += 1
                member.ready = False
                task = asyncio.create_task(arena.fleet.replace(member))
                replacing.add(task)
                task.add_done_callback(replacing.discard)
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def _await_given_up(arena: Arena, turn_ids: list[str]) -> dict[str, int]:
    """Attempts by turn, once all of them are set aside; what there is when patience is over."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _GIVEN_UP_SECONDS
    connection = await asyncpg.connect(arena.place.installation.database_url)
    try:
        while True:
            found = {row["turn_id"]: row["attempts"] for row in await connection.fetch(_GIVEN_UP, turn_ids)}
            if len(found) == len(turn_ids) or clock() > deadline:
                return found
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    finally:
        await connection.close()


def _judge(arena: Arena, attempts: dict[str, int], deaths: int) -> None:
    count = arena.plan.count
    if len(attempts) < count:
        arena.problems.append(f"{count - len(attempts)} of {count} poison turns are not set aside")
    for turn_id, found in sorted(attempts.items()):
        if found != _ATTEMPTS:
            arena.problems.append(f"{turn_id} was set aside after {found} attempts, not {_ATTEMPTS}")
    fewest = count * (_ATTEMPTS - _TOGETHER) + _TOGETHER
    if deaths < fewest:
        arena.problems.append(f"{deaths} processes died, {count} poison turns kill at least {fewest}")


CAMPAIGN = Campaign(
    name="poison",
    title="turns that kill their process whenever they run, among turns of others",
    unit="poison turns",
    count=5,
    short=1,
    run=run,
)

"""Run one scenario with one seed until nothing can move any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from intention_kernel.postgres.operator_queue import open_queue
from intention_kernel.postgres.pool import PINNED_PLANS
from intention_kernel.postgres.store import PostgresStore

from tests.stress import checks
from tests.stress.moves_outside import outside_moves
from tests.stress.moves_reconciler import reconciler_moves
from tests.stress.moves_runner import runner_moves, settle
from tests.stress.scenario import SCENARIOS
from tests.stress.world import Bench, Move, World, close, new_world

MOST_MOVES = 400
_ACTORS = ("A", "B", "group", "time", "relay", "provider", "net", "scanner", "resolver", "people")


@asynccontextmanager
async def open_bench(database_url: str) -> AsyncIterator[Bench]:
    """Stores and connections for runs over this database."""
    async with (
        PostgresStore.open(database_url) as first,
        PostgresStore.open(database_url) as second,
        open_queue(database_url) as receipts,
    ):
        connection = await asyncpg.connect(database_url, server_settings=PINNED_PLANS)
        blocker = await asyncpg.connect(database_url)
        try:
            yield Bench((first, second), receipts, connection, blocker)
        finally:
            await connection.close()
            await blocker.close()


async def run(name: str, seed: int, bench: Bench) -> int:
    """How many moves it took. Raises ViolationError."""
    world = new_world(name, SCENARIOS[name], seed, bench)
    for runner in world.runners:
        await bench.stores[0].record_start(runner.instance, runner.boot)
    try:
        await _run(world)
    finally:
        await close(world)
    return len(world.schedule)


async def _run(world: World) -> None:
    fault_share = world.rng.choice((0.1, 0.25, 0.5))
    weights = _weights(world)
    for _ in range(MOST_MOVES):
        if not world.is_fresh:
            await world.look()
            checks.safe(world)
        moves = [*outside_moves(world), *reconciler_moves(world), *runner_moves(world)]
        progress = [move for move in moves if move.fault is None]
        faults = [move for move in moves if move.fault is not None and world.left[move.fault] > 0]
        if not progress:
            await checks.at_rest(world)
            return
        if world.rng.random() < 0.05:
            weights = _weights(world)
        move = _choose(world, progress, faults, fault_share, weights)
        world.schedule.append(move.label)
        world.is_fresh = False
        await move.do()
        for runner in world.runners:
            await settle(world, runner)
    raise world.violation(f"RESTLESS: still moving after {MOST_MOVES} moves")


def _choose(
    world: World, progress: list[Move], faults: list[Move], fault_share: float, weights: dict[str, float]
) -> Move:
    if faults and world.rng.random() < fault_share:
        move = world.rng.choice(faults)
        assert move.fault is not None
        world.left[move.fault] -= 1
        return move
    return world.rng.choices(progress, [weights[move.actor] for move in progress])[0]


def _weights(world: World) -> dict[str, float]:
    """Some actors are fast for a while and others slow, so that long pauses are as likely as short ones."""
    return {actor: 10.0 ** world.rng.uniform(-1.5, 1.5) for actor in _ACTORS}

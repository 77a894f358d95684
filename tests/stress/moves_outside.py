"""Moves of everything outside the runners: the group, leases, the relay, the provider, late statements, redrives."""

from __future__ import annotations

from collections.abc import Iterator

from tests.stress.moves_runner import execute
from tests.stress.provider import Call
from tests.stress.runner import Runner
from tests.stress.world import Late, Move, World


def outside_moves(world: World) -> Iterator[Move]:
    """What may happen now."""
    yield from _group(world)
    yield from _lease(world)
    yield from _relay(world)
    for call in world.provider.calls:
        if call.state == "sent":
            yield from _provider(world, call)
    for late in world.late:
        yield Move("net", f"{late.sender}'s late {late.parked} arrives", lambda late=late: _arrive(world, late))  # type: ignore[misc]
    yield from _redrive(world)


def _group(world: World) -> Iterator[Move]:
    owner, other = world.runners[world.owner], world.runners[1 - world.owner]

    async def assign(number: int) -> None:
        world.generation += 1
        world.owner = number
        runner = world.runners[number]
        if not runner.alive:
            await rise(world, runner)
        runner.forget()
        runner.generation, runner.position = world.generation, world.committed

    free = world.scenario.two_runners and other.alive and other.work is None and other.generation == 0
    if not owner.alive:
        if free:
            yield Move("group", f"session timeout, partition to {other.name}", lambda: assign(1 - world.owner))
        else:
            yield Move("group", f"{owner.name} starts again", lambda: assign(world.owner))
    elif free:
        yield Move("group", f"rebalance to {other.name}", lambda: assign(1 - world.owner), "rebalance")
    for runner in world.runners:
        if not runner.alive and runner is not owner and world.scenario.two_runners:
            yield Move("group", f"{runner.name} starts again", lambda runner=runner: rise(world, runner))  # type: ignore[misc]


async def rise(world: World, runner: Runner) -> None:
    """A new life, and with it the proof that the old one is over (R22 c)."""
    runner.rise()
    await world.bench.stores[0].record_start(runner.instance, runner.boot)


def _lease(world: World) -> Iterator[Move]:
    state = world.state
    if not state.lease_is_live or state.head is None:
        return
    nonce = state.head["lease_nonce"]
    held = any(runner.alive and runner.work and str(runner.nonce) == nonce for runner in world.runners)

    async def expire() -> None:
        await world.bench.connection.execute(
            "update threads set lease_until = clock_timestamp() - interval '1 s' where thread_id = $1", world.thread_id
        )
        for runner in world.runners:
            runner.waits = False

    if held:
        yield Move("time", "the lease ends, its holder is paused", expire, "expire")
    else:
        yield Move("time", "the lease ends, nobody holds it", expire)


def _relay(world: World) -> Iterator[Move]:
    if not world.state.requests:
        return
    first = world.state.requests[0]

    async def publish() -> None:
        world.append(first["dedupe"], first["value"].encode())
        await world.bench.connection.execute(
            "delete from outbox where thread_id = $1 and topic = 'turns.requests' and dedupe = $2",
            world.thread_id,
            first["dedupe"],
        )

    yield Move("relay", f"the relay publishes {first['dedupe']}", publish)


def _provider(world: World, call: Call) -> Iterator[Move]:
    async def become(state: str) -> None:
        if state == "applied":
            world.provider.apply(call)
        elif state == "lost":
            call.state = "lost"
        else:
            call.state = "refused"

    yield Move("provider", f"the provider applies {call}", lambda: become("applied"))
    yield Move("provider", f"the call {call} is lost on its way", lambda: become("lost"), "drop")
    yield Move("provider", f"the provider refuses {call}", lambda: become("refused"), "refuse")


async def _arrive(world: World, late: Late) -> None:
    world.late.remove(late)
    await execute(world, late.parked)


def _redrive(world: World) -> Iterator[Move]:
    """As an operator redrives it (R33): not while one of the turn's receipts is open."""
    open_receipts = any(
        row["state"] in ("prepared", "uncertain") or row["contradicted"] for row in world.state.receipts.values()
    )
    for aside in world.state.asides:
        if (
            aside["state"] != "open"
            or open_receipts
            or not world.redrives
            or aside["turn_id"] not in world.scenario.log
        ):
            continue
        name, revision = aside["turn_id"], aside["revision"]

        async def redrive(name: str = name, revision: int = revision) -> None:
            world.redrives -= 1
            outcome = await world.bench.connection.fetchval(
                "select outcome from redrive_turn_v1($1, $2, true, false, gen_random_uuid(), 'people', '')",
                world.thread_id,
                revision,
            )
            assert outcome == "redriven", outcome
            # As the relay would: the record's name here is its turn's, not its row's.
            value = await world.bench.connection.fetchval(
                "delete from outbox where thread_id = $1 and dedupe = $2 returning value",
                world.thread_id,
                f"redrive:{revision}",
            )
            world.append(name, value)

        yield Move("people", f"{name} is redriven", redrive)

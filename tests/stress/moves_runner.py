"""Moves of the two runners, and what may go wrong with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from intention_kernel.errors import InfrastructureError, IntentionKernelError
from intention_kernel.ports.effect_store import EndAttempt
from intention_kernel.postgres.packing import unpack

from tests.stress import checks
from tests.stress.gates import Parked
from tests.stress.program import ProgramFailedError, agent_of
from tests.stress.runner import Runner
from tests.stress.world import Late, Move, World

_WAITING = (
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    " and state = 'active'"
)
_STATEMENTS_THAT_LOCK_THE_HEAD = frozenset({"begin", "prepare", "commit", "release", "set_aside"})


def runner_moves(world: World) -> Iterator[Move]:
    """What may happen now."""
    for runner in world.runners:
        if runner.alive:
            yield from _of(world, runner)
    yield from _overlap(world)


def _of(world: World, runner: Runner) -> Iterator[Move]:
    name = runner.name
    if runner.work is not None or runner.gates.parked:
        yield Move(name, f"{name} is killed", lambda: _kill(world, runner), "kill")
    for parked in runner.gates.parked:  # without work: what it has yet to record of a turn that it gave up
        yield from _parked(world, runner, parked)
    if runner.work is not None:
        return
    if runner.generation == world.generation and runner.position < len(world.log) and not runner.lane:
        record = world.log[runner.position]
        yield Move(name, f"{name} polls {record.name}", lambda: _poll(world, runner))
    if runner.generation and runner.generation != world.generation:
        yield Move(name, f"{name} hears of the revocation", lambda: _forget(runner))
    if runner.lane and runner.generation and not (runner.waits and world.state.lease_is_live):
        yield Move(name, f"{name} delivers {runner.lane[0].name}", lambda: _deliver(world, runner))
    if runner.done:
        yield Move(name, f"{name} commits its offset", lambda: _commit_offset(world, runner))


def _parked(world: World, runner: Runner, parked: Parked) -> Iterator[Move]:
    name = runner.name
    if _asks_in_vain(world, parked):
        return
    if parked.kind == "reply":
        yield from _reply(world, runner, parked)
        return
    yield Move(name, f"{name}: {parked}", lambda: _go(world, runner, parked))
    if parked.kind == "model":
        yield Move(name, f"{name}: the program fails", lambda: _fail(runner, parked, ProgramFailedError()), "fail")
    if parked.kind == "statement":
        yield Move(name, f"{name}: {parked}, answer lost, to be sent again", lambda: _lose(world, parked), "lose")
        yield Move(name, f"{name}: {parked}, and a copy comes late", lambda: _copy(world, runner, parked), "late")
        yield Move(name, f"{name}: {parked}: unknown", lambda: _unknown(world, runner, parked), "unknown")


def _asks_in_vain(world: World, parked: Parked) -> bool:
    """It was told that there is no such attempt and asks again, while leases might live: only a late prepare changes that."""
    request = parked.request
    return isinstance(request, EndAttempt) and request.attempt_id in world.absent - set(world.attempts)


def _reply(world: World, runner: Runner, parked: Parked) -> Iterator[Move]:
    call = next(
        call for call in world.provider.calls if str(call) == parked.subject and call.number == _last(world, parked)
    )
    name = runner.name

    async def time_out() -> None:
        await _fail(runner, parked, TimeoutError("no reply"))

    if call.state in ("applied", "refused"):
        yield Move(name, f"{name} hears: {call} {call.state}", lambda: _go(world, runner, parked))
    fault = None if call.state == "lost" else "timeout"
    yield Move(name, f"{name} hears nothing of {call}", time_out, fault)


def _last(world: World, parked: Parked) -> int:
    return max(call.number for call in world.provider.calls if str(call) == parked.subject)


def _overlap(world: World) -> Iterator[Move]:
    """Two statements wait for the head's lock at once, in this order."""
    ready = [
        (runner, parked)
        for runner in world.runners
        if runner.alive
        for parked in runner.gates.parked
        if parked.name in _STATEMENTS_THAT_LOCK_THE_HEAD
    ]
    if world.state.head is None or len(ready) != 2:
        return
    for first, second in ((ready[0], ready[1]), (ready[1], ready[0])):
        label = f"{first[0].name}: {first[1]} and {second[0].name}: {second[1]} meet"
        yield Move("net", label, lambda first=first, second=second: _meet(world, first, second), "overlap")  # type: ignore[misc]


async def _meet(world: World, first: tuple[Runner, Parked], second: tuple[Runner, Parked]) -> None:
    blocker = world.bench.blocker
    tasks = []
    async with blocker.transaction():
        await blocker.execute("select from threads where thread_id = $1 for update", world.thread_id)
        for place, (_, parked) in enumerate((first, second), 1):
            task = asyncio.ensure_future(parked.run())
            tasks.append(task)
            waiting = 0
            while not task.done() and waiting < place:
                waiting = await world.bench.connection.fetchval(_WAITING)
    answers = [await task for task in tasks]
    for (runner, parked), answer in zip((first, second), answers, strict=True):
        world.schedule.append(f"    -> {runner.name}: {type(answer).__name__}")
        await checks.after_statement(world, parked, answer)
    for (runner, parked), answer in zip((first, second), answers, strict=True):
        runner.gates.answer(parked, answer)
        await settle(world, runner)


async def _go(world: World, runner: Runner, parked: Parked) -> None:
    answer = await execute(world, parked)
    if isinstance(answer, KeyError):
        runner.gates.fail(parked, answer)
    else:
        runner.gates.answer(parked, answer)
    await settle(world, runner)


async def execute(world: World, parked: Parked) -> object:
    """Its answer, whoever hears that; for an end of what was never prepared the error that it is told."""
    try:
        answer = await parked.run()
    except KeyError as error:
        checks.after_absence(world, parked)
        world.schedule.append("    -> absent")
        return error
    except IntentionKernelError as error:
        raise world.violation(f"ERROR: {parked} raises {error}") from error
    if parked.kind == "statement":
        world.schedule.append(f"    -> {type(answer).__name__} {getattr(answer, 'how', '')}".rstrip())
        await checks.after_statement(world, parked, answer)
    return answer


async def _lose(world: World, parked: Parked) -> None:
    await execute(world, parked)


async def _copy(world: World, runner: Runner, parked: Parked) -> None:
    world.late.append(Late(runner.name, parked))
    await _go(world, runner, parked)


async def _unknown(world: World, runner: Runner, parked: Parked) -> None:
    fate = world.rng.randrange(3)
    world.schedule.append(f"    -> {('executed', 'never executed', 'still on its way')[fate]}")
    if fate == 0:
        await execute(world, parked)
    elif fate == 2:
        world.late.append(Late(runner.name, parked))
    await _fail(runner, parked, InfrastructureError("no answer"))
    await settle(world, runner)


async def _fail(runner: Runner, parked: Parked, error: Exception) -> None:
    runner.gates.fail(parked, error)


async def _kill(world: World, runner: Runner) -> None:
    for parked in runner.gates.parked:
        if parked.kind == "statement" and world.rng.randrange(2):
            world.schedule.append(f"    -> its {parked} is still on its way")
            world.late.append(Late(runner.name, parked))
    runner.gates.cut()
    await runner.end_work()
    runner.forget()


async def _poll(world: World, runner: Runner) -> None:
    runner.lane.append(world.log[runner.position])
    runner.position += 1


async def _forget(runner: Runner) -> None:
    runner.forget()
    runner.nonce = None


async def _deliver(world: World, runner: Runner) -> None:
    agent = agent_of(world.scenario, world.provider, runner.gates, world.rng.randrange)
    runner.start(agent, world.scenario.attempts)
    await settle(world, runner)


async def settle(world: World, runner: Runner) -> None:
    """Let the runner go on until it waits again or its delivery is over."""
    if runner.alive:
        await runner.rest()
    if runner.work is None or not runner.work.task.done():
        return
    record, result = runner.finish()
    word = f"{getattr(result, 'why', '')} {getattr(result, 'detail', '')}".strip()
    world.schedule.append(f"    => {runner.name}: {record.name}: {type(result).__name__} {word}".rstrip())
    stored = await _stored(world, record.name)
    checks.after_delivery(world, record, result, stored)
    for other in world.runners:
        other.waits = other.waits and other is runner


async def _stored(world: World, turn_id: str) -> bytes | None:
    packed = await world.bench.connection.fetchval(
        "select result from turns where thread_id = $1 and turn_id = $2", world.thread_id, turn_id
    )
    return None if packed is None else unpack(packed)


async def _commit_offset(world: World, runner: Runner) -> None:
    if runner.generation != world.generation:
        runner.forget()
        world.schedule.append("    -> refused, older generation")
        return
    before = world.committed
    while world.committed in runner.done:
        runner.done.discard(world.committed)
        world.committed += 1
    runner.done = {offset for offset in runner.done if offset >= world.committed}
    if world.committed == before and runner.done:
        runner.forget()
        return
    checks.offset_committed(world, before)

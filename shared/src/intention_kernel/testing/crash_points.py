"""The crash suite: a real process is killed or paused at a named failpoint, another takes over, and everything is as if
nothing had happened. It runs over any application; a World brings that and its provider.

A scenario sends a turn with effects and one more turn on its thread; the turn with effects is the first to pass every
failpoint. Then the process dies, or stops; a turn of a neighbour thread is sent while it is away.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.failpoints import FAILPOINTS
from intention_kernel.testing.aftermath import check_aftermath, effects_problems
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import Installation, System, open_system

PROVIDER_POINT = "provider.after_commit"
RUNNER_POINTS = tuple(name for name in FAILPOINTS if name.startswith("runner."))
RELAY_POINTS = tuple(name for name in FAILPOINTS if name.startswith("relay."))
RESOLUTION_POINT = "reconciler.after_resolution"
"""Passed only by a reconciler that accepts decisions from Kafka."""
RECONCILER_POINTS = tuple(name for name in FAILPOINTS if name.startswith("reconciler.") and name != RESOLUTION_POINT)

_FENCED_WORK = (Path(__file__).parent / "sql" / "fenced_work.sql").read_text("utf-8")

SETTLED_AGAIN_POINTS = frozenset({"runner.before_send"})
"""A runner that pauses there has sent nothing when its receipt is settled; it sends when it goes on. The provider knows the key and
repeats its first answer, which comes from an attempt that is over: the receipt is flagged for a person (protocol R25)."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is asked. `effects` are the ledger's entries once all is done, one each."""

    with_effects: TurnRequest
    after: TurnRequest
    neighbour: TurnRequest
    effects: tuple[str, ...]

    @property
    def requests(self) -> tuple[TurnRequest, ...]:
        """In the order in which they are sent."""
        return self.with_effects, self.after, self.neighbour


class World(Protocol):
    """An application's outside, running, fresh for each scenario."""

    @property
    def provider(self) -> Process:
        """The provider's process."""
        ...

    @property
    def conversation(self) -> Conversation:
        """The same at every call."""
        ...

    async def lose_next_reply(self) -> None:
        """The next effect happens and its reply gets lost."""
        ...

    async def ledger(self) -> list[str]:
        """The provider's own record: one entry an effect that happened."""
        ...

    def calls(self) -> list[str]:
        """The same for the requests that reached it: a provider that knows our keys hides a second call from its ledger."""
        ...


async def kill_runner_at(failpoint: str, world: World, installation: Installation) -> None:
    """SIGKILL of the turn-runner there; its successor does the rest."""
    async with open_system(installation) as system:
        await _send_first(system, world)
        runner = await system.start_runner(f"{failpoint}=kill")
        await system.start_relay()
        await system.start_reconciler()
        await _await_death(runner)
        await system.send(world.conversation.neighbour)
        await system.start_runner()
        await _check(system, world)


async def kill_runner_while_provider_is_silent(world: World, installation: Installation) -> None:
    """The provider has committed and stops before its reply; the runner that waits for it is killed.

    The provider was started with `provider.after_commit=stop`.
    """
    async with open_system(installation) as system:
        await _send_first(system, world)
        runner = await system.start_runner()
        await system.start_relay()
        await world.provider.await_stopped()
        runner.kill()
        await _await_death(runner)
        world.provider.resume()
        await system.send(world.conversation.neighbour)
        await system.start_runner()
        await system.start_reconciler()
        await _check(system, world)


async def kill_relay_at(failpoint: str, world: World, installation: Installation) -> None:
    """SIGKILL of the outbox-relay there; its successor takes the shards."""
    async with open_system(installation) as system:
        await _send_first(system, world)
        relay = await system.start_relay(f"{failpoint}=kill")
        await system.start_runner()
        await _await_death(relay)
        await system.send(world.conversation.neighbour)
        await system.start_relay()
        await _check(system, world)


async def kill_reconciler_at(
    failpoint: str, world: World, installation: Installation, *, repeats: bool = False
) -> None:
    """SIGKILL of the receipt-reconciler there, while it settles an effect whose reply got lost.

    `repeats`: it settles by repeating the call.
    """
    async with open_system(installation) as system:
        await world.lose_next_reply()
        await _send_first(system, world)
        reconciler = await system.start_reconciler(f"{failpoint}=kill")
        await system.start_runner()
        await system.start_relay()
        await _await_death(reconciler)
        await system.send(world.conversation.neighbour)
        await system.start_reconciler()
        await _check(system, world, repeats=repeats)


async def pause_runner_at(failpoint: str, world: World, installation: Installation) -> None:
    """SIGSTOP of the turn-runner there, until another has its partitions and has done all its work; then SIGCONT.

    What it does when it goes on is checked once it has stopped in order, its own work ended.
    """
    may_send = failpoint in SETTLED_AGAIN_POINTS
    left = frozenset({"unsettled receipts", "unfinished items"} if may_send else ())
    async with open_system(installation) as system:
        await _send_first(system, world)
        paused = await system.start_runner(f"{failpoint}=stop", instance="runner-1")
        await system.start_relay()
        await system.start_reconciler()
        await paused.await_stopped()
        await system.send(world.conversation.neighbour)
        await system.start_runner(instance="runner-2")
        await system.await_quiet(world.conversation.requests)
        paused.resume()
        paused.terminate()
        assert await paused.await_end() == 0, paused.output()
        await system.await_quiet(world.conversation.requests, but=left)
        # A pause that outlasts the call's own time ends the call before it is sent.
        contradicted = may_send and len(world.calls()) > len(world.conversation.effects)
        await check_aftermath(system, world.conversation.requests, contradicted=contradicted)
        await _check_effects(world, repeats=contradicted)


async def overtake_runner_at(failpoint: str, world: World, installation: Installation) -> None:
    """SIGSTOP of the turn-runner there; SIGCONT while another has begun its turn and stands still.

    Nothing but the fence is between the two then: no outcome of the other is there yet that would stop the first one.
    """
    async with open_system(installation) as system:
        await _send_first(system, world)
        overtaken = await system.start_runner(f"{failpoint}=stop", instance="runner-1")
        await system.start_relay()
        await system.start_reconciler()
        await overtaken.await_stopped()
        successor = await system.start_runner("runner.after_begin=stop", instance="runner-2")
        await successor.await_stopped()  # in the same turn: nothing else was sent that it could begin first
        await system.send(world.conversation.neighbour)
        before = await _fenced_work(system)
        overtaken.resume()
        overtaken.terminate()
        assert await overtaken.await_end() == 0, overtaken.output()
        after = await _fenced_work(system)
        assert after == before, f"an attempt that was overtaken went on: {before} became {after}"
        successor.resume()
        await _check(system, world)


async def lose_record_of_reply(world: World, installation: Installation) -> None:
    """The reply arrived and the write of `completed` fails in our store: nothing is called again, a lookup settles it."""
    async with open_system(installation) as system:
        await _send_first(system, world)
        await system.send(world.conversation.neighbour)
        await system.start_runner("runner.after_reply=error")
        await system.start_relay()
        # The turn's next attempt meets the receipt before a reconciler can have settled it.
        await system.await_rows("select from turns where turn_id = $1", world.conversation.with_effects.turn_id)
        await system.start_reconciler()
        await _check(system, world)


async def _send_first(system: System, world: World) -> None:
    await system.send(world.conversation.with_effects)
    await system.send(world.conversation.after)


async def _await_death(process: Process) -> None:
    code = await process.await_end()
    assert code == -signal.SIGKILL, f"{process.name} ended with {code}:\n{process.output()}"


async def _fenced_work(system: System) -> dict[str, object]:
    """What only the attempt that has a thread may move (protocol R3, R5)."""
    [row] = await system.fetch(_FENCED_WORK)
    return dict(row)


async def _check(system: System, world: World, *, repeats: bool = False) -> None:
    await system.await_quiet(world.conversation.requests)
    await check_aftermath(system, world.conversation.requests)
    await _check_effects(world, repeats=repeats)


async def _check_effects(world: World, *, repeats: bool) -> None:
    expected = world.conversation.effects
    problems = effects_problems(await world.ledger(), expected, "happened")
    if not repeats:
        problems += effects_problems(world.calls(), expected, "was asked for")
    assert not problems, "; ".join(problems)

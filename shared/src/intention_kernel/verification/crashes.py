"""The crash suite as a list of checks: each process dies or stops at each of its failpoints, over the bank."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from intention_kernel.failpoints import FAILPOINTS
from intention_kernel.testing.crash_points import (
    PROVIDER_POINT,
    RECONCILER_POINTS,
    RELAY_POINTS,
    RUNNER_POINTS,
    World,
    kill_reconciler_at,
    kill_relay_at,
    kill_runner_at,
    kill_runner_while_provider_is_silent,
    lose_record_of_reply,
    overtake_runner_at,
    pause_runner_at,
)
from intention_kernel.testing.system import Installation
from intention_kernel.verification.checks import Check
from intention_kernel.verification.world import First, running_world

Play = Callable[[World, Installation], Awaitable[None]]

_OVERTAKEN_POINTS = ("runner.after_begin", "runner.before_commit")
_QUICK = frozenset(
    {
        "crash.kill.runner.after_reply",
        "crash.kill.relay.after_send",
        "crash.kill.reconciler.after_settle.lookup",
        "crash.overtake.runner.before_commit",
    }
)


@dataclass(frozen=True, slots=True)
class Crash:
    """A check of the crash suite and how it is played. `failpoints` are those of the bank's process."""

    check: Check
    play: Play
    first: First = "reserve"
    failpoints: str = ""

    @property
    def is_quick(self) -> bool:
        """Whether it is among the few that stand for the others."""
        return self.check.name in _QUICK


async def run_crash(crash: Crash, installation: Installation) -> None:
    """Play it over a bank of its own. The installation is migrated and nobody else's. Raises what went wrong."""
    with TemporaryDirectory(prefix="intention-verify-") as folder:
        async with running_world(Path(folder), first=crash.first, failpoints=crash.failpoints) as world:
            await crash.play(world, world.beside(installation))


def crashes() -> tuple[Crash, ...]:
    """All of them: one a failpoint and way to die, and what belongs to a reply."""
    return (
        *(_kill("runner", point, partial(_at, kill_runner_at, point)) for point in RUNNER_POINTS),
        _crash(
            "kill.runner.while_provider_is_silent",
            "runner",
            "turn-runner killed after the provider has committed and before it replied",
            kill_runner_while_provider_is_silent,
            failpoints=f"{PROVIDER_POINT}=stop",
        ),
        _crash("lost_record", "runner", "the reply came and could not be recorded", lose_record_of_reply),
        *(_kill("relay", point, partial(_at, kill_relay_at, point)) for point in RELAY_POINTS),
        *(_settled(point, first) for point in RECONCILER_POINTS for first in ("reserve", "notify")),
        *(_pause(point) for point in RUNNER_POINTS),
        *(_overtake(point) for point in _OVERTAKEN_POINTS),
    )


async def _at(
    scenario: Callable[[str, World, Installation], Awaitable[None]],
    point: str,
    world: World,
    installation: Installation,
) -> None:
    await scenario(point, world, installation)


def _kill(process: str, point: str, play: Play) -> Crash:
    return _crash(f"kill.{point}", process, f"killed where {FAILPOINTS[point]}", play)


def _settled(point: str, first: First) -> Crash:
    how = "lookup" if first == "reserve" else "retry"

    async def play(world: World, installation: Installation) -> None:
        await kill_reconciler_at(point, world, installation, repeats=first == "notify")

    title = f"killed where {FAILPOINTS[point]}; settled by {how}"
    return _crash(f"kill.{point}.{how}", "reconciler", title, play, first=first)


def _pause(point: str) -> Crash:
    title = f"stopped beyond its lease where {FAILPOINTS[point]}, going on after another did its work"
    return _crash(f"pause.{point}", "zombie", title, partial(_at, pause_runner_at, point))


def _overtake(point: str) -> Crash:
    title = f"stopped beyond its lease where {FAILPOINTS[point]}, going on while another has its turn"
    return _crash(f"overtake.{point}", "zombie", title, partial(_at, overtake_runner_at, point))


def _crash(name: str, group: str, title: str, play: Play, *, first: First = "reserve", failpoints: str = "") -> Crash:
    return Crash(Check(f"crash.{name}", "crash", group, title), play, first, failpoints)

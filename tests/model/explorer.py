"""Breadth first over every interleaving within a scenario's faults, so that a counterexample is a shortest one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.model.environment import EnvironmentSteps, published
from tests.model.invariants import broken_end, broken_state
from tests.model.reconciler import ReconcilerSteps
from tests.model.rules import Rules
from tests.model.runner import RunnerSteps
from tests.model.scenario import Scenario
from tests.model.state import Step, World

Progress = Callable[[int, int], None]
_PROGRESS_EVERY = 20_000


@dataclass(frozen=True, slots=True)
class Result:
    """What an exploration found. `is_complete` is False where a bound stopped it before everything was seen."""

    states: int
    depth: int
    is_complete: bool
    broken: str | None = None
    path: tuple[str, ...] = ()


def steps(rules: Rules, scenario: Scenario, world: World) -> Iterator[Step]:
    """Every transition of a world."""
    yield from EnvironmentSteps(rules, scenario, world).steps()
    yield from ReconcilerSteps(rules, scenario, world).steps()
    for index in (0, 1):
        yield from RunnerSteps(rules, scenario, world, index).steps()


def _settled(scenario: Scenario, world: World) -> World:
    """Where the relay's delay is not under test, requests are on the topic at once."""
    if world.db.outbox and not scenario.slow_relay:
        return published(world, len(world.db.outbox))
    return world


class _Search:
    def __init__(self, rules: Rules, scenario: Scenario) -> None:
        self.rules = rules
        self.scenario = scenario
        start = scenario.world()
        self.parents: dict[World, tuple[World, str] | None] = {start: None}
        self.frontier: deque[tuple[World, int]] = deque([(start, 0)])

    def path(self, world: World, last: str | None = None) -> tuple[str, ...]:
        labels = [last] if last else []
        link = self.parents[world]
        while link is not None:
            labels.append(link[1])
            link = self.parents[link[0]]
        return tuple(reversed(labels))

    def visit(self, world: World, depth: int) -> tuple[str, tuple[str, ...]] | None:
        broken = broken_state(self.scenario, world)
        if broken:
            return broken, self.path(world)
        goes_on = False
        for step in steps(self.rules, self.scenario, world):
            if step.broken:
                return step.broken, self.path(world, step.label)
            after = _settled(self.scenario, step.world)
            goes_on = goes_on or not step.is_fault
            if after not in self.parents:
                self.parents[after] = (world, step.label)
                self.frontier.append((after, depth + 1))
        broken = None if goes_on else broken_end(self.scenario, world)
        return (broken, self.path(world)) if broken else None


def explore(
    rules: Rules,
    scenario: Scenario,
    states: int = 1_000_000,
    depth: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Result:
    """Explore until a promise breaks, everything is seen, or a bound is reached."""
    search = _Search(rules, scenario)
    began = time.perf_counter()
    seen = deepest = 0
    while search.frontier:
        world, here = search.frontier.popleft()
        if depth is not None and here > depth:
            return Result(seen, deepest, False)
        seen, deepest = seen + 1, here
        found = search.visit(world, here)
        if found:
            return Result(seen, deepest, False, found[0], found[1])
        if seen % _PROGRESS_EVERY == 0 and progress:
            progress(seen, here)
        if seen >= states or (seconds is not None and time.perf_counter() - began > seconds):
            return Result(seen, deepest, not search.frontier)
    return Result(seen, deepest, True)

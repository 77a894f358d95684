"""One run: two runners, a partition, a provider, a reconciler, and a schedule drawn from a seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

import asyncpg
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.postgres.operator_queue import PostgresQueue
from intention_kernel.postgres.store import PostgresStore

from tests.stress.gates import Parked
from tests.stress.provider import Provider
from tests.stress.runner import Record, Runner
from tests.stress.scenario import Scenario
from tests.stress.state import State, read_state


class ViolationError(AssertionError):
    """A promise is broken. The message ends with what replays it."""


@dataclass(frozen=True, slots=True)
class Move:
    """Something that may happen now. A fault has a kind, and there are only so many of it."""

    actor: str
    label: str
    do: Callable[[], Awaitable[object]]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Late:
    """A copy of a statement that is still on its way to the database."""

    sender: str
    parked: Parked


@dataclass(frozen=True, slots=True)
class Bench:
    """What all runs over one database share."""

    stores: tuple[PostgresStore, PostgresStore]
    receipts: PostgresQueue
    connection: asyncpg.Connection
    blocker: asyncpg.Connection


@dataclass(slots=True)
class World:
    """The run's whole state beside the database."""

    scenario: Scenario
    seed: int
    bench: Bench
    rng: random.Random
    thread_id: str
    runners: list[Runner]
    provider: Provider
    left: Counter[str]
    log: list[Record] = field(default_factory=list)
    generation: int = 1
    owner: int = 0
    committed: int = 0
    late: list[Late] = field(default_factory=list)
    looks: list[Any] = field(default_factory=list)
    prepared_by: dict[str, set[str]] = field(default_factory=dict)
    attempts: dict[UUID, int] = field(default_factory=dict)
    absent: set[UUID] = field(default_factory=set)
    redrives: int = 0
    schedule: list[str] = field(default_factory=list)
    is_fresh: bool = False
    state: State = field(default_factory=lambda: State(None, {}, [], [], {}, [], [], [], []))

    async def look(self) -> State:
        """Read the database again."""
        self.state = await read_state(self.bench.connection, self.thread_id)
        self.is_fresh = True
        return self.state

    def append(self, name: str, value: bytes) -> None:
        """A record on the partition."""
        self.log.append(Record(len(self.log), name, self.thread_id.encode(), value))

    def violation(self, what: str) -> ViolationError:
        """What to raise: the promise, the schedule, and how to run it again."""
        lines = "\n".join(f"  {number:3}. {label}" for number, label in enumerate(self.schedule, 1))
        again = f"python -m tests.stress --scenario {self.name} --seed {self.seed}"
        return ViolationError(f"{what}\n{lines}\n  again: {again}")

    @property
    def name(self) -> str:
        """The scenario's, which the thread carries."""
        return self.thread_id.split("/")[0]


def new_world(name: str, scenario: Scenario, seed: int, bench: Bench) -> World:
    """A thread of its own, with the scenario's log."""
    rng = random.Random(f"{name}:{seed}")
    world = World(
        scenario=scenario,
        seed=seed,
        bench=bench,
        rng=rng,
        thread_id=f"{name}/{seed}/{UUID(int=random.SystemRandom().getrandbits(128)).hex[:8]}",
        runners=[Runner("A", bench.stores[0]), Runner("B", bench.stores[1])],
        provider=Provider(scenario.keyed),
        left=Counter(asdict(scenario.faults)),
        redrives=scenario.redrives,
    )
    for turn in scenario.log:
        document = {
            "schemaVersion": 1,
            "threadId": world.thread_id,
            "turnId": turn,
            "agentId": "payer",
            "input": {"text": turn},
        }
        world.append(turn, dumps(document))
    world.runners[0].generation = 1
    if scenario.zombie_start:  # B polled everything in the first generation and was paused; A has the second
        zombie = world.runners[1]
        zombie.generation, zombie.lane, zombie.position = 1, list(world.log), len(world.log)
        world.runners[0].generation = world.generation = 2
    return world


async def close(world: World) -> None:
    """Cut both runners off and wait for what is left of them."""
    for runner in world.runners:
        runner.gates.cut()
        await runner.end_work()

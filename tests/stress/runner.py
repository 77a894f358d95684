"""A turn-runner as the schedule sees it: lives, what it polled, what it has done, and the turn that it works on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from uuid import UUID

from intention_kernel.agent.agent import Agent
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.turn_request import decode_turn_request
from intention_kernel.durability.durability import Durability, TurnLimits
from intention_kernel.durability.outcome import BeginAgain, Outcome
from intention_kernel.durability.process import DurableStore, ProcessIdentity
from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import random_id
from intention_kernel.ports.turn_body import Delivery
from intention_kernel.ports.turn_store import Origin
from intention_kernel.runtime.events import Observers
from intention_kernel.runtime.program_body import ProgramBody
from intention_kernel.testing.collecting import KeptTraces

from tests.stress.faulty_store import FaultyStore
from tests.stress.gates import Gates

LEASE_SECONDS = 600.0
"""Longer than any run: a lease ends when the schedule says so."""


@dataclass(slots=True)
class Record:
    """One request as the partition has it."""

    offset: int
    name: str
    key: bytes
    value: bytes


@dataclass(slots=True)
class Work:
    """One delivery of one record that is under way."""

    record: Record
    task: asyncio.Task[Outcome | BeginAgain]


@dataclass(slots=True)
class Runner:
    """One of the two. `generation` is the group's when it last heard of it; `lane` what it polled and has not done."""

    name: str
    store: DurableStore
    gates: Gates = field(default_factory=Gates)
    boot: UUID = field(default_factory=random_id)
    generation: int = 0
    position: int = 0
    lane: list[Record] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    work: Work | None = None
    nonce: UUID | None = None
    alone: bool = False
    waits: bool = False
    durability: Durability | None = None

    @property
    def alive(self) -> bool:
        """Whether this life goes on."""
        return self.gates.alive

    @property
    def instance(self) -> str:
        """The place that its lives share; newer boots prove that older ones are dead (R22 c)."""
        return f"stress-{self.name}"

    def rise(self) -> None:
        """A new life with nothing polled."""
        self.gates = Gates()
        self.boot = random_id()
        self.work = None
        self.nonce = None
        self.alone = False
        self.durability = None
        self.forget()

    def forget(self) -> None:
        """The partition is another's."""
        self.generation = 0
        self.lane = []
        self.done = set()
        self.waits = False

    def start(self, agent: Agent, attempts: int) -> None:
        """Deliver the first record of the lane."""
        record = self.lane[0]
        self.nonce = self.nonce or random_id()
        delivery = replace(delivery_of(record, self.nonce), alone=self.alone)
        clock = SystemClock()
        if self.durability is None:
            limits, process = TurnLimits(LEASE_SECONDS, attempts), ProcessIdentity(self.instance, self.boot)
            self.durability = Durability(FaultyStore(self.store, self.gates), clock, limits, process)
        body = ProgramBody(agent, "stress", {}, Observers(KeptTraces(), (), None), clock, LEASE_SECONDS)
        task = asyncio.get_running_loop().create_task(self.durability.with_turn(delivery, body))
        self.work = Work(record, task)

    async def rest(self) -> None:
        """Wait until it waits: its delivery is over or at a gate, as is every answer that it has yet to record."""
        await self.gates.rest(None if self.work is None else self.work.task, self._kept)

    def _kept(self) -> int:
        return self.durability.abandoned.pending if self.durability is not None else 0

    async def end_work(self) -> None:
        """Wait for what is left of a delivery that was cut off."""
        if self.work is None:
            return
        await asyncio.wait({self.work.task})
        if not self.work.task.cancelled():
            self.work.task.exception()
        self.work = None

    def finish(self) -> tuple[Record, Outcome | BeginAgain | InfrastructureError]:
        """Take what the delivery came to; anything but an outcome leaves the record in its lane."""
        assert self.work is not None
        work, self.work = self.work, None
        error = work.task.exception()
        if error is not None:
            if not isinstance(error, InfrastructureError):
                raise error
            return work.record, error  # the same nonce again: nobody knows whether the begin was executed
        result = work.task.result()
        self.nonce = None
        if isinstance(result, BeginAgain):
            self.alone = result.why == "alone"
            self.waits = result.why in ("busy", "contended")
        else:
            self.alone = self.waits = False
            self.lane.remove(work.record)
            self.done.add(work.record.offset)
        return work.record, result


def delivery_of(record: Record, nonce: UUID) -> Delivery:
    """The record as a lane delivers it."""
    origin = Origin("turns.requests", 0, record.offset, record.key, record.value, (), 1_767_225_600_000 + record.offset)
    return Delivery(decode_turn_request(record.key, record.value), origin, nonce)

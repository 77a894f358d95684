"""The world of the lanes' state machine: a topic, a group that deals its partitions out, a database that knows how far they are
done, and processes that run the real consumer in virtual time. What must hold at every call is checked here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal
from unittest.mock import patch

from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.group import RebalanceCallback
from intention_kernel.kafka.record import Record
from intention_kernel.ports.partition_progress import PartitionProgress, Progress
from turn_runner.consumer import KeyOrderedConsumer
from turn_runner.limits import ConsumerLimits
from turn_runner.outcomes import Outcome, lane_of

from tests.support.virtual_time import VirtualLoop, VirtualTime

TOPIC = "turns.requests"
PARTITIONS = (0, 1)
LIMITS = ConsumerLimits(
    in_flight=2,
    buffered_records=8,
    window_records=4,
    span_records=6,
    poll_records=3,
    commit_completions=2,
    drain_seconds=0.5,
    backoff_limit_seconds=1.0,
)

Fault = Literal["database away", "group away", "answer lost"]


@dataclass(slots=True, eq=False)
class Assignment:
    """One time that one partition was a member's, and what its handlers called done meanwhile."""

    partition: int
    start: int
    finished: set[int] = field(default_factory=set)


class World:
    """What is true outside of every process. `done` are the records whose outcome is a row; `broken` says what went wrong."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.log: dict[int, list[Record]] = {partition: [] for partition in PARTITIONS}
        self.done: set[tuple[int, int]] = set()
        self.progress: dict[int, int] = {}
        self.assignments: list[Assignment] = []
        self.group = Group(self)
        self.processes: list[Process] = []
        self.broken: list[str] = []

    def expect(self, holds: bool, what: str) -> None:
        """Note what does not hold: raising inside of the code under test would be caught there."""
        if not holds:
            self.broken.append(what)

    def produce(self, partition: int, key: bytes | None, gap: int) -> None:
        """One more record at the end of the partition, perhaps behind offsets that hold none."""
        log = self.log[partition]
        offset = log[-1].offset + gap if log else gap - 1
        log.append(Record(TOPIC, partition, offset, key, b"v", (), 0, size_bytes=offset % 7 + 1))
        for member in self.group.members:
            member.arrived.set()

    def end(self, partition: int) -> int:
        """One past the last record."""
        return self.log[partition][-1].offset + 1 if self.log[partition] else 0

    def check_done(self, partition: int, offset: int, what: str) -> None:
        """R4: no offset passes a record without an outcome."""
        left = [one.offset for one in self.log[partition] if one.offset < offset]
        missing = [one for one in left if (partition, one) not in self.done]
        self.expect(not missing, f"{what} {offset} of partition {partition} passes {missing}")
        self.expect(offset <= self.end(partition), f"{what} {offset} of partition {partition} is past its end")


class Group:
    """Kafka's side: who is a member, whose a partition is, what is committed. Rebalances are eager, as the driver's are."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.members: list[Member] = []
        self.committed: dict[int, int] = {}
        self.turn = 0

    def add(self, member: Member) -> None:
        """It waits for the next generation."""
        if member not in self.members:
            self.members.append(member)
        self.rebalance()

    def __repr__(self) -> str:
        ends = {partition: self.world.end(partition) for partition in PARTITIONS}
        return f"{self.committed} of {ends}, members {self.members}"

    def rebalance(self) -> None:
        """Every member that can hear it gives all back; the next generation begins when all have."""
        for member in self.members:
            member.revoke()
        self.deal()

    def evict(self, member: Member) -> None:
        """Its session is over, or it gave nothing back in time; it is not told."""
        self.members.remove(member)
        member.is_current = False
        self.rebalance()

    def deal(self) -> None:
        """The next generation, once nobody of the last one holds anything."""
        if not self.members or not all(member.is_waiting for member in self.members):
            return
        self.turn += 1
        dealt: dict[Member, list[int]] = {member: [] for member in self.members}
        for partition in PARTITIONS:
            dealt[self.members[(partition * self.turn + self.turn) % len(self.members)]].append(partition)
        for member, partitions in dealt.items():
            member.assign(partitions)


class Member:
    """What the consumer takes for its GroupMember."""

    def __init__(self, process: Process, revoked: RebalanceCallback, assigned: RebalanceCallback) -> None:
        self.process = process
        self._world = process.world
        self._group = process.world.group
        self._revoked = revoked
        self._assigned = assigned
        self._joined = asyncio.Event()
        self._settled = asyncio.Event()
        self._next: dict[int, int] = {}
        self._rebalancing: asyncio.Task[None] | None = None
        self._once_more = False
        self._generation = 0
        self.arrived = asyncio.Event()
        self.assigned: dict[int, Assignment] = {}
        self.is_current = False
        self.is_waiting = False
        self.rejoin_wanted = False
        self.broken = False

    def __repr__(self) -> str:
        what = {"out": self.is_out, "current": self.is_current, "waits": self.is_waiting, "dead": self.process.dead}
        return f"{'+'.join(name for name, holds in what.items() if holds)} {sorted(self.assigned)}"

    async def join(self) -> int:
        self.is_waiting = True
        self._group.add(self)
        await self._joined.wait()
        return len(PARTITIONS)

    async def poll(self, partitions: Collection[int], max_records: int, seconds: float) -> dict[int, list[Record]]:
        generation = self._generation
        await self._settled.wait()
        if generation == self._generation and not self._has(partitions) and seconds:
            self.arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.arrived.wait()
            await self._settled.wait()
        return self._take(partitions, max_records) if generation == self._generation else {}

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        await self.process.reaches("group away")
        if not self.is_current:
            return False
        for partition, offset in offsets.items():
            self._check(partition, offset)
            self._group.committed[partition] = offset
        await self.process.reaches("answer lost")
        return True

    async def committed(self) -> dict[int, int]:
        await self.process.reaches("group away")
        return dict(self._group.committed)

    async def leave(self, seconds: float) -> None:
        self.is_current = False
        self._settled.set()
        if self in self._group.members:
            self._group.members.remove(self)
            self._group.rebalance()

    def revoke(self) -> None:
        """Hear of a rebalance, once."""
        if self.process.dead or self.is_waiting:
            return
        if self._rebalancing is not None:
            self._once_more = True
            return
        self._once_more = False
        self._generation += 1
        self._settled.clear()
        self._rebalancing = self.process.loop.create_task(self._give_back())

    def join_again(self) -> None:
        """Hear that the group went on without it: give back what others may have by now, and join."""
        if self.is_waiting:
            self._group.add(self)
        else:
            self.revoke()

    @property
    def is_out(self) -> bool:
        """It was a member and the group went on without it."""
        return not self.is_current and self not in self._group.members and self._rebalancing is None

    def assign(self, partitions: Collection[int]) -> None:
        """A new generation: what is its own now, to be read from where the group is."""
        self.is_current, self.is_waiting, self._once_more = True, False, False
        committed = self._group.committed
        self._next = {partition: committed.get(partition, 0) for partition in partitions}
        self.assigned = {partition: Assignment(partition, start) for partition, start in self._next.items()}
        self._world.assignments.extend(self.assigned.values())
        if self.process.dead:
            return  # the group does not know yet, and counts on it until its session is over
        self._rebalancing = self.process.loop.create_task(self._take_over())

    async def _give_back(self) -> None:
        await self._revoked(tuple(self.assigned))
        self.assigned = {}
        self._next = {}
        self.is_waiting = True
        self._rebalancing = None
        self._group.add(self)

    async def _take_over(self) -> None:
        await self._assigned(tuple(self.assigned))
        self._rebalancing = None
        self._joined.set()
        self._settled.set()
        if self._once_more:
            self.revoke()

    def _has(self, partitions: Collection[int]) -> bool:
        return any(self._next[partition] < self._world.end(partition) for partition in partitions)

    def _take(self, partitions: Collection[int], most: int) -> dict[int, list[Record]]:
        polled: dict[int, list[Record]] = {}
        for partition in partitions:
            left = [one for one in self._world.log[partition] if one.offset >= self._next[partition]][:most]
            if left:
                # The stamp says of which assignment it is; to the consumer it is the producer's time.
                stamp = self._world.assignments.index(self.assigned[partition])
                polled[partition] = [replace(one, timestamp_ms=stamp) for one in left]
                self._next[partition] = left[-1].offset + 1
                most -= len(left)
        return polled

    def _check(self, partition: int, offset: int) -> None:
        """R4, R39: the finished prefix of this very assignment, never back, and in the database before."""
        world, mine = self._world, self.assigned.get(partition)
        world.check_done(partition, offset, "the group's offset")
        world.expect(offset >= self._group.committed.get(partition, 0), f"partition {partition} goes back to {offset}")
        world.expect(world.progress.get(partition, 0) >= offset, f"the group knows {offset} before the database")
        world.expect(mine is not None, f"partition {partition} is committed by who does not have it")
        if mine is not None:
            since = {one.offset for one in world.log[partition] if mine.start <= one.offset < offset}
            others = since - mine.finished
            world.expect(not others, f"{offset} of partition {partition}: {others} were not done in this assignment")


@dataclass(slots=True, eq=False)
class Running:
    """A handler that has begun and waits for what the machine makes of it."""

    record: Record
    answer: asyncio.Future[Outcome]


class Process:
    """One runner: the real consumer in a loop of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.loop: VirtualLoop = world.time.loop()
        self.dead = False
        self.running: list[Running] = []
        self.faults: deque[Fault] = deque()
        self.stopping: asyncio.Task[None] | None = None
        self.member: Member | None = None
        with patch("turn_runner.consumer.GroupMember", self._make_member):
            self.consumer = KeyOrderedConsumer(
                self.handle,
                bootstrap_servers="",
                topic=TOPIC,
                group="group",
                clock=world.time.clock,
                progress=self,
                limits=LIMITS,
            )
        self.starting = self.loop.create_task(self.consumer.start())
        world.processes.append(self)

    def __repr__(self) -> str:
        state = self.consumer.state
        return f"({self.member}, {state}, stops: {self.stopping is not None}, runs: {self.running})"

    def _make_member(self, _settings: object, revoked: RebalanceCallback, assigned: RebalanceCallback) -> Member:
        self.member = Member(self, revoked, assigned)
        return self.member

    async def reaches(self, fault: Fault) -> None:
        """Go on, unless the process is dead by now or this is what fails next."""
        if self.dead:
            await asyncio.Event().wait()
        if self.faults and self.faults[0] == fault:
            self.faults.popleft()
            raise InfrastructureError(fault)

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress:
        """See ProgressStore."""
        await self.reaches("database away")
        return Progress({one: PartitionProgress(self.world.progress.get(one, 0)) for one in partitions})

    async def store_progress(self, topic: str, done_offsets: Mapping[int, int]) -> None:
        """See ProgressStore."""
        await self.reaches("database away")
        for partition, offset in done_offsets.items():
            self.world.check_done(partition, offset, "the database's offset")
            self.world.progress[partition] = max(offset, self.world.progress.get(partition, 0))

    async def handle(self, record: Record) -> Outcome:
        """Begun until the machine says how it ends."""
        self._check_begin(record)
        running = Running(record, self.loop.create_future())
        self.running.append(running)
        try:
            return await running.answer
        finally:
            self.running.remove(running)

    def _check_begin(self, record: Record) -> None:
        """One at a time and in order in its lane, within the permits, alone where it asked for that."""
        expect, lane = self.world.expect, lane_of(record)
        place = f"{record.partition}@{record.offset}"
        others = [one.record for one in self.running]
        expect(len(others) < LIMITS.in_flight, f"{place} begins without a permit")
        expect(all(lane_of(one) != lane for one in others), f"{place} begins beside another of its lane")
        expect(not any(one.alone for one in others), f"{place} begins beside one that runs alone")
        expect(not (record.alone and others), f"{place} does not begin alone")
        mine = self.world.assignments[record.timestamp_ms]
        for earlier in self.world.log[record.partition]:
            if earlier.offset < record.offset and lane_of(earlier) == lane:
                is_done = (record.partition, earlier.offset) in self.world.done
                expect(is_done, f"{place} begins before {earlier.offset} has an outcome")
                is_over = earlier.offset < mine.start or earlier.offset in mine.finished
                expect(is_over, f"{place} begins before {earlier.offset} is done")

    def kill(self) -> None:
        """SIGKILL: all that was in memory is gone; the group does not know yet."""
        self.dead = True
        self.world.processes.remove(self)
        self.world.time.kill(self.loop)

    def stop(self, grace_seconds: float) -> None:
        """SIGTERM."""
        self.stopping = self.loop.create_task(_after(self.starting, lambda: self.consumer.stop(grace_seconds)))

    def is_over(self) -> bool:
        """It was stopped and has ended; raises what ended it."""
        if self.stopping is None or not self.stopping.done():
            return False
        self.stopping.result()
        return True


async def _after(first: asyncio.Task[None], then: Callable[[], Awaitable[None]]) -> None:
    await asyncio.wait([first])
    await then()

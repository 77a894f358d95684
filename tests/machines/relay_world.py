"""The world of the relays' state machine: an outbox, leases on a clock, topics, and processes that run the real relay in virtual
time. The leases do what the statements in Postgres do; what must hold at every call is checked here."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from intention_kernel.errors import InfrastructureError
from intention_kernel.ports.outbox import Beat, OutboxRow, Stream
from intention_kernel.ports.publisher import Published, PublishOutcome, Refused, Unsent
from outbox_relay.heart import Heart
from outbox_relay.relay import Relay
from outbox_relay.shards import Shards

from tests.support.virtual_time import VirtualLoop, VirtualTime

LEASE_SECONDS = 6.0
SHARDS = 4
EVENTS = "turns.events"
REQUESTS = "turns.requests"


@dataclass(slots=True)
class Lease:
    """A shard's row."""

    epoch: int = 0
    owner: str | None = None
    until_seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Sent:
    """A publish call that is under way: what became of its rows so far, and the epochs in which they were fetched.

    `handed_over`: the next row is the driver's, which sends it however long that takes; nobody can call it back.
    """

    relay: RelayProcess
    rows: Sequence[OutboxRow]
    may_send: Callable[[], bool]
    answer: asyncio.Future[Sequence[PublishOutcome]]
    outcomes: list[PublishOutcome]
    epochs: dict[int, int]
    handed_over: bool = False


class World:
    """Tables and topics. `broken` says what went wrong."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.rows: dict[int, OutboxRow] = {}
        self.leases = {shard: Lease() for shard in range(SHARDS)}
        self.seen: dict[str, float] = {}
        self.handed_out: set[tuple[int, int]] = set()
        self.next_sequence: Counter[str] = Counter()
        self.made: dict[Stream, list[int]] = {}
        self.topic: dict[Stream, list[int]] = {}
        self.refused: set[int] = set()
        self.will_refuse: set[int] = set()
        self.relays: list[RelayProcess] = []
        self.sent: list[Sent] = []
        self.broken: list[str] = []
        self.count = 0

    @property
    def now(self) -> float:
        """The database's clock."""
        return self.time.clock.monotonic_seconds()

    def expect(self, holds: bool, what: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.broken.append(what)

    def commit(self, thread: int, count: int, topic: str) -> OutboxRow:
        """A turn's events, or one request, of a thread."""
        thread_id = f"thread-{thread}"
        self.count += 1
        first = None
        if topic == EVENTS:
            first = self.next_sequence[thread_id] + 1
            self.next_sequence[thread_id] += count
        records = (((), b"x"),) * (count if topic == EVENTS else 1)
        row = OutboxRow(thread % SHARDS, self.count, thread_id, topic, str(self.count), first, records, len(records))
        self.rows[row.id] = row
        self.made.setdefault(row.stream, []).append(row.id)
        return row

    def live_lease(self, shard: int, epoch: int, owner: str) -> bool:
        """Whether that epoch is the shard's, and not over."""
        lease = self.leases[shard]
        return (lease.epoch, lease.owner) == (epoch, owner) and lease.until_seconds > self.now

    def append(self, row: OutboxRow) -> None:
        """A row of records is on its topic: in the order of the rows, up to whole repeats of what is there (promise 5)."""
        log, made = self.topic.setdefault(row.stream, []), self.made[row.stream]
        log.append(row.id)
        first = made[: len(set(log))]
        self.expect(set(log) == set(first), f"{row.stream}: {row.id} before one of {first}")

    def deliver(self, call: Sent, under_way_seconds: float = 0.0) -> None:
        """The next row of the call goes to the broker and arrives a little later, whatever became of the relay meanwhile."""
        row = call.rows[len(call.outcomes)]
        if call.handed_over:
            self._arrive(call, row)
            outcome: PublishOutcome = Published()
        elif not call.may_send():
            outcome = Unsent("the lease is over")
        elif self._is_stopped(call, row):
            outcome = Unsent("one before it was not published")
        elif row.id in self.will_refuse:
            outcome = Refused("too large")
        else:
            self.time.advance(under_way_seconds)
            self._arrive(call, row)
            outcome = Published()
        self._end(call, outcome)

    def hand_over(self, call: Sent) -> None:
        """The next row is the driver's from now on: it arrives whenever the machine says, for as long as its process lives."""
        call.handed_over = call.handed_over or self._may_leave(call)

    def _may_leave(self, call: Sent) -> bool:
        row = call.rows[len(call.outcomes)]
        return call.may_send() and not self._is_stopped(call, row) and row.id not in self.will_refuse

    def _arrive(self, call: Sent, row: OutboxRow) -> None:
        """R37: of a lease that has lasted since the row was fetched."""
        epoch, owner = call.epochs[row.id], call.relay.owner
        self.expect(self.live_lease(row.shard, epoch, owner), f"{owner} sends {row.id} without the lease of its fetch")
        self.append(row)

    def lose_reply(self, call: Sent, *, taken: bool) -> None:
        """The broker took the next row, or not, and says nothing."""
        row = call.rows[len(call.outcomes)]
        if taken and (call.handed_over or self._may_leave(call)):
            self._arrive(call, row)
        self._end(call, Unsent("no answer"))

    def _is_stopped(self, call: Sent, row: OutboxRow) -> bool:
        before = zip(call.rows, call.outcomes, strict=False)
        return any(not isinstance(one, Published) and other.stream == row.stream for other, one in before)

    def _end(self, call: Sent, outcome: PublishOutcome) -> None:
        call.outcomes.append(outcome)
        call.handed_over = False
        if len(call.outcomes) == len(call.rows) and call in self.sent:
            self.sent.remove(call)
            call.answer.set_result(call.outcomes)


class RelayProcess:
    """One relay: Shards, Heart and Relay as they are, over ports that are the machine's."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.loop: VirtualLoop = world.time.loop()
        world.count += 1
        self.owner = f"relay-{world.count}"
        self.is_gone = False
        self.faults = 0
        self.is_slow = False
        self.slow_answer: asyncio.Future[None] | None = None
        self.fetched_in: dict[int, int] = {}
        self.shards = Shards(self, self.owner, LEASE_SECONDS, world.time.clock, self._abort)
        self.relay = Relay(self, self, self.shards, world.time.clock)
        self.heart = Heart(self.shards, LEASE_SECONDS, self.relay.wake)
        for work in (self.heart.beat(), self.heart.watch(), self.relay.run()):
            self.loop.create_task(work)
        world.relays.append(self)

    def _abort(self, reason: str) -> None:
        """The process ends here and flushes nothing; its loop is taken away as soon as it comes to rest."""
        self.is_gone = True

    async def _reached(self) -> None:
        if self.is_gone:
            await asyncio.Event().wait()
        if self.faults:
            self.faults -= 1
            raise InfrastructureError("no database")

    async def beat(self, owner: str, epochs: Mapping[int, int], lease_seconds: float) -> Beat:
        """See RelayLeases and `relay_beat.sql`."""
        await self._reached()
        world = self.world
        world.seen[owner] = world.now
        renewed = [shard for shard, epoch in epochs.items() if world.live_lease(shard, epoch, owner)]
        for shard in renewed:
            world.leases[shard].until_seconds = world.now + lease_seconds
        live = 1 + sum(at > world.now - lease_seconds for name, at in world.seen.items() if name != owner)
        others = [
            0.0 if lease.owner == owner else max(0.0, lease.until_seconds - world.now)
            for shard, lease in world.leases.items()
            if lease.owner != owner or lease.until_seconds <= world.now or shard not in epochs
        ]
        return Beat(frozenset(renewed), live, SHARDS, min(others, default=None))

    async def take(
        self, owner: str, limit: int, lease_seconds: float, *, held: Collection[int] = ()
    ) -> Mapping[int, int]:
        """See RelayLeases and `relay_take.sql`."""
        await self._reached()
        world, taken = self.world, dict[int, int]()
        for shard, lease in world.leases.items():
            is_free = lease.until_seconds <= world.now or (lease.owner == owner and shard not in held)
            if is_free and len(taken) < limit:
                lease.owner, lease.epoch, lease.until_seconds = owner, lease.epoch + 1, world.now + lease_seconds
                world.expect((shard, lease.epoch) not in world.handed_out, f"epoch {lease.epoch} of {shard} twice")
                world.handed_out.add((shard, lease.epoch))
                taken[shard] = lease.epoch
        await self._reached()
        return taken

    async def release(self, owner: str, epochs: Mapping[int, int]) -> None:
        """See RelayLeases and `relay_release.sql`."""
        await self._reached()
        for shard, epoch in epochs.items():
            lease = self.world.leases[shard]
            if (lease.owner, lease.epoch) == (owner, epoch):
                under_way = [
                    call
                    for call in self.world.sent
                    if call.relay is self and any(row.shard == shard for row in call.rows)
                ]
                self.world.expect(not under_way, f"{owner} gives {shard} back with records under way")
                lease.owner, lease.until_seconds = None, 0.0

    async def leave(self, owner: str) -> None:
        """See RelayLeases."""
        await self._reached()
        self.world.seen.pop(owner, None)

    async def fetch(
        self, shards: Collection[int], *, rows_per_shard: int, max_bytes: int, held: Collection[Stream]
    ) -> Sequence[OutboxRow]:
        """See Outbox and `relay_fetch.sql`; bytes are left out."""
        await self._reached()
        stopped = {self.world.rows[one].stream for one in self.world.refused} | set(held)
        rows: list[OutboxRow] = []
        for shard in sorted(shards):
            of_shard = [row for row in self.world.rows.values() if row.shard == shard and row.stream not in stopped]
            rows += of_shard[:rows_per_shard]
        epochs = {shard: lease.epoch for shard, lease in self.world.leases.items() if lease.owner == self.owner}
        self.fetched_in.update((row.id, epochs.get(row.shard, 0)) for row in rows)
        if self.is_slow:
            self.is_slow, self.slow_answer = False, self.loop.create_future()
            await self.slow_answer
        return rows

    def answer(self) -> None:
        """A fetch that took long has its answer."""
        if self.slow_answer is not None and not self.slow_answer.done():
            self.slow_answer.set_result(None)
        self.slow_answer = None

    async def delete(self, rows: Sequence[OutboxRow]) -> None:
        """See Outbox. Only what is on its topic, and of a stream nothing before what is not (R35)."""
        await self._reached()
        for row in rows:
            self.world.expect(
                row.id in self.world.topic.get(row.stream, ()), f"{row.id} is deleted and not on its topic"
            )
            self.world.rows.pop(row.id, None)

    async def refuse(self, row: OutboxRow, reason: str) -> None:
        """See Outbox."""
        await self._reached()
        if row.id in self.world.rows:
            self.world.refused.add(row.id)

    async def publish(self, rows: Sequence[OutboxRow], may_send: Callable[[], bool]) -> Sequence[PublishOutcome]:
        """See Publisher: as slow as the machine wants it, row by row."""
        epochs = {row.id: self.fetched_in[row.id] for row in rows}
        call = Sent(self, rows, may_send, self.loop.create_future(), [], epochs)
        self.world.sent.append(call)
        return await call.answer

    def kill(self) -> None:
        """SIGKILL: what was not handed over never is."""
        self.is_gone = True
        self.world.relays.remove(self)
        self.world.sent = [call for call in self.world.sent if call.relay is not self]
        self.world.time.kill(self.loop)

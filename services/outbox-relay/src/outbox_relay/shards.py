"""Which shards this relay may publish, and until when: leases with an epoch, shared fairly among the living relays."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from intention_kernel.clock import Clock
from intention_kernel.ports.outbox import Beat, RelayLeases

_log = logging.getLogger(__name__)

_REMEMBERED_THREADS = 4_096
_HUNGRY_SECONDS = 1.0
_AFTER_EXPIRY_SECONDS = 0.05

Abort = Callable[[str], None]
"""End the process at once, without flushing anything; takes the reason. Under test it may return."""


@dataclass(slots=True)
class _Shard:
    epoch: int
    deadline: float
    leaving: bool = False
    # The last published sequence of each thread of late: true only inside one epoch, so it goes with the lease.
    sequences: OrderedDict[str, int] = field(default_factory=OrderedDict)


class Shards:
    """The shards that this relay owns.

    The store's clock decides; here a monotonic deadline, started before each call, ends a lease early rather than
    late. A shard whose lease is lost while records of it are under way ends the process: what a producer has been
    handed can not be called back, and flushing it would publish as a zombie (protocol R37).
    """

    def __init__(self, leases: RelayLeases, owner: str, lease_seconds: float, clock: Clock, abort: Abort) -> None:
        self._leases = leases
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._abort = abort
        self._owned: dict[int, _Shard] = {}
        self._in_use: set[int] = set()
        self._sending: set[int] = set()
        self._lost_in_use: set[int] = set()
        self.hungry = True
        """True while this relay owns less than its share."""

    @property
    def owned(self) -> frozenset[int]:
        """All that it owns, also what it is about to give back."""
        return frozenset(self._owned)

    def usable(self) -> tuple[int, ...]:
        """What may be fetched now: owned, not about to be given back, and with enough left of the lease."""
        return tuple(number for number, shard in self._owned.items() if not shard.leaving and self._has_time(shard))

    def may_send(self, numbers: Iterable[int]) -> bool:
        """False once one of these shards, in use, is lost or its lease is about to run out.

        A shard that was lost and taken again since its rows were fetched does not count: its rows may be old.
        """
        return all(number not in self._lost_in_use and self._may_send(number) for number in numbers)

    def sequences(self, number: int) -> Mapping[str, int]:
        """Per thread of this shard the last sequence that was published under this lease."""
        shard = self._owned.get(number)
        return {} if shard is None else shard.sequences

    def remember(self, number: int, thread_id: str, sequence: int) -> None:
        """Set the last published sequence of a thread; the threads of longest ago are forgotten."""
        shard = self._owned.get(number)
        if shard is None:
            return
        shard.sequences[thread_id] = sequence
        shard.sequences.move_to_end(thread_id)
        if len(shard.sequences) > _REMEMBERED_THREADS:
            shard.sequences.popitem(last=False)

    def use(self, numbers: Iterable[int]) -> None:
        """From before the fetch until after the delete: these shards are not given back meanwhile."""
        self._in_use.update(numbers)

    def leave(self, numbers: Iterable[int]) -> None:
        """The end of `use`."""
        left = set(numbers)
        self._in_use -= left
        self._lost_in_use -= left

    @contextmanager
    def sending(self, numbers: Iterable[int]) -> Iterator[None]:
        """While records of these shards are under way: losing one of them ends the process."""
        sent = set(numbers)
        self._sending |= sent
        try:
            yield
        finally:
            self._sending -= sent

    async def beat(self) -> float:
        """Renew, take what is missing to a fair share, mark what is beyond it. Returns seconds until the next beat.

        Raises InfrastructureError; the leases then simply grow older.
        """
        started = self._clock.monotonic_seconds()
        epochs = {number: shard.epoch for number, shard in self._owned.items()}
        beat = await self._leases.beat(self._owner, epochs, self._lease_seconds)
        self._renewed(epochs, beat, started)
        share = -(-beat.shard_count // beat.live_relays)
        if len(self._owned) < share and beat.next_expiry_seconds == 0:
            await self._take(share - len(self._owned))
        self._mark_surplus(len(self._owned) - share)
        self.hungry = len(self._owned) < share
        await self.give_back()
        return self._pause_seconds(beat)

    async def give_back(self) -> None:
        """Release what is beyond the fair share and not in use."""
        # Taken out one by one: whoever else gives back while a release is under way finds only what is left.
        while (number := self._surplus()) is not None:
            shard = self._owned.pop(number)
            await self._leases.release(self._owner, {number: shard.epoch})

    async def release_all(self) -> None:
        """Give everything back and leave; nothing may be in use."""
        epochs = {number: shard.epoch for number, shard in self._owned.items()}
        self._owned.clear()
        await self._leases.release(self._owner, epochs)
        await self._leases.leave(self._owner)

    def drop_expired(self) -> float | None:
        """Lose what ran out. Returns the seconds until the next deadline, None when nothing is owned."""
        now = self._clock.monotonic_seconds()
        for number in [number for number, shard in self._owned.items() if shard.deadline <= now]:
            self._lose(number, "its lease ran out before it could be renewed")
        return min((shard.deadline - now for shard in self._owned.values()), default=None)

    def _may_send(self, number: int) -> bool:
        shard = self._owned.get(number)
        return shard is not None and self._has_time(shard)

    def _has_time(self, shard: _Shard) -> bool:
        # A quarter of the lease is what an unlucky batch may still take to reach the broker.
        return shard.deadline - self._clock.monotonic_seconds() > self._lease_seconds / 4

    def _renewed(self, epochs: Mapping[int, int], beat: Beat, started: float) -> None:
        for number, epoch in epochs.items():
            shard = self._owned.get(number)
            if shard is None or shard.epoch != epoch:
                continue
            if number in beat.renewed:
                shard.deadline = started + self._lease_seconds
            else:
                self._lose(number, "another relay has taken it")

    async def _take(self, limit: int) -> None:
        started = self._clock.monotonic_seconds()
        taken = await self._leases.take(self._owner, limit, self._lease_seconds, held=self._owned.keys())
        for number, epoch in taken.items():
            self._owned[number] = _Shard(epoch, started + self._lease_seconds)

    def _surplus(self) -> int | None:
        leaving = (number for number, shard in self._owned.items() if shard.leaving and number not in self._in_use)
        return next(leaving, None)

    def _mark_surplus(self, surplus: int) -> None:
        for position, number in enumerate(sorted(self._owned, reverse=True)):
            self._owned[number].leaving = position < surplus

    def _lose(self, number: int, why: str) -> None:
        del self._owned[number]
        _log.warning("shard lost: %s", why, extra={"shard": number})
        if number in self._in_use:
            self._lost_in_use.add(number)
        if number in self._sending:
            self._abort(f"shard {number} was lost with records under way: {why}")

    def _pause_seconds(self, beat: Beat) -> float:
        pause = self._lease_seconds / 3
        if self.hungry:
            pause = min(pause, _HUNGRY_SECONDS)
        if beat.next_expiry_seconds:
            # A dead relay's leases and its place among the living end together: be there.
            pause = min(pause, beat.next_expiry_seconds + _AFTER_EXPIRY_SECONDS)
        return pause

"""A lease as its holder sees it, and its keeper (protocol R3, R12, R19)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from intention_kernel.clock import ManualClock, SystemClock
from intention_kernel.durability.lease import Lease, LeaseKeeper
from intention_kernel.errors import InfrastructureError

from tests.support.eventually import eventually


class Renewals:
    """The renewing half of a store: answers from a script, then True."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.asked: list[float] = []
        self._answers = list(answers)

    async def renew(self, thread_id: str, fence: int, lease_seconds: float) -> bool:
        self.asked.append(lease_seconds)
        answer = self._answers.pop(0) if self._answers else True
        if isinstance(answer, Exception):
            raise answer
        return answer


def keeper_of(store: Renewals, lease: Lease, clock: SystemClock, *, seconds: float, end_seconds: float) -> LeaseKeeper:
    return LeaseKeeper(store, clock, lease, "t", 1, seconds, end_seconds)  # type: ignore[arg-type]  # the renewing half


def test_a_lease_ends_on_the_holders_own_clock_counted_from_before_the_call() -> None:
    """R19: an answer that took a second leaves a second less."""
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    lease = Lease(clock, asked_at_seconds=0.0, seconds=10.0)
    clock.advance(9.0)
    assert lease.allows(0.5)
    assert not lease.allows(1.0)
    lease.extend(asked_at_seconds=8.0, seconds=10.0)
    assert lease.allows(8.0)
    lease.extend(asked_at_seconds=0.0, seconds=1.0)
    assert lease.allows(8.0), "an old answer that comes late takes nothing back"


def test_a_lost_lease_never_comes_back() -> None:
    """R3."""
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    lease = Lease(clock, 0.0, 10.0)
    lease.lose()
    lease.extend(0.0, 100.0)
    assert not lease.allows(0.0)


async def test_a_lease_is_renewed_while_its_turn_runs_and_not_afterwards() -> None:
    """R12."""
    clock, store = SystemClock(), Renewals()
    lease = Lease(clock, clock.monotonic_seconds(), 0.06)
    keeper = keeper_of(store, lease, clock, seconds=0.06, end_seconds=clock.monotonic_seconds() + 60)
    keeper.start()
    await eventually(lambda: len(store.asked) >= 5)
    assert lease.allows(0.0)
    keeper.stop()
    seen = len(store.asked)
    await asyncio.sleep(0.1)
    assert len(store.asked) <= seen + 1


async def test_a_renewal_never_reaches_beyond_the_turns_end() -> None:
    """R12: never past the deadline plus grace."""
    clock, store = SystemClock(), Renewals()
    end = clock.monotonic_seconds() + 0.5
    keeper = keeper_of(store, Lease(clock, clock.monotonic_seconds(), 0.9), clock, seconds=0.9, end_seconds=end)
    keeper.start()
    await eventually(lambda: bool(store.asked))
    assert store.asked[0] <= 0.5
    await eventually(lambda: clock.monotonic_seconds() > end + 0.4)
    keeper.stop()
    assert len(store.asked) == 1


async def test_a_renewal_that_is_refused_loses_the_lease_and_one_that_is_unanswered_does_not() -> None:
    """R12: it decides nothing; while the store is away the local deadline goes on counting."""
    clock = SystemClock()
    now = clock.monotonic_seconds()
    lease = Lease(clock, now, 60.0)
    store = Renewals(InfrastructureError("away"), True, False)
    keeper = keeper_of(store, lease, clock, seconds=0.03, end_seconds=now + 60)
    keeper.start()
    await eventually(lambda: len(store.asked) == 2)
    assert lease.allows(0.0)
    await eventually(lambda: not lease.allows(0.0))
    keeper.stop()

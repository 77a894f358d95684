"""What the consumer does with a handler's outcomes, without a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from intention_kernel.clock import ManualClock, SystemClock
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.record import Record
from turn_runner.dispatch import Dispatcher
from turn_runner.lanes import Item
from turn_runner.limits import ConsumerCounters, ConsumerLimits
from turn_runner.offsets import Epoch
from turn_runner.outage import Outage
from turn_runner.outcomes import Again, Done, Outcome, RunAlone, lane_of
from turn_runner.watchdog import Watchdog

from tests.support.eventually import eventually

QUICK = ConsumerLimits(in_flight=2, backoff_seconds=0.001, backoff_limit_seconds=0.01)


def item(epoch: Epoch, offset: int, key: bytes | None = None) -> Item:
    record = Record("t", 0, offset, key or str(offset).encode(), None, (), 0, 1)
    return Item(record, lane_of(record), epoch, epoch.deliver(offset, 1))


@asynccontextmanager
async def dispatching(
    handler: Callable[[Record], Awaitable[Outcome]], limits: ConsumerLimits = QUICK
) -> AsyncIterator[Dispatcher]:
    dispatcher = Dispatcher(handler, limits, ConsumerCounters(), SystemClock(), lambda: None)
    try:
        yield dispatcher
    finally:
        await dispatcher.stop(0.0, 1.0)


async def test_a_record_that_begins_again_holds_no_permit_and_keeps_its_place() -> None:
    """R4: what waits to begin again waits outside the permits, and its lane waits behind it."""
    epoch, seen = Epoch(0), list[int]()
    answered = asyncio.Event()

    async def handler(record: Record) -> Outcome:
        seen.append(record.offset)
        return Again(0.0, "busy") if record.key == b"blocked" and not answered.is_set() else Done()

    async with dispatching(handler, ConsumerLimits(in_flight=1)) as dispatcher:
        dispatcher.submit([item(epoch, 1, b"blocked"), item(epoch, 2, b"blocked")])
        dispatcher.submit([item(epoch, offset) for offset in range(3, 10)])
        await eventually(lambda: set(range(3, 10)) < set(seen))
        assert 2 not in seen
        assert epoch.committable() is None
        answered.set()
        await eventually(lambda: epoch.committable() == 10)
        assert seen.index(2) > len(seen) - 1 - seen[::-1].index(1)


async def test_a_bug_in_the_handler_is_begun_again_and_skips_nothing(caplog: pytest.LogCaptureFixture) -> None:
    epoch, calls = Epoch(0), list[int]()

    async def handler(record: Record) -> Outcome:
        calls.append(record.offset)
        if len(calls) < 4:
            raise LookupError("a bug")
        return Done()

    async with dispatching(handler) as dispatcher:
        dispatcher.submit([item(epoch, 1, b"a"), item(epoch, 2, b"a")])
        await eventually(lambda: epoch.committable() == 3)
    assert calls == [1, 1, 1, 1, 2]
    assert "the handler of t-0@1 failed" in caplog.text


async def test_what_is_no_exception_costs_neither_permit_nor_lane() -> None:
    """R4: a lane whose handler ended in silence would stand for ever."""
    epoch, calls = Epoch(0), list[int]()

    async def handler(record: Record) -> Outcome:
        calls.append(record.offset)
        if len(calls) <= 4:
            raise GeneratorExit
        return Done()

    async with dispatching(handler) as dispatcher:
        dispatcher.submit([item(epoch, 1), item(epoch, 2)])
        await eventually(lambda: epoch.committable() == 3)
    assert sorted(set(calls)) == [1, 2]


async def test_a_handler_that_is_cancelled_from_inside_is_begun_again() -> None:
    epoch, calls = Epoch(0), list[int]()

    async def handler(record: Record) -> Outcome:
        calls.append(record.offset)
        if len(calls) == 1:
            raise asyncio.CancelledError
        return Done()

    async with dispatching(handler) as dispatcher:
        dispatcher.submit([item(epoch, 1)])
        await eventually(lambda: epoch.committable() == 2)
    assert calls == [1, 1]


async def test_who_asks_to_run_alone_is_called_while_nobody_else_runs() -> None:
    """R6: a turn with two crashes runs alone before it is given up."""
    epoch, running, together = Epoch(0), set[int](), list[set[int]]()

    async def handler(record: Record) -> Outcome:
        if record.offset == 1 and not record.alone:
            return RunAlone()
        assert record.alone == (record.offset == 1)
        running.add(record.offset)
        await asyncio.sleep(0)
        together.append(set(running))
        running.discard(record.offset)
        return Done()

    async with dispatching(handler, ConsumerLimits(in_flight=4)) as dispatcher:
        dispatcher.submit([item(epoch, offset) for offset in range(20)])
        await eventually(lambda: epoch.committable() == 20)
    assert max(len(now) for now in together) > 1
    assert [now for now in together if 1 in now] == [{1}]


async def test_while_the_database_is_away_one_attempt_a_step_asks_and_nothing_is_skipped() -> None:
    epoch, attempts = Epoch(0), list[float]()
    away = True

    async def handler(record: Record) -> Outcome:
        if away:
            attempts.append(asyncio.get_running_loop().time())
            raise InfrastructureError("no database")
        return Done()

    limits = ConsumerLimits(in_flight=5, backoff_seconds=0.1, backoff_limit_seconds=0.1)
    async with dispatching(handler, limits) as dispatcher:
        dispatcher.submit([item(epoch, offset) for offset in range(200)])
        await eventually(lambda: dispatcher.away)
        await eventually(lambda: len(attempts) >= 9)
        assert attempts[-1] - attempts[0] > 4 * 0.05 * 0.9, "five were in flight; each later one waits its step"
        assert epoch.committable() is None
        away = False
        await eventually(lambda: epoch.committable() == 200)
        assert not dispatcher.away


async def test_a_revoked_epoch_drops_what_waits_and_ignores_what_finishes_late() -> None:
    """R4: turns that still run after the drain go on; their completions move no offset."""
    epoch, release = Epoch(0), asyncio.Event()
    called: list[int] = []

    async def handler(record: Record) -> Outcome:
        called.append(record.offset)
        if record.offset == 1:
            await release.wait()
            return Done()
        return Again(0.01, "busy")

    async with dispatching(handler) as dispatcher:
        dispatcher.submit([item(epoch, 1), item(epoch, 2), item(epoch, 3, b"1")])
        await eventually(lambda: dispatcher.lanes.waiting == 1)
        epoch.revoking = True
        dispatcher.drop([epoch])
        assert dispatcher.lanes.buffered_records == 1
        await dispatcher.drain([epoch], 0.01)
        epoch.end()
        calls = list(called)
        release.set()
        await dispatcher.drain([epoch], 5.0)
        assert called == calls
        assert len(dispatcher.lanes) == 0
        assert epoch.committable() is None


@pytest.mark.parametrize("outcome", [Again(0.0, "fenced"), RunAlone()])
async def test_what_runs_when_its_partition_goes_is_not_begun_again_here(outcome: Outcome) -> None:
    """R4: whoever has the partition now begins the record again."""
    epoch, release = Epoch(0), asyncio.Event()
    called: list[int] = []

    async def handler(record: Record) -> Outcome:
        called.append(record.offset)
        await release.wait()
        return outcome

    async with dispatching(handler) as dispatcher:
        dispatcher.submit([item(epoch, 1)])
        await eventually(lambda: called)
        epoch.revoking = True
        dispatcher.drop([epoch])
        release.set()
        await dispatcher.drain([epoch], 5.0)
        assert len(dispatcher.lanes) == 0
    assert called == [1]


async def test_stopping_waits_for_what_runs_and_starts_nothing_more() -> None:
    epoch, started = Epoch(0), asyncio.Event()

    async def handler(record: Record) -> Outcome:
        started.set()
        await asyncio.sleep(0.05)
        return Done()

    async with dispatching(handler, ConsumerLimits(in_flight=1)) as dispatcher:
        dispatcher.submit([item(epoch, 1), item(epoch, 2)])
        await started.wait()
        await dispatcher.stop(5.0, 1.0)
        assert epoch.committable() == 2
        assert dispatcher.lanes.running == 0


async def test_stopping_ends_at_the_grace_even_when_a_handler_does_not() -> None:
    epoch, started, cancelled = Epoch(0), asyncio.Event(), asyncio.Event()

    async def handler(record: Record) -> Outcome:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Done()

    async with dispatching(handler) as dispatcher:
        dispatcher.submit([item(epoch, 1)])
        await started.wait()
        await dispatcher.stop(0.01, 1.0)
        assert cancelled.is_set()
        assert epoch.committable() is None


def test_failures_that_were_in_flight_together_are_one_step() -> None:
    outage = Outage(ConsumerLimits(backoff_seconds=1.0, backoff_limit_seconds=100.0))
    for _ in range(50):
        outage.failed(now=0.0)
    assert 0.5 <= outage.next_start <= 1.5
    assert not outage.may_start(0.4)
    outage.failed(now=2.0)
    assert 2.0 + 1.0 <= outage.next_start <= 2.0 + 3.0
    outage.answered()
    assert outage.may_start(0.0)


def test_an_attempt_that_takes_long_does_not_keep_others_from_asking() -> None:
    outage = Outage(ConsumerLimits(backoff_seconds=1.0))
    outage.failed(now=0.0)
    outage.started(now=2.0)
    assert not outage.may_start(2.4)
    assert outage.may_start(3.6)


def test_a_membership_that_cannot_rejoin_is_stuck_only_after_its_time() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    watchdog = Watchdog(clock, stuck_seconds=60.0)
    clock.advance(61.0)
    assert watchdog.stuck(rejoin_wanted=True)
    assert not watchdog.stuck(rejoin_wanted=False)
    watchdog.polled()
    assert watchdog.last_poll_age_seconds == 0.0
    assert not watchdog.stuck(rejoin_wanted=True)

"""Leases on a real database, deadlines on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import UTC, datetime

import pytest
from intention_kernel.clock import ManualClock
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.relay_leases import PostgresRelayLeases
from outbox_relay.shards import Shards

LEASE_SECONDS = 15.0
_SHARDS = 64


class Member:
    """One relay's shards, its clock, and why it was aborted."""

    def __init__(self, pool: Pool, owner: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.aborted: list[str] = []
        self.shards = Shards(PostgresRelayLeases(pool), owner, lease_seconds, self.clock, self.aborted.append)


@pytest.fixture
async def pool(fresh_database: str) -> AsyncIterator[Pool]:
    pool = Pool(fresh_database, 4)
    yield pool
    await pool.close()


async def test_a_lone_relay_takes_every_shard(pool: Pool) -> None:
    alone = Member(pool, "a")
    await alone.shards.beat()
    assert alone.shards.owned == frozenset(range(_SHARDS))


async def test_relays_share_fairly_and_never_own_the_same_shard(pool: Pool) -> None:
    members = [Member(pool, name) for name in "abc"]
    for _ in range(3):
        for member in members:
            await member.shards.beat()
            owned = [number for each in members for number in each.shards.owned]
            assert len(owned) == len(set(owned))
    assert sorted(len(member.shards.owned) for member in members) == [20, 22, 22]


async def test_a_shard_in_use_is_given_back_only_when_it_is_left(pool: Pool) -> None:
    first, second = Member(pool, "a"), Member(pool, "b")
    await first.shards.beat()
    first.shards.use(range(_SHARDS))
    await second.shards.beat()
    await first.shards.beat()
    assert len(first.shards.owned) == _SHARDS
    assert len(first.shards.usable()) == _SHARDS // 2
    first.shards.leave(range(_SHARDS))
    await first.shards.give_back()
    await second.shards.beat()
    assert len(first.shards.owned) == len(second.shards.owned) == _SHARDS // 2


async def test_two_that_give_back_at_once_do_not_meet(pool: Pool) -> None:
    first, second = Member(pool, "a"), Member(pool, "b")
    await first.shards.beat()
    first.shards.use(range(_SHARDS))
    await second.shards.beat()
    await first.shards.beat()
    first.shards.leave(range(_SHARDS))
    await asyncio.gather(*(first.shards.give_back() for _ in range(4)))
    assert len(first.shards.owned) == _SHARDS // 2


async def test_every_owner_of_a_shard_has_an_epoch_of_its_own(pool: Pool) -> None:
    leases = PostgresRelayLeases(pool)
    first = await leases.take("a", _SHARDS, LEASE_SECONDS)
    await leases.release("a", first)
    second = await leases.take("b", _SHARDS, LEASE_SECONDS)
    assert {number: epoch + 1 for number, epoch in first.items()} == second
    assert not (await leases.beat("a", first, LEASE_SECONDS)).renewed
    await leases.release("a", first)
    assert (await leases.beat("b", second, LEASE_SECONDS)).renewed == frozenset(range(_SHARDS))


async def test_an_expired_lease_does_not_revive(pool: Pool) -> None:
    leases = PostgresRelayLeases(pool)
    taken = await leases.take("a", 3, LEASE_SECONDS)
    await pool.fetch("update relay_leases set expires_at = clock_timestamp()", ())
    beat = await leases.beat("a", taken, LEASE_SECONDS)
    assert not beat.renewed
    assert beat.next_expiry_seconds == 0


async def test_a_relay_is_there_when_a_dead_ones_leases_run_out(pool: Pool) -> None:
    alive, dead = Member(pool, "a"), Member(pool, "b")
    await alive.shards.beat()
    await dead.shards.beat()
    await alive.shards.beat()
    await dead.shards.beat()
    assert len(alive.shards.owned) == _SHARDS // 2
    await pool.fetch("update relay_leases set expires_at = clock_timestamp() + interval '3 s' where owner = 'b'", ())
    assert 2 < await alive.shards.beat() < 3.1
    await pool.fetch("update relay_leases set expires_at = clock_timestamp() where owner = 'b'", ())
    await pool.fetch("update relays set seen_at = clock_timestamp() - interval '1 h' where owner = 'b'", ())
    await alive.shards.beat()
    assert len(alive.shards.owned) == _SHARDS


async def test_a_lease_that_runs_out_while_records_are_under_way_aborts_and_nothing_is_sent_after(
    pool: Pool,
) -> None:
    """R37: a relay that lost its lease stops at once, without flushing."""
    member = Member(pool, "a")
    await member.shards.beat()
    member.shards.use([5])
    with member.shards.sending([5]):
        assert member.shards.may_send([5])
        member.clock.advance(LEASE_SECONDS * 0.8)
        assert not member.shards.may_send([5])
        assert not member.aborted
        member.clock.advance(LEASE_SECONDS * 0.2)
        member.shards.drop_expired()
    assert len(member.aborted) == 1
    assert not member.shards.owned


async def test_a_lease_that_runs_out_while_nothing_is_under_way_is_dropped_and_taken_again_later(
    pool: Pool,
) -> None:
    member = Member(pool, "a")
    await member.shards.beat()
    member.shards.use([5])
    member.clock.advance(LEASE_SECONDS)
    member.shards.drop_expired()
    await pool.fetch("update relay_leases set expires_at = clock_timestamp()", ())
    await member.shards.beat()
    assert not member.aborted
    assert len(member.shards.owned) == _SHARDS
    # What was fetched under the old epoch must not be sent under the new one: somebody else may have published it.
    assert not member.shards.may_send([5])
    assert member.shards.may_send([6])
    member.shards.leave([5])
    assert member.shards.may_send([5])


async def test_a_shard_that_another_relay_has_taken_is_lost_at_the_next_beat(pool: Pool) -> None:
    member = Member(pool, "a")
    await member.shards.beat()
    await pool.fetch("update relay_leases set owner = 'b', epoch = epoch + 1 where shard in (7, 8)", ())
    member.shards.use([7])
    with member.shards.sending([7]):
        await member.shards.beat()
    assert [reason.split(" ")[1] for reason in member.aborted] == ["7"]
    assert member.shards.owned == frozenset(range(_SHARDS)) - {7, 8}


async def test_the_deadline_counts_from_before_the_call(pool: Pool) -> None:
    """However slow the store answers, the lease ends here before it ends there."""
    member = Member(pool, "a")
    leases = PostgresRelayLeases(pool)

    class Slow(PostgresRelayLeases):
        async def take(
            self, owner: str, limit: int, lease_seconds: float, *, held: Collection[int] = ()
        ) -> Mapping[int, int]:
            taken = await leases.take(owner, limit, lease_seconds)
            member.clock.advance(10.0)
            return taken

    shards = Shards(Slow(pool), "a", LEASE_SECONDS, member.clock, member.aborted.append)
    await shards.beat()
    assert shards.drop_expired() == pytest.approx(5.0)


async def test_shards_whose_taking_was_never_answered_are_taken_again(pool: Pool) -> None:
    member = Member(pool, "a")
    lost = await PostgresRelayLeases(pool).take("a", 10, LEASE_SECONDS)
    await member.shards.beat()
    assert len(member.shards.owned) == _SHARDS
    taken = await pool.fetch("select shard, epoch from relay_leases where shard < 10", ())
    assert {row["shard"]: row["epoch"] for row in taken} == {number: epoch + 1 for number, epoch in lost.items()}


async def test_sequences_belong_to_an_epoch(pool: Pool) -> None:
    member = Member(pool, "a")
    await member.shards.beat()
    member.shards.remember(5, "thread", 17)
    assert member.shards.sequences(5) == {"thread": 17}
    await member.shards.release_all()
    await member.shards.beat()
    assert 5 in member.shards.owned
    assert not member.shards.sequences(5)

"""Rows that are locked elsewhere, and statements that arrive late (protocol R1, R2, R9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from intention_kernel.ports.effect_store import EndAnswer, Prepared
from intention_kernel.ports.turn_store import Begun, Committed, Contended, Fenced, Replayed
from intention_kernel.postgres.begin_rows import begin_columns
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import (
    begin_of,
    begun,
    blocked_turn,
    commit_of,
    committed,
    end_of,
    new_thread,
    prepare_of,
    prepared,
)

from tests.postgres.watching import until_a_statement_waits

LOCK_HEAD = "select from threads where thread_id = $1 for update"
LOCK_RECEIPTS = "select from receipts where thread_id = $1 for update"


@asynccontextmanager
async def locked(connection: asyncpg.Connection, statement: str, thread: str) -> AsyncIterator[None]:
    """The rows are locked by a transaction of ours until the end, where it commits."""
    async with connection.transaction():
        await connection.execute(statement, thread)
        yield


@asynccontextmanager
async def other_connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """One more connection to the same database."""
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
    finally:
        await connection.close()


async def test_a_locked_head_delays_its_own_row_and_no_other(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R9: the batch skips it; it is tried again alone, waiting, beside the batches."""
    stuck, free = new_thread(), new_thread()
    await begun(store, stuck, "turn-0")
    async with locked(connection, LOCK_HEAD, stuck):
        waiter = asyncio.create_task(store.begin(begin_of(stuck, "turn-1")))
        neighbours = await asyncio.gather(*(store.begin(begin_of(f"{free}-{n}", "turn-1")) for n in range(5)))
        assert all(isinstance(answer, Begun) for answer in neighbours)
        assert not waiter.done()
        await connection.execute(
            "update threads set lease_nonce = null, lease_until = '-infinity' where thread_id = $1", stuck
        )
    assert isinstance(await waiter, Begun)


async def test_a_row_that_stays_locked_is_contended_at_every_boundary(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R9: and nothing has happened to it."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    ask = await prepared(store, thread, "turn-1", attempt.fence)
    done = commit_of(thread, "turn-1", attempt, claimed=(ask.effect_key,))
    async with locked(connection, LOCK_HEAD, thread):
        answers = await asyncio.gather(
            store.begin(begin_of(thread, "turn-1")),
            store.prepare(prepare_of(thread, "turn-1", attempt.fence, "2")),
            store.end(end_of(ask, "completed")),
            store.commit(done),
        )
        assert set(answers) == {Contended()}
        assert await store.renew(thread, attempt.fence, 30.0), "a head that is in use is alive (R12)"
    assert await store.end(end_of(ask, "completed")) == EndAnswer("recorded", "completed")
    assert await store.commit(done) == Committed(1)


async def test_a_locked_receipt_makes_prepare_end_and_commit_contended(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R9: heads, then receipts; whoever settles a receipt holds only the latter."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    ask = await prepared(store, thread, "turn-1", attempt.fence)
    async with locked(connection, LOCK_RECEIPTS, thread):
        answers = await asyncio.gather(
            store.prepare(ask),
            store.end(end_of(ask, "completed")),
            store.commit(commit_of(thread, "turn-1", attempt, claimed=(ask.effect_key,))),
        )
        assert set(answers) == {Contended()}


async def test_a_batch_and_somebody_who_locks_in_the_opposite_order_do_not_block_each_other(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R9: a batch never waits for a lock while it holds others, so nobody can wait for it in a circle."""
    low, high = sorted((new_thread(), new_thread()))
    attempts = {thread: await begun(store, thread, "turn-1") for thread in (low, high)}
    for thread in (low, high):
        await committed(store, commit_of(thread, "turn-1", attempts[thread]))
    async with connection.transaction():
        await connection.execute(LOCK_HEAD, high)
        batch = [asyncio.create_task(store.begin(begin_of(thread, "turn-2"))) for thread in (low, high)]
        assert isinstance(await batch[0], Begun)
        async with other_connection(fresh_database) as watcher:
            await until_a_statement_waits(watcher)
        await connection.execute(LOCK_HEAD, low)  # a batch that held it and waited for `high` would deadlock here
        assert not batch[1].done()
    assert isinstance(await batch[1], Begun)


async def test_begin_reads_what_it_waited_for(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R2: whoever held the head committed the turn; the waiting begin answers with its result and takes no lease."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    done = commit_of(thread, "turn-1", attempt)
    async with other_connection(fresh_database) as zombie, zombie.transaction():
        await zombie.execute(LOCK_HEAD, thread)
        retry = asyncio.create_task(store.begin(begin_of(thread, "turn-1")))
        await until_a_statement_waits(connection)
        await zombie.execute(
            "insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result,"
            " first_sequence, event_count, events, fence)"
            " values ($1, 'turn-1', 1, 'completed', $2, '', 0, '\\x0072', 1, 0, '', $3)",
            thread,
            done.digest,
            attempt.fence,
        )
        await zombie.execute(
            "update threads set revision = 1, lease_nonce = null, lease_until = '-infinity', turn_id = null,"
            " turn_digest = null where thread_id = $1",
            thread,
        )
    assert await retry == Replayed(b"r", 1)
    assert await connection.fetchval("select lease_nonce from threads where thread_id = $1", thread) is None


async def test_a_late_duplicate_of_a_begin_cannot_arm_a_zombie_again(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R1: the fence is the database's; the duplicate of A's begin gets a higher one, which A never sees."""
    thread = new_thread()
    first = begin_of(thread, "turn-1")
    a = await store.begin(first)
    assert isinstance(a, Begun)
    expire = "update threads set lease_until = '-infinity' where thread_id = $1"
    await connection.execute(expire, thread)
    b = await begun(store, thread, "turn-1")
    await connection.execute(expire, thread)
    duplicate = await connection.fetch(statement("begin_turns"), *begin_columns([first]), False)
    assert duplicate[0]["fence"] > b.fence > a.fence
    assert isinstance(await store.prepare(prepare_of(thread, "turn-1", a.fence)), Fenced)


async def test_a_repeated_begin_gets_the_same_lease_while_it_lives_and_a_new_fence_when_it_is_over(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R1, R3: a lease that is over is never revived, not even by its own nonce; the repeat counts no attempt."""
    thread = new_thread()
    ask = begin_of(thread, "turn-1")
    a = await store.begin(ask)
    assert isinstance(a, Begun)
    assert await store.begin(ask) == a
    await connection.execute("update threads set lease_until = '-infinity' where thread_id = $1", thread)
    again = await store.begin(ask)
    assert isinstance(again, Begun)
    assert (again.fence, again.attempt, again.crashes) == (a.fence + 1, 1, 0)


async def test_a_settlement_that_overtakes_the_blocked_commit_finds_it_waiting(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R29: the late answer comes before the turn commits as blocked; the commit itself asks for the continuation."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    ask = await prepared(store, thread, "turn-1", attempt.fence)
    await store.end(end_of(ask, "uncertain"))
    assert await store.end(end_of(ask, "completed")) == EndAnswer("settled", "completed")
    await connection.execute("delete from outbox where thread_id = $1", thread)  # published, and found nobody waiting
    await committed(store, commit_of(thread, "turn-1", attempt, blocked=(ask.effect_key,), claimed=(ask.effect_key,)))
    asked = await connection.fetchval(
        "select count(*) from outbox where thread_id = $1 and topic = 'turns.requests'", thread
    )
    assert asked == 1


@pytest.mark.parametrize("boundary", ["prepare", "commit"])
async def test_batches_of_many_threads_survive_others_that_lock_in_random_order(
    store: PostgresStore, connection: asyncpg.Connection, boundary: str
) -> None:
    """R9: nothing deadlocks, nothing is lost."""
    threads = [new_thread() for _ in range(12)]
    attempts = [await begun(store, thread, "turn-1") for thread in threads]
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = await connection.fetchval(deadlocks)

    async def interfere() -> None:
        for start in range(8):
            async with connection.transaction():
                for thread in sorted(threads, reverse=True)[start : start + 4]:
                    await connection.execute(LOCK_HEAD, thread)

    async def run(thread: str, attempt: Begun) -> None:
        if boundary == "commit":
            assert isinstance(await persist(store, thread, attempt), Committed)
        else:
            assert isinstance(await persist_prepare(store, thread, attempt), Prepared)

    await asyncio.gather(interfere(), *(run(*pair) for pair in zip(threads, attempts, strict=True)))
    await connection.execute("select pg_stat_force_next_flush()")
    assert await connection.fetchval(deadlocks) == before


async def persist(store: PostgresStore, thread: str, attempt: Begun) -> object:
    """Commit, again while contended."""
    done = commit_of(thread, "turn-1", attempt)
    while isinstance(answer := await store.commit(done), Contended):
        pass
    return answer


async def persist_prepare(store: PostgresStore, thread: str, attempt: Begun) -> object:
    """Prepare, again while contended."""
    ask = prepare_of(thread, "turn-1", attempt.fence)
    while isinstance(answer := await store.prepare(ask), Contended):
        pass
    return answer


async def test_two_blocked_turns_are_resumed_one_after_the_other(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R30: the oldest first, by the revision of the turn that first blocked."""
    thread = new_thread()
    ask = await blocked_turn(store, thread, "turn-z")
    attempt = await begun(store, thread, "turn-a")
    await committed(store, commit_of(thread, "turn-a", attempt, blocked=(ask.effect_key,)))
    await store.end(end_of(ask, "completed"))
    receipt_id = await connection.fetchval("select receipt_id from receipts where thread_id = $1", thread)
    resumed = await store.continuation(thread, receipt_id, 1)
    assert resumed is not None
    assert resumed.resumed_turn_id == "turn-z"

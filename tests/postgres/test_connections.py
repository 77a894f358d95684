"""Lost connections, callers that leave, hints, and values that a row cannot hold (protocol R11 to R13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal

import asyncpg
import pytest
from intention_kernel.contracts.receipt import Summary
from intention_kernel.errors import InfrastructureError, SchemaVersionError, TurnLimitError
from intention_kernel.ports.effect_store import EndAnswer, Prepared
from intention_kernel.ports.turn_store import Begun, Committed, JournalEntry
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import (
    begin_of,
    begun,
    commit_of,
    committed,
    end_of,
    new_thread,
    origin_of,
    prepare_of,
    prepared,
    rejection_of,
)

from tests.postgres.watching import end_connections, until, until_a_statement_waits
from tests.support.servers import SharedServers


@asynccontextmanager
async def other(servers: SharedServers) -> AsyncIterator[asyncpg.Connection]:
    """A connection to another database of the same server."""
    connection = await asyncpg.connect(servers.database_url)
    try:
        yield connection
    finally:
        await connection.close()


async def test_every_boundary_goes_on_after_the_server_ended_all_connections(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R11: a lost connection decides nothing; the same rows go out again."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    assert await end_connections(connection)
    ask = await prepared(store, thread, "turn-1", attempt.fence)
    await end_connections(connection)
    assert await store.end(end_of(ask, "completed")) == EndAnswer("recorded", "completed")
    await end_connections(connection)
    assert await store.renew(thread, attempt.fence, 30.0)
    await end_connections(connection)
    assert await committed(store, commit_of(thread, "turn-1", attempt, claimed=(ask.effect_key,))) == 1


async def test_a_connection_that_ends_in_the_middle_of_a_statement_is_an_unknown_outcome_that_is_asked_again(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R11: the commit waits for a lock when its connection is killed; the repeat commits once."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    async with connection.transaction():
        await connection.execute("lock table turns in access exclusive mode")
        commit = asyncio.create_task(store.commit(commit_of(thread, "turn-1", attempt)))
        await until_a_statement_waits(connection)
        await end_connections(connection)
        await until_a_statement_waits(connection)
    assert await commit == Committed(1)
    assert await connection.fetchval("select count(*) from turns where thread_id = $1", thread) == 1


async def test_a_commit_whose_reply_is_lost_answers_committed_when_it_is_asked_again(store: PostgresStore) -> None:
    """R11: "mine, already done"."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    done = commit_of(thread, "turn-1", attempt)
    assert [await store.commit(done) for _ in range(2)] == [Committed(1), Committed(1)]


async def test_a_server_that_is_away_is_an_infrastructure_error_once_patience_is_over(
    fresh_database: str, connection: asyncpg.Connection, servers: SharedServers
) -> None:
    name = await connection.fetchval("select quote_ident(current_database())")
    async with PostgresStore.open(fresh_database, patience_seconds=0.1) as store, other(servers) as administrator:
        await administrator.execute(f"alter database {name} with allow_connections false")
        with pytest.raises(InfrastructureError):
            await store.begin(begin_of(new_thread(), "turn-1"))
        with pytest.raises(InfrastructureError):
            await store.reject(rejection_of(origin_of()))
        await administrator.execute(f"alter database {name} with allow_connections true")
        assert isinstance(await store.begin(begin_of(new_thread(), "turn-1")), Begun)


async def test_a_missing_function_names_the_command_to_run(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    await connection.execute("alter function release_turns_v1 rename to release_turns_v0")
    with pytest.raises(SchemaVersionError, match="run `intention migrate`"):
        await store.release(new_thread(), 1, count_attempt=True)


async def test_a_cancelled_caller_leaves_the_statement_running_to_its_end(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R11: the commit that nobody waits for any more is durable all the same, and the connection stays usable."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    async with connection.transaction():
        await connection.execute("lock table turns in access exclusive mode")
        commit = asyncio.create_task(store.commit(commit_of(thread, "turn-1", attempt)))
        await until_a_statement_waits(connection)
        commit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await commit

    async def is_committed() -> bool:
        return bool(await connection.fetchval("select count(*) from turns where thread_id = $1", thread))

    await until(is_committed)
    assert await committed(store, commit_of(thread, "turn-1", attempt)) == 1


async def test_relays_are_told_after_a_commit(store: PostgresStore, connection: asyncpg.Connection) -> None:
    heard: list[str] = []
    await connection.add_listener("intention_outbox", lambda *said: heard.append(str(said[2])))
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    assert not heard
    await committed(store, commit_of(thread, "turn-1", attempt))

    async def was_told() -> bool:
        await connection.execute("select 1")
        return heard == ["intention_outbox"]

    await until(was_told)


async def test_one_row_that_the_database_refuses_fails_alone(store: PostgresStore) -> None:
    """R11, R13: its neighbours in the batch are committed."""
    pairs = [(thread := new_thread(), await begun(store, thread, "turn-1")) for _ in range(3)]
    commits = [commit_of(thread, "turn-1", attempt) for thread, attempt in pairs]
    commits[1] = replace(commits[1], event_count=2**40)  # no integer of four bytes
    answers = await asyncio.gather(*(store.commit(one) for one in commits), return_exceptions=True)
    assert answers[0] == answers[2] == Committed(1)
    assert isinstance(answers[1], TurnLimitError)
    assert await store.commit(commit_of(*_first(pairs[1]))) == Committed(1)


def _first(pair: tuple[str, Begun]) -> tuple[str, str, Begun]:
    return pair[0], "turn-1", pair[1]


async def test_a_value_that_only_the_server_refuses_fails_its_own_row(store: PostgresStore) -> None:
    """R11: a check constraint says no to one row of the batch."""
    attempts = {thread: await begun(store, thread, "turn-1") for thread in (new_thread(), new_thread())}
    good, bad = (prepare_of(thread, "turn-1", attempt.fence) for thread, attempt in attempts.items())
    bad = replace(bad, journal=(JournalEntry("x", "nonsense"),))  # type: ignore[arg-type]
    answers = await asyncio.gather(store.prepare(good), store.prepare(bad), return_exceptions=True)
    assert answers[0] == Prepared(1, 1)
    assert isinstance(answers[1], TurnLimitError)


async def test_text_from_outside_is_stored_whatever_it_holds(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R13: NUL and lone surrogates in a summary, an observation, a journal entry's name, a rejected record."""
    thread, odd = new_thread(), "nul \0 surrogate \ud800"
    attempt = await begun(store, thread, "turn-1")
    ask = prepare_of(thread, "turn-1", attempt.fence)
    name = JournalEntry(f"recorded:{odd}:0", "recorded", request_digest=b"\0", body=b"\0")
    ask = replace(ask, summary=Summary(odd, odd, Decimal("1.50"), odd), journal=(*ask.journal, name))
    assert await store.prepare(ask) == Prepared(1, 1)
    answer = await store.end(replace(end_of(ask, "uncertain"), detail=odd))
    assert answer == EndAnswer("recorded", "uncertain")
    origin = replace(origin_of(), headers=((odd, odd.encode("utf-8", "surrogatepass")),))
    await store.reject(replace(rejection_of(origin), detail=odd, thread_id=odd))
    row = await connection.fetchrow("select title, provider, amount from receipts where thread_id = $1", thread)
    assert tuple(row or ()) == ("nul \ufffd surrogate \ufffd", "nul \ufffd surrogate \ufffd", Decimal("1.50"))
    await connection.execute("update threads set lease_until = '-infinity' where thread_id = $1", thread)
    again = await begun(store, thread, "turn-1")
    assert name in again.journal


async def test_all_calls_can_be_made_at_once(store: PostgresStore, connection: asyncpg.Connection) -> None:
    """Each connection runs one statement at a time, whoever asks."""
    threads = [new_thread() for _ in range(20)]
    attempts = await asyncio.gather(*(begun(store, thread, "turn-1") for thread in threads))
    pairs = list(zip(threads, attempts, strict=True))
    await asyncio.gather(
        *(store.renew(thread, attempt.fence, 30.0) for thread, attempt in pairs[:10]),
        *(store.release(thread, attempt.fence, count_attempt=False) for thread, attempt in pairs[10:]),
        *(store.begin(begin_of(new_thread(), "turn-1")) for _ in range(10)),
        *(store.held_receipts(thread, "turn-1") for thread in threads),
        *(store.reject(rejection_of(origin_of(n))) for n in range(10)),
    )
    leased = "select count(*) from threads where thread_id = any ($1) and lease_nonce is not null"
    assert await connection.fetchval(leased, threads) == 10

"""What the database refuses whoever asks: illegal moves of a receipt, changed history (design 4)."""

from __future__ import annotations

import itertools
from typing import get_args

import asyncpg
import pytest
from intention_kernel.contracts.receipt import LEGAL_TRANSITIONS, ReceiptState
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import begun, commit_of, committed, end_of, new_thread, prepared

STATES: tuple[ReceiptState, ...] = get_args(ReceiptState)
MOVE = "update receipts set state = $2, value = '\\x00', version = version + 1, cause = 'test' where thread_id = $1"


async def receipt_in(store: PostgresStore, connection: asyncpg.Connection, state: ReceiptState) -> str:
    """A thread whose only receipt is in that state."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    ask = await prepared(store, thread, "turn-1", attempt.fence)
    if state != "prepared":
        await store.end(end_of(ask, state))
    assert await connection.fetchval("select state from receipts where thread_id = $1", thread) == state
    return thread


async def test_only_legal_moves_are_possible_and_each_is_appended_to_the_history(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    for earlier, later in itertools.permutations(STATES, 2):
        thread = await receipt_in(store, connection, earlier)
        lines = await connection.fetchval("select count(*) from receipt_transitions where thread_id = $1", thread)
        if (earlier, later) in LEGAL_TRANSITIONS:
            await connection.execute(MOVE, thread, later)
            lines += 1
        else:
            with pytest.raises(asyncpg.PostgresError) as refused:
                await connection.execute(MOVE, thread, later)
            assert refused.value.sqlstate == "IK001"
        history = await connection.fetch(
            "select t.state, t.version from receipt_transitions as t where thread_id = $1 order by version", thread
        )
        assert len(history) == lines
        assert tuple(history[-1]) == tuple(
            await connection.fetchrow("select state, version from receipts where thread_id = $1", thread) or ()
        )


async def test_a_contradicted_receipt_makes_no_further_attempt_and_stays_contradicted(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R25: the only way out is a contest."""
    thread = await receipt_in(store, connection, "failed")
    await connection.execute(
        "update receipts set contradicted = true, version = version + 1 where thread_id = $1", thread
    )
    with pytest.raises(asyncpg.PostgresError, match="cannot go from failed to prepared"):
        await connection.execute(MOVE, thread, "prepared")
    with pytest.raises(asyncpg.PostgresError, match="not cleared"):
        await connection.execute(
            "update receipts set contradicted = false, version = version + 1 where thread_id = $1", thread
        )


@pytest.mark.parametrize("version", ["version", "version + 2", "version - 1"])
async def test_a_move_raises_the_version_by_one(
    store: PostgresStore, connection: asyncpg.Connection, version: str
) -> None:
    thread = await receipt_in(store, connection, "prepared")
    with pytest.raises(asyncpg.PostgresError, match="version of a receipt"):
        await connection.execute(
            f"update receipts set state = 'uncertain', version = {version} where thread_id = $1", thread
        )


@pytest.mark.parametrize("table", ["turns", "receipt_transitions"])
async def test_what_is_appended_is_never_changed_or_deleted(
    store: PostgresStore, connection: asyncpg.Connection, table: str
) -> None:
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    ask = await prepared(store, thread, "turn-1", attempt.fence)
    await store.end(end_of(ask, "completed"))
    await committed(store, commit_of(thread, "turn-1", attempt, claimed=(ask.effect_key,)))
    for statement in (f"update {table} set thread_id = thread_id", f"delete from {table}"):
        with pytest.raises(asyncpg.PostgresError, match="only appended to"):
            await connection.execute(statement)

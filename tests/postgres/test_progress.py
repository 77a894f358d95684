"""R39 in the database: how far partitions are done, and effects of turns that a lost database may have had."""

from __future__ import annotations

from dataclasses import replace

import asyncpg
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import Completed, Prepared, Uncertain
from intention_kernel.ports.partition_progress import PartitionProgress
from intention_kernel.postgres.recovery import open_recovery
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import (
    begun,
    blocked_turn,
    commit_of,
    committed,
    end_of,
    new_thread,
    origin_of,
    prepare_of,
    prepared,
    rejection_of,
    set_aside_of,
)

TOPIC = "turns.requests"


async def begin_recovery(url: str) -> bool:
    async with open_recovery(url) as recovery:
        return await recovery.begin(TOPIC, {0: 40, 1: 0}, random_id().hex, "mara", b"{}")


async def settle_as_not_applied(connection: asyncpg.Connection, thread: str) -> None:
    outcome = await connection.fetchval(
        "select s.outcome from receipts as r cross join lateral settle_receipt_v1(r.thread_id, r.effect_key, r.version,"
        " 'not_applied', null, null, $2, null, ''::bytea, null, 'test', null) as s where r.thread_id = $1",
        thread,
        random_id().hex,
    )
    assert outcome == "settled"


async def test_a_stored_offset_never_goes_back(store: PostgresStore) -> None:
    """R39: the group may be put back; what is done stays done."""
    assert (await store.progress(TOPIC, [0, 1])).partitions == {}
    await store.store_progress(TOPIC, {0: 7, 1: 3})
    await store.store_progress(TOPIC, {0: 5, 1: 4})
    assert (await store.progress(TOPIC, [0, 1, 2])).partitions == {0: PartitionProgress(7), 1: PartitionProgress(4)}
    assert (await store.progress("other", [0])).partitions == {}


async def test_an_effect_that_a_lost_database_may_have_had_is_uncertain_without_a_call(
    store: PostgresStore, connection: asyncpg.Connection
) -> None:
    """R39, R15, R22, R26: the claim is journalled, the attempt is over, and its window counts from the request."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    ask = replace(prepare_of(thread, "turn-1", attempt.fence), restored=True)
    first, repeated = await store.prepare(ask), await store.prepare(ask)
    assert isinstance(first, Uncertain)
    assert first == repeated
    assert first.effect_key == ask.effect_key
    row = await connection.fetchrow(
        "select state, cause, version, returned_at is not null as is_over, call_deadline > clock_timestamp() as may_land,"
        " extract(epoch from first_prepared_at) * 1000 as first_ms from receipts where thread_id = $1",
        thread,
    )
    assert dict(row or {}) == {
        "state": "uncertain",
        "cause": "restore",
        "version": 2,
        "is_over": True,
        "may_land": True,
        "first_ms": ask.requested_at_ms,
    }
    entries = await connection.fetch("select entry from turn_journal where thread_id = $1", thread)
    assert [entry["entry"] for entry in entries] == [f"claim:{ask.effect_key}"]


async def test_a_value_that_is_known_is_a_value_also_in_a_restored_turn(store: PostgresStore) -> None:
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    order = await prepared(store, thread, "turn-1", attempt.fence)
    await store.end(end_of(order, "completed"))
    again = replace(order, attempt_id=random_id(), restored=True)
    assert isinstance(await store.prepare(again), Completed)


async def test_what_was_settled_after_the_recovery_may_be_called_and_what_failed_before_may_not(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R39: an old "not applied" says nothing of the attempts that the lost database made after it."""
    thread = new_thread()
    attempt = await begun(store, thread, "turn-1")
    order = await prepared(store, thread, "turn-1", attempt.fence)
    await store.end(end_of(order, "failed"))
    await committed(store, commit_of(thread, "turn-1", attempt, claimed=(order.effect_key,)))
    assert await begin_recovery(fresh_database)
    attempt = await begun(store, thread, "turn-2")
    ask = replace(prepare_of(thread, "turn-2", attempt.fence), restored=True)
    assert isinstance(await store.prepare(ask), Uncertain)
    await settle_as_not_applied(connection, thread)
    answer = await store.prepare(replace(ask, attempt_id=random_id()))
    assert isinstance(answer, Prepared)
    assert answer.attempt == 3


async def test_a_recovery_leaves_no_lease_and_no_fence_of_the_lost_database(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R39, R3: a process that wrote to the lost database may still be about; no fence of it is ever given again."""
    thread = new_thread()
    old = await begun(store, thread, "turn-1")
    assert await begin_recovery(fresh_database)
    assert await connection.fetchval("select lease_nonce is null from threads where thread_id = $1", thread)
    new = await begun(store, thread, "turn-1")
    assert new.fence > 2**40 > old.fence
    assert new.incarnation != old.incarnation


async def test_a_recovery_marks_who_waits_and_puts_off_what_is_open(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R39, R22, R23: a turn that waits goes on by a request of its own; what was looked at before settles nothing."""
    thread = new_thread()
    await blocked_turn(store, thread, "turn-1")
    seen = await connection.fetchrow("select version, call_deadline from receipts where thread_id = $1", thread)
    assert await begin_recovery(fresh_database)
    assert not await begin_recovery(fresh_database), "an unfinished one goes on"
    progress = await store.progress(TOPIC, [0])
    assert progress.recovering
    assert progress.of(0) == PartitionProgress(0, 40)
    now = await connection.fetchrow("select version, call_deadline from receipts where thread_id = $1", thread)
    assert seen is not None
    assert now is not None
    assert now["version"] == seen["version"] + 1
    assert now["call_deadline"] > seen["call_deadline"]
    marks = await connection.fetch(
        "select turn_id, kind, effect_key from turn_journal where thread_id = $1 and entry = 'restored'", thread
    )
    assert [tuple(mark) for mark in marks] == [("turn-1", "claim", None)]
    async with open_recovery(fresh_database) as recovery:
        await recovery.finish("mara", b"{}")
    assert not (await store.progress(TOPIC, [0])).recovering
    actions = await connection.fetch("select actor, action from audit_log order by id")
    assert [tuple(line) for line in actions] == [("mara", "recover.begin"), ("mara", "recover.finish")]


async def test_sequences_go_on_above_the_topics_and_published_rows_leave_the_outbox(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R39, R36, R37: no number of the topic is used again, and a relay meets no gap."""
    behind, ahead, unknown = new_thread(), new_thread(), new_thread()
    for thread in (behind, ahead):
        attempt = await begun(store, thread, "turn-1")
        await committed(store, commit_of(thread, "turn-1", attempt))
    next_one = await connection.fetchval("select next_sequence from threads where thread_id = $1", behind)
    seen = {behind: 50, ahead: next_one - 2, unknown: 9}
    async with open_recovery(fresh_database) as recovery:
        assert await recovery.raise_sequences("turns.events", 0, 70, seen) == 2
        assert await recovery.raise_sequences("turns.events", 0, 70, seen) == 0
    rows = await connection.fetch("select thread_id, next_sequence from threads")
    found = {row["thread_id"]: row["next_sequence"] for row in rows}
    assert (found[behind], found[ahead], found[unknown]) == (51, next_one, 10)
    left = await connection.fetch("select distinct thread_id from outbox where topic = 'turns.events'")
    assert [row["thread_id"] for row in left] == [ahead]
    attempt = await begun(store, unknown, "turn-1")
    assert attempt.next_sequence == 10
    assert (await store.progress("turns.events", [0])).of(0).done_offset == 70


async def test_what_is_given_up_or_refused_inside_of_the_window_keeps_the_mark_for_its_redrive(
    store: PostgresStore, connection: asyncpg.Connection, fresh_database: str
) -> None:
    """R39, R33: redriven beyond the window, such a turn may have run on the lost database all the same."""
    assert await begin_recovery(fresh_database)
    threads = {name: new_thread() for name in ("inside", "beyond", "refused", "begun")}
    for name, offset in (("inside", 39), ("beyond", 40)):
        attempt = await begun(store, threads[name], "turn-1")
        await store.set_aside(
            replace(set_aside_of(threads[name], "turn-1", attempt), origin=origin_of(offset, partition=0))
        )
    await store.reject(rejection_of(origin_of(38, partition=0), threads["refused"], "turn-1"))
    attempt = await begun(store, threads["begun"], "turn-1")
    refusal = rejection_of(origin_of(37, partition=0), threads["begun"], "turn-1")
    await store.reject_begun(refusal, fence=attempt.fence, revision=attempt.revision)
    await store.reject(rejection_of(origin_of(36, partition=0)))
    marked = await connection.fetch("select thread_id from turn_journal where entry = 'restored' and kind = 'claim'")
    assert {row["thread_id"] for row in marked} == {threads[name] for name in ("inside", "refused", "begun")}

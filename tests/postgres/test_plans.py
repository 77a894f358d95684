"""The statements keep to their indexes however large the tables are: plans are pinned, and looked at here."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import asyncpg
import pytest
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

EXPLAIN = """
load 'auto_explain';
set auto_explain.log_nested_statements = on;
set auto_explain.log_min_duration = 0;
set client_min_messages = log;
"""
FILL = """
insert into threads (thread_id) select 'filler-' || n from generate_series(1, 3000) as n;
insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence,
                   event_count, events, fence)
select 'filler-' || n, 'turn', 1, 'completed', '', '', 0, '', 1, 0, '', 1 from generate_series(1, 3000) as n;
insert into receipts (thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, state, attempt, attempt_id,
                      fence, fingerprint, payload, host_context, title, deduplicates, call_deadline, instance, boot, cause)
select 'filler-' || n, 'key', n::text, 'effect', 'turn', 'agent', 'prepared', 1, gen_random_uuid(), 1, '', '', '', '',
       false, now(), '', gen_random_uuid(), 'filler' from generate_series(1, 3000) as n;
update receipts set state = 'completed', value = '', version = 2 where thread_id like 'filler%';
insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, request_digest, body, requested_at_ms)
select 'filler-' || n, 'turn', 'claim', 'claim', 'key', '', '', 0 from generate_series(1, 3000) as n;
insert into blocked_steps (thread_id, effect_key, turn_id, revision)
select 'filler-' || n, 'key', 'turn', 1 from generate_series(1, 3000) as n;
analyze;
"""
# One row in all, read whole.
_SMALL = {"installation"}


@pytest.fixture
def plans() -> list[str]:
    return []


@pytest.fixture
async def explained(
    fresh_database: str, plans: list[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[PostgresStore]:
    """A store whose connections tell the plan of every statement, those inside functions too."""
    connect = asyncpg.connect

    async def explaining_connect(*arguments: object, **options: object) -> asyncpg.Connection:
        connection: asyncpg.Connection = await connect(*arguments, **options)  # type: ignore[call-overload]
        if "server_settings" in options:  # the store's own
            connection.add_log_listener(lambda _, message: plans.append(str(message.message)))
            await connection.execute(EXPLAIN)
        return connection

    async with PostgresStore.open(fresh_database) as store:
        monkeypatch.setattr("intention_kernel.postgres.pool.asyncpg.connect", explaining_connect)
        yield store


def scans(plan: str) -> list[tuple[str, str]]:
    """Each scan of a table in the plan: its line, and the lines that belong to it up to the next node."""
    nodes = re.split(r"\n\s*->\s+|\n\s*(?=CTE |SubPlan |InitPlan )", plan)
    return [
        (node.split("\n")[0], node) for node in nodes if re.match(r"(Seq|Index|Index Only|Bitmap Heap|Tid) Scan", node)
    ]


_FOUND_BY = {"turns": ("turn_id",), "receipts": ("effect_key", "receipt_id", "receipts_open_idx")}
"""What grows with a thread is never read by the thread alone: the cost of turn 10,000 is that of turn 10."""


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
async def test_no_statement_of_the_boundary_scans_a_table(
    explained: PostgresStore, connection: asyncpg.Connection, plans: list[str], filled: bool
) -> None:
    """Plans that were made on empty tables stay when the tables have grown, so they have to be right there too."""
    if filled:
        await connection.execute("set session_replication_role = replica")  # no histories of fillers
        await connection.execute(FILL)
    store, thread = explained, new_thread()
    ask = await blocked_turn(store, thread, "turn-1")
    await store.end(end_of(ask, "completed"))
    receipt_id = await connection.fetchval("select receipt_id from receipts where thread_id = $1", thread)
    assert await store.continuation(thread, receipt_id, 1)
    attempt = await begun(store, thread, "turn-2")
    order = await prepared(store, thread, "turn-2", attempt.fence, "2")
    await store.prepare(order)
    await store.renew(thread, attempt.fence, 30.0)
    await store.end(end_of(order, "failed"))
    again = await prepared(store, thread, "turn-2", attempt.fence, "2")
    await store.end(end_of(again, "completed"))
    await store.prepare(prepare_of(thread, "turn-2", attempt.fence, "2"))
    await store.held_receipts(thread, "turn-2")
    await committed(store, commit_of(thread, "turn-2", attempt, claimed=(order.effect_key,)))
    attempt = await begun(store, thread, "turn-3")
    await store.set_aside(set_aside_of(thread, "turn-3", attempt))
    attempt = await begun(store, thread, "turn-4")
    await store.reject_begun(
        rejection_of(origin_of(), thread, "turn-4"), fence=attempt.fence, revision=attempt.revision
    )
    await store.reject(rejection_of(origin_of(8)))
    attempt = await begun(store, thread, "turn-5")
    await store.release(thread, attempt.fence, count_attempt=False)

    looked_at, problems = 0, set()
    for plan in plans:
        for line, node in scans(plan):
            table = re.search(r" on (\w+)", line)
            if table is None or table[1] in _SMALL or table[1].startswith("pg_"):
                continue
            looked_at += 1
            condition = next((part for part in node.splitlines() if "Index Cond" in part), "")
            found_by = _FOUND_BY.get(table[1], ("Index Cond",))
            if not any(word in line + condition for word in found_by):
                problems.add(f"{line.split('  (')[0]} by {condition.strip()} in {query(plan)}")
        problems |= {f"{join} in {query(plan)}" for join in ("Hash Join", "Merge Join") if join in plan}
    assert not problems, "\n".join(sorted(problems))
    assert looked_at > 50


def query(plan: str) -> str:
    """The first words of the statement of that plan."""
    return " ".join(plan.split("Query Text:")[-1].split())[:160]

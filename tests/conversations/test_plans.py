"""What is read of one thread reads that thread's rows, and the lists read from an index, however large the tables are."""

from __future__ import annotations

import re

import asyncpg
import pytest
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.redrives import SetAsideRef
from intention_kernel.reconciliation.given_up import GivenUpPage, list_given_up
from intention_kernel.reconciliation.revealing import reveal, reveal_turn
from intention_kernel.testing.boundary_calls import begun, origin_of, rejection_of, set_aside_of

from tests.conversations.bench import EVERYTHING, conversing
from tests.postgres.test_plans import EXPLAIN, FILL, query, scans

_MORE = """
insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence,
                   event_count, events, fence)
select 'filler-' || n, 'turn-' || m, m, 'completed', '', '', 0, '', m, 1, '', 1
from generate_series(1, 300) as n, generate_series(2, 20) as m;
insert into set_aside_turns (thread_id, turn_id, revision, reason, detail, attempts, digest, fence, origin_topic,
                             origin_partition, origin_offset, record_headers, record_timestamp_ms)
select 'filler-' || n, 'turn', 1, '', '', 1, '', 1, 'topic', 0, n, '', 0 from generate_series(1, 3000) as n;
insert into rejected_requests (origin_topic, origin_partition, origin_offset, digest, reason, detail, record_headers,
                               record_timestamp_ms)
select 'topic', 0, n, '', '', '', '', 0 from generate_series(1, 3000) as n;
analyze;
"""


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
async def test_no_statement_about_conversations_scans_a_table(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch, filled: bool
) -> None:
    plans: list[str] = []
    connect = asyncpg.connect

    async def explaining_connect(*arguments: object, **options: object) -> asyncpg.Connection:
        connection: asyncpg.Connection = await connect(*arguments, **options)  # type: ignore[call-overload]
        if "server_settings" in options:  # the pool's own
            connection.add_log_listener(lambda _, message: plans.append(str(message.message)))
            await connection.execute(EXPLAIN)
        return connection

    async with conversing(fresh_database) as bench:
        receipt = await bench.lose_a_reservation()
        await bench.store.set_aside(set_aside_of("t", "turn-3", await begun(bench.store, "t", "turn-3")))
        await bench.store.reject(rejection_of(origin_of()))
        if filled:
            await bench.connection.execute("set session_replication_role = replica")
            await bench.connection.execute(FILL + _MORE)
        monkeypatch.setattr("intention_kernel.postgres.pool.asyncpg.connect", explaining_connect)
        read = bench.conversations
        for scope in (EVERYTHING, Scope(tenants=frozenset({"acme"}))):
            assert await read.thread("t", scope) is not None
            assert await read.turn("t", "yes", scope) is not None
            assert await read.events("t", scope, after=0, limit=5) is not None
            page = await list_given_up(read, scope, limit=1)
            assert isinstance(page, GivenUpPage)
            if page.cursor is not None:
                await list_given_up(read, scope, cursor=page.cursor, limit=1)
            assert await read.given_up_record(SetAsideRef("t", 3), scope) is not None
            await reveal(read, receipt, scope, "ana", "why")
            await reveal_turn(read, "t", "yes", scope, "ana", "why")
    problems, looked_at = set(), 0
    for plan in plans:
        for line, node in scans(plan):
            table = re.search(r" on (\w+)", line)
            if table is None or table[1] == "installation" or table[1].startswith("pg_"):
                continue
            looked_at += 1
            condition = next((part for part in node.splitlines() if "Index Cond" in part), "")
            # On empty tables both indexes of turns look the same.
            if not condition or (filled and table[1] == "turns" and not re.search("turn_id|revision", condition)):
                problems.add(f"{line.split('  (')[0]} by {condition.strip()} in {query(plan)}")
    assert not problems, "\n".join(sorted(problems))
    assert looked_at > 20

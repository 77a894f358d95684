"""The queue's list: one filter means the same in SQL and as a predicate, and pages come from an index (design 7)."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.operator_queue import Place, QueueItem
from intention_kernel.ports.queue_filter import Filter
from intention_kernel.postgres.operator_queue import IN_ORDER, open_queue
from intention_kernel.postgres.pool import PINNED_PLANS
from intention_kernel.postgres.queue_queries import items_query
from intention_kernel.reconciliation.filtering import FilterProblem, parse, text_of
from intention_kernel.reconciliation.listing import BadCursor, Page, in_sight, list_items
from intention_kernel.reconciliation.matching import matches

from tests.reconciliation.bench import Ledger, ledger
from tests.support.queue_filters import filters

_EVERYTHING = parse("status:open,decided,failed,done snoozed:any")
_WORDS = st.sampled_from(
    ["stripe", "adyen", "ana", "ben", "t-1", "t-7", "EUR", "pay", "mail", "order 7", "ORDER", "ü", "Ü", "%"]
)
_HOURS = st.integers(0, 60).map(lambda hours: Decimal(hours * 3_600))

# Times are half an hour from any whole hour, so that no bound of a filter falls between two queries.
FILL = """
insert into threads (thread_id) select 't-' || n from generate_series(1, {rows}) as n;
insert into receipts (thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, tenant_id, state, attempt, attempt_id, fence,
  fingerprint, payload, host_context, title, provider, amount, currency, deduplicates, key_window_seconds, first_prepared_at,
  call_deadline, instance, boot, cause)
select 't-' || n, 'key', md5(n::text), (array['pay', 'mail'])[1 + n % 2], 'turn-' || n % 5, 'agent-' || n % 3,
  (array['acme', null])[1 + n / 2 % 2], 'prepared', 1, gen_random_uuid(), 1, '', '', '',
  (array['Refund order 7', 'MAIL to Über', '100 % sure', 'refund ORDER'])[1 + n / 3 % 4], (array['stripe', 'adyen', null])[1 + n / 5 % 3],
  (array[1.5, 100, null, -3, 1e20])[1 + n / 7 % 5], (array['EUR', null])[1 + n / 11 % 2], n % 3 = 0,
  case n % 3 when 0 then n * 3600 end, now() - interval '30 min' - n % 24 * interval '1 hour', now(), '', gen_random_uuid(),
  'prepare' from generate_series(1, {rows}) as n;
update receipts set state = 'uncertain', version = 2, cause = (array['scan', 'commit', 'uncertain'])[1 + length(receipt_id || title) % 3];
insert into blocked_steps (thread_id, effect_key, turn_id, revision)
select 't-' || n, 'key', 'turn-' || b, b from generate_series(1, {rows}) as n, generate_series(1, n % 4) as b;
insert into reconciliation_items (thread_id, effect_key, settlement, kind, phase, reason, opened_at)
select 't-' || n, 'key', 1, case n % 7 when 3 then 'orphaned' else 'effect' end,
  (array['open', 'open', 'open', 'decided', 'failed', 'done'])[1 + n / 2 % 6], 'uncertain',
  now() - interval '30 min' - n % 50 * interval '1 hour' from generate_series(1, {rows}) as n;
update receipts set contradicted = true, version = 3, cause = 'contradicted' where thread_id in (select 't-' || n * 9 from generate_series(1, {rows}) as n);
insert into receipt_work (thread_id, effect_key, claimed_by, claimed_until, snoozed_until, snoozed_answer)
select 't-' || n, 'key', (array['ana', 'ben', 'me'])[1 + n % 3], now() + (n % 5 - 2.5) * interval '1 hour',
  (array['-infinity'::timestamptz, now() + interval '90 min', now() - interval '90 min', 'infinity'])[1 + n / 2 % 4],
  case n / 2 % 4 when 3 then 'absent::' end from generate_series(1, {rows}, 2) as n;
analyze;
"""


def everything() -> Filter:
    assert isinstance(_EVERYTHING, Filter)
    return _EVERYTHING


def test_a_filter_selects_the_same_items_in_sql_and_as_a_predicate(fresh_database: str) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def opened() -> tuple[QueueItem, ...]:
            connection = await asyncpg.connect(fresh_database)
            await connection.execute(FILL.format(rows=120))
            await connection.close()
            return await queue.items(everything(), "ana", None, 1000)

        queue = runner.run(stack.enter_async_context(open_queue(fresh_database, pool_size=1)))
        try:
            known = runner.run(opened())
            assert len(known) == 120

            @settings(max_examples=150, deadline=None)
            @given(filters(_WORDS, _HOURS))
            def check(query: Filter) -> None:
                found = runner.run(queue.items(query, "ana", None, 1000))
                expected = [item.receipt_id for item in known if matches(query, item, "ana", item.now)]
                assert [item.receipt_id for item in found] == expected, text_of(query)

            check()
        finally:
            runner.run(stack.aclose())


@pytest.fixture
async def filled(fresh_database: str) -> AsyncIterator[Ledger]:
    async with ledger(fresh_database) as db:
        await db.connection.execute(FILL.format(rows=120))
        yield db


def _need(item: QueueItem) -> tuple[object, ...]:
    """What the order is made of, said again."""
    closes = item.key_closes_at.timestamp() if item.key_closes_at else float("inf")
    urgent = item.contradicted and item.phase == "open"
    return (not urgent, -item.blocks, closes, item.opened_at, item.thread_id)


async def test_the_list_is_by_need_and_its_pages_neither_skip_nor_repeat(filled: Ledger) -> None:
    """Contradicted, then what most turns wait for, then the key that is forgotten first, then the oldest."""
    whole = await filled.receipts.items(everything(), "", None, 1000)
    assert [_need(item) for item in whole] == sorted(map(_need, whole))
    assert whole[0].contradicted
    assert {item.blocks for item in whole} == {0, 1, 2, 3}
    expected = [item.receipt_id for item in whole if matches(in_sight(Filter()), item, "", item.now)]
    for limit in (1, 7, 500):
        seen: list[str] = []
        cursor = None
        while True:
            page = await list_items(filled.receipts, cursor=cursor, limit=limit)
            assert isinstance(page, Page)
            seen += [item.receipt_id for item in page.items]
            if page.cursor is None:
                break
            cursor = page.cursor
        assert seen == expected


async def test_an_items_place_follows_its_receipt(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        first, second = await db.uncertain("t-1"), await db.uncertain("t-2")
        await db.receipts.scan(10)
        assert [item.receipt_id for item in await db.listed()] == [first, second]
        await db.connection.execute(
            "insert into blocked_steps select thread_id, effect_key, 'turn-1', 1 from receipts where thread_id = 't-2'"
        )
        top = (await db.listed())[0]
        assert (top.receipt_id, top.blocks) == (second, 1)
        await db.connection.execute(
            "update receipts set contradicted = true, version = version + 1, cause = 'contradicted' where thread_id = 't-1'"
        )
        top = (await db.listed())[0]
        assert (top.receipt_id, top.urgent) == (first, True)
        await db.connection.execute("delete from blocked_steps")
        assert [item.blocks for item in await db.listed()] == [0, 0]


@pytest.mark.parametrize(
    "query", ["status:done", "-status:open", "status:open,done owner:me", "-thread:t-1 status:done"]
)
async def test_what_is_done_is_listed_for_a_thread(filled: Ledger, query: str) -> None:
    """It has no index of its own, and an index would grow with it."""
    refused = await list_items(filled.receipts, query)
    assert isinstance(refused, FilterProblem)
    assert refused.suggestion == "thread:ID"
    narrow = await list_items(filled.receipts, f"{query} thread:t-10")
    assert isinstance(narrow, Page)


@pytest.mark.parametrize(
    "cursor", ["", "x", "W10", "WzJd", "Ww==", "é", "WzEsdHJ1ZSwxLG51bGwsIngiLCJ0IiwiayIsMSwiZWZmZWN0Il0"]
)
async def test_a_cursor_of_nobodys_is_refused(filled: Ledger, cursor: str) -> None:
    assert isinstance(await list_items(filled.receipts, cursor=cursor), BadCursor)


NOON = "2026-01-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("closes", "opened"),
    [
        (None, "0001-01-01T00:00:00+00:01"),
        (None, "9999-12-31T23:59:59-00:01"),
        ("0001-01-01T00:00:00+23:59", NOON),
        (None, "2026-01-01"),
    ],
)
async def test_a_time_that_is_none_in_utc_makes_no_cursor(filled: Ledger, closes: str | None, opened: str) -> None:
    for members, is_one in ((_written(closes, opened), False), (_written(None, NOON), True)):
        answer = await list_items(filled.receipts, cursor=members)
        assert isinstance(answer, Page if is_one else BadCursor)


@pytest.mark.parametrize(("thread", "key"), [("\0", "k"), ("t", "\ud800"), ("\udfff", "\0")])
async def test_ids_that_nothing_is_called_are_a_place_all_the_same(filled: Ledger, thread: str, key: str) -> None:
    assert isinstance(await list_items(filled.receipts, cursor=_written(None, NOON, thread, key)), Page)


def _written(closes: str | None, opened: str, thread: str = "t", key: str = "k") -> str:
    """A cursor as somebody writes it who has seen others."""
    members = [1, True, 1, closes, opened, thread, key, 1, "effect"]
    return base64.urlsafe_b64encode(json.dumps(members).encode()).decode().rstrip("=")


async def _plan_of(db: Ledger, query: str, place: Place | None) -> str:
    """As a connection of the queue's prepares it, with many items that are done and some that are not."""
    await db.connection.execute("set session_replication_role = replica")
    await db.connection.execute(
        "insert into reconciliation_items (thread_id, effect_key, settlement, phase, reason) select 'filler-' || n, 'key', 1,"
        " case when n < 3000 then 'open' else 'done' end, '' from generate_series(1, 20000) as n"
    )
    await db.connection.execute("analyze reconciliation_items")
    sql, values = items_query(in_sight(_filter(query)), "ana", place, 50)
    for name, value in {**PINNED_PLANS, **IN_ORDER}.items():
        await db.connection.execute(f"set {name} = '{value}'")
    await db.connection.execute(f"prepare page as {sql}")
    rows = await db.connection.fetch(f"explain execute page({', '.join('null' for _ in values)})")
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("query", ["thread:t-1", "status:done thread:t-1", "receipt:r"])
async def test_the_items_of_a_thread_are_found_by_its_key(filled: Ledger, query: str) -> None:
    plan = await _plan_of(filled, query, None)
    assert not any(word in plan for word in ("Seq Scan", "_priority_idx")), plan


@pytest.mark.parametrize("query", ["", "owner:none age>2h", "provider:stripe", "status:uncertain"])
@pytest.mark.parametrize("following", [False, True], ids=["first", "next"])
async def test_a_page_is_read_from_the_index_of_what_is_not_done(filled: Ledger, query: str, following: bool) -> None:
    """No sort and no scan: with 100,000 open and 10 million settled items a page costs what it shows."""
    last = (await filled.listed())[4]
    place = Place(
        *(last.urgent, last.blocks, last.key_closes_at, last.opened_at),
        *(last.thread_id, last.effect_key, last.settlement, last.kind),
    )
    plan = await _plan_of(filled, query, place if following else None)
    assert "using reconciliation_items_priority_idx" in plan, plan
    assert not any(word in plan for word in ("Seq Scan", "Sort", "Gather")), plan
    assert ("Index Cond: (ROW((NOT " in plan) == following, plan


def test_a_page_asks_for_one_statement_whatever_the_values() -> None:
    """So that the statements that a connection keeps do not grow with what people type."""
    one = items_query(_filter("provider:a,b age>2h x"), "ana", None, 5)[0]
    assert one == items_query(_filter("provider:c age>9d y"), "ben", None, 50)[0]


def _filter(query: str) -> Filter:
    found = parse(query)
    assert isinstance(found, Filter)
    return found


@pytest.mark.parametrize(
    ("scope", "count"),
    [
        (Scope(), 2),
        (Scope(tenants=frozenset({"tenant"})), 2),
        (Scope(tenants=frozenset({"another"})), 0),
        (Scope(tenants=frozenset()), 0),
        (Scope(effects=frozenset({"shop.charge"})), 1),
        (Scope(tenants=frozenset({"tenant"}), effects=frozenset({"mail"})), 1),
    ],
)
async def test_a_list_holds_what_is_within_reach(fresh_database: str, scope: Scope, count: int) -> None:
    async with ledger(fresh_database) as db:
        await db.uncertain("t-1")
        await db.uncertain("t-2", "mail:1", effect_id="mail")
        await db.receipts.scan(10)
        page = await list_items(db.receipts, scope=scope)
        assert isinstance(page, Page)
        assert len(page.items) == count

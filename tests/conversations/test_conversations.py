"""Threads, turns and their events as people read them: a real committed FAN-7 turn, in pages, within a scope."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import pytest
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ids import receipt_id
from intention_kernel.ports.conversations import Document
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.queue_work import AuditQuery
from intention_kernel.ports.receipt_ledger import Unknown
from intention_kernel.postgres.operator_queue import open_queue
from intention_kernel.reconciliation.document import shown_document
from intention_kernel.reconciliation.masking_documents import masked_shown, masked_thread, masked_trace, masked_turn
from intention_kernel.reconciliation.revealing import BoundedByEffects, NoReason, Revealed, reveal, reveal_turn
from intention_kernel.reconciliation.showing import Shown, show
from intention_kernel.reconciliation.trace import trace_document

from tests.conversations.bench import EVERYTHING, RESERVE, Bench, conversing

KEY = "inventory.reserve:FAN-7"
RECEIPT = receipt_id("t", KEY)
OTHERS = Scope(tenants=frozenset({"umbrella"}))
OURS = Scope(tenants=frozenset({"acme"}))


@pytest.fixture
async def bench(fresh_database: str) -> AsyncIterator[Bench]:
    async with conversing(fresh_database) as opened:
        yield opened


async def _all_events(bench: Bench, limit: int, after: int = 0) -> list[JsonValue]:
    found: list[JsonValue] = []
    while True:
        page = await bench.conversations.events("t", EVERYTHING, after=after, limit=limit)
        assert page is not None
        assert len(page.events) <= limit
        found.extend(page.events)
        after = page.after
        if not page.more:
            return found


def _ids(documents: JsonValue, member: str) -> list[JsonValue]:
    return [cast("Document", document)[member] for document in cast("list[JsonValue]", documents)]


async def test_a_blocked_turn_is_shown_with_its_thread_its_receipt_and_its_events(bench: Bench) -> None:
    assert await bench.lose_a_reservation() == RECEIPT
    thread, turn = await bench.thread(), await bench.turn("yes")
    assert (thread["tenantId"], thread["revision"], thread["nextBefore"]) == ("acme", 2, None)
    assert _ids(thread["lastTurns"], "turnId") == ["yes", "ask"]
    assert _ids(thread["openReceipts"], "receiptId") == [RECEIPT]
    [waits] = cast("list[Document]", thread["blocked"])
    assert (waits["turnId"], waits["receiptId"], waits["state"]) == ("yes", RECEIPT, "uncertain")
    assert (turn["state"], turn["status"], _ids(turn["receipts"], "receiptId")) == ("committed", "blocked", [RECEIPT])
    traced = trace_document(cast("list[JsonValue]", turn["events"]), cast("list[Document]", turn["receipts"]))
    [row] = cast("list[Document]", traced["comparison"])
    assert (row["state"], row["capabilityId"], traced["status"]) == ("unknown", "inventory.reserve", "blocked")


async def test_a_tail_meets_every_event_once_in_pages_of_any_size(bench: Bench) -> None:
    await bench.lose_a_reservation()
    told = [
        *cast("list[JsonValue]", (await bench.turn("ask"))["events"]),
        *cast("list[JsonValue]", (await bench.turn("yes"))["events"]),
    ]
    for limit in (1, 7, 1000):
        assert await _all_events(bench, limit) == told
    assert await _all_events(bench, 3, after=len(told) - 5) == told[-5:]
    page = await bench.conversations.events("t", EVERYTHING, after=len(told), limit=5)
    assert page is not None
    assert (page.events, page.after, page.more) == ((), len(told), False)
    await bench.say("more", "how many FILTER-A are there?")
    assert await _all_events(bench, 4, after=page.after) == (await bench.turn("more"))["events"]


async def test_a_tail_goes_on_over_turns_that_retention_has_thinned(bench: Bench) -> None:
    """Also where they fill a page: it is empty, and goes on behind them."""
    await bench.connection.execute(
        "insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence,"
        " event_count, events, fence) select 't', 'turn-' || n, n, 'completed', '', '', 0, '', n * 10 - 9, 10, '\\x0090', 1"
        " from generate_series(1, 45) as n"
    )
    await bench.connection.execute("insert into threads (thread_id, revision, next_sequence) values ('t', 45, 451)")
    page = await bench.conversations.events("t", EVERYTHING, after=0, limit=9)
    assert page is not None
    assert (page.events, page.after, page.more) == ((), 200, True)
    await bench.say("last", "hello")
    told = (await bench.turn("last"))["events"]
    assert await _all_events(bench, 2) == told
    page = await bench.conversations.events("t", EVERYTHING, after=450, limit=200)
    assert page is not None
    assert (list(page.events), page.after, page.more) == (told, 450 + len(page.events), False)


async def test_the_turns_of_a_long_thread_come_in_pages_over_gaps(bench: Bench) -> None:
    await bench.say("first", "hello")
    await bench.connection.execute(
        "insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence,"
        " event_count, events, fence) select 't', 'turn-' || n, n, 'completed', '', '', 0, '', n * 100, 1, '\\x0090', 1"
        " from generate_series(3, 60) as n where n % 7 <> 0"
    )
    await bench.connection.execute("update threads set revision = 60 where thread_id = 't'")
    seen: list[JsonValue] = []
    before: int | None = None
    while True:
        page = await bench.thread(before=before)
        seen.extend(_ids(page["lastTurns"], "revision"))
        if page["nextBefore"] is None:
            break
        before = cast("int", page["nextBefore"])
    assert seen == [*(n for n in range(60, 2, -1) if n % 7), 1]


async def test_what_is_out_of_scope_is_not_there(bench: Bench) -> None:
    await bench.lose_a_reservation()
    read = bench.conversations
    assert await read.thread("t", OURS) == await read.thread("t", EVERYTHING)
    assert await read.turn("t", "yes", OURS) == await read.turn("t", "yes", EVERYTHING)
    for scope in (OTHERS, Scope(tenants=frozenset())):
        assert await read.thread("t", scope) is None
        assert await read.turn("t", "yes", scope) is None
        assert await read.events("t", scope, after=0, limit=9) is None
    assert await read.thread("nobody's", EVERYTHING) is None
    assert await read.turn("t", "never", EVERYTHING) is None


async def test_a_thread_without_a_tenant_is_nobodys_of_a_tenant(bench: Bench) -> None:
    await bench.say("turn", "hello", tenant_id=None)
    assert await bench.conversations.thread("t", OURS) is None
    assert await bench.conversations.thread("t", EVERYTHING) is not None


async def test_receipts_of_effects_out_of_scope_are_left_out(bench: Bench) -> None:
    await bench.lose_a_reservation()
    stocks = Scope(effects=frozenset({"inventory.work_order"}))
    thread, turn = await bench.thread(scope=stocks), await bench.turn("yes", scope=stocks)
    assert (thread["openReceipts"], thread["blocked"], turn["receipts"]) == ([], [], [])
    reserves = Scope(effects=frozenset({"inventory.reserve"}))
    assert await bench.thread(scope=reserves) == await bench.thread()


async def test_revealing_is_on_record_before_anything_is_shown(bench: Bench, fresh_database: str) -> None:
    """The line has who, what and why; without a reason, or out of reach, there is neither a line nor a yes."""
    await bench.lose_a_reservation()
    read = bench.conversations
    for scope in (OTHERS, Scope(effects=frozenset({"another"}))):
        assert await reveal(read, RECEIPT, scope, "ana", "the customer asks") == Unknown()
    assert await reveal_turn(read, "t", "yes", OTHERS, "ana", "the customer asks") == Unknown()
    for effects in ("inventory.reserve", "another"):
        bounded = Scope(effects=frozenset({effects}))
        assert await reveal_turn(read, "t", "yes", bounded, "ana", "the customer asks") == BoundedByEffects()
    assert await reveal(read, RECEIPT, OURS, "ana", " \n") == NoReason()
    assert await reveal_turn(read, "t", None, OURS, "ana", "") == NoReason()
    assert await reveal(read, "nothing", EVERYTHING, "ana", "why") == Unknown()
    assert await bench.audit() == []
    assert await reveal(read, RECEIPT, OURS, "ana", "the customer asks") == Revealed()
    assert await reveal_turn(read, "t", "yes", OURS, "ben", "to see what was said") == Revealed()
    assert await bench.audit() == [("ana", "revealed"), ("ben", "revealed")]
    async with open_queue(fresh_database, pool_size=1) as queue:
        [line] = await queue.audit(AuditQuery(RECEIPT))
        [turn, _] = await queue.audit(AuditQuery(action="revealed"))
    assert line.detail == {"receiptId": RECEIPT, "version": 2, "reason": "the customer asks"}
    assert (turn.thread_id, turn.detail) == ("t", {"turnId": "yes", "revision": 2, "reason": "to see what was said"})


async def test_masked_documents_hold_nothing_of_what_was_said_or_stored(bench: Bench, fresh_database: str) -> None:
    """A part that exists nowhere but in the user's words; its receipt's title is the effect's own words."""
    await bench.lose_a_reservation()
    secret = "GIZMO-7777"
    await bench.say("secret", f"how many {secret}?")
    turn, thread = await bench.turn("secret"), await bench.thread()
    events = cast("list[JsonValue]", turn["events"])
    masked = [masked_turn(turn), masked_thread(thread), masked_trace(trace_document(events))]
    for real, shown in zip((turn, thread, trace_document(events)), masked, strict=True):
        assert secret.encode() in dumps(real)
        assert secret.encode() not in dumps(shown)
    async with open_queue(fresh_database, pool_size=1) as queue:
        receipt = await show(queue, RECEIPT)
    assert isinstance(receipt, Shown)
    document = shown_document(receipt)
    assert b'"sku":"FILTER-A"' in dumps(document)
    assert masked_shown(document)["payload"] == {"sku": "text of 8 characters", "quantity": "a number"}
    assert masked_shown(document)["title"] == "the reservation of 2 FILTER-A"
    assert RESERVE.encode() not in dumps(masked_thread(thread))

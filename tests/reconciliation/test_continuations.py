"""A decided item owns its continuation until that is committed (protocol R31)."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.agent.effect import Answer, Found, Lookup, Ports, ReceiptView
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.receipt_ledger import Cared

from tests.reconciliation.bench import QUICK, Ledger, effect, ledger, phases, reconciler

CARE = replace(QUICK, again_seconds=0.03).care


async def _settled(db: Ledger) -> str:
    async def find(_: ReceiptView, __: Ports) -> Answer:
        return Found({"charge": "ch-1"})

    receipt = await db.uncertain()
    assert (await reconciler(db.receipts, effect(Lookup(find))).run_once()).settled == 1
    return receipt


async def _set_aside(db: Ledger, state: str = "open") -> None:
    await db.connection.execute(
        "insert into set_aside_turns (thread_id, turn_id, revision, state, reason, detail, attempts, digest, fence,"
        " origin_topic, origin_partition, origin_offset, record_headers, record_timestamp_ms)"
        " select thread_id, turn_id, issue, $1, 'r', 'd', 5, 'd', 1, 'turns.requests', 0, issue, 'h', 0"
        " from reconciliation_items",
        state,
    )


async def _requested(db: Ledger) -> list[JsonValue]:
    return [request["turnId"] for request in await db.outbox("turns.requests") if isinstance(request, dict)]


async def test_an_item_is_done_once_its_continuation_is_committed(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        await _settled(db)
        await db.due_now()
        assert await db.receipts.care(10, CARE) == Cared(0, 0, 0, 0)
        await db.commit_continuation()
        await db.due_now()
        assert (await db.receipts.care(10, CARE)).done == 1
        item = await db.item()
        assert (item["phase"], item["closed_at"] is None) == ("done", False)
        assert phases(await db.outbox("receipts.reconciliation")) == ["open", "decided", "done"]


async def test_a_request_that_got_lost_is_published_again_with_the_same_id(fresh_database: str) -> None:
    """R31: until its turn row exists; a duplicate is replayed."""
    async with ledger(fresh_database) as db:
        receipt = await _settled(db)
        await db.connection.execute("delete from outbox where topic = 'turns.requests'")
        republished = 0
        for _ in range(8):
            await db.due_now()
            republished += (await db.receipts.care(10, CARE)).republished
            assert republished or await _requested(db) == []
        assert republished == 1, "while it waits in the outbox it is not asked for again"
        assert await _requested(db) == [f"reconciliation:{receipt}:1:1"]
        assert (await db.item())["looks"] == 8


async def test_a_continuation_that_was_set_aside_gets_the_next_issue_number_and_in_the_end_fails(
    fresh_database: str,
) -> None:
    """R31: the id of one that was given up stays given up."""
    async with ledger(fresh_database) as db:
        receipt = await _settled(db)
        for issue in (2, 3):
            await _set_aside(db)
            await db.due_now()
            assert (await db.receipts.care(10, CARE)).reissued == 1
            assert (await db.item())["issue"] == issue
        await _set_aside(db)
        await db.due_now()
        assert (await db.receipts.care(10, CARE)).failed == 1
        assert await _requested(db) == [f"reconciliation:{receipt}:1:{issue}" for issue in (1, 2, 3)]
        item = await db.item()
        assert (item["phase"], item["reason"]) == ("failed", "its continuation was set aside 3 times")
        assert phases(await db.outbox("receipts.reconciliation")) == ["open", "decided", "failed"]


async def test_a_continuation_that_is_redriven_is_waited_for(fresh_database: str) -> None:
    """R33: the redrive has sent it; no other issue may run beside it."""
    async with ledger(fresh_database) as db:
        await _settled(db)
        await _set_aside(db, "redriven")
        for _ in range(8):
            await db.due_now()
            assert await db.receipts.care(10, CARE) == Cared(0, 0, 0, 0)


async def test_an_orphaned_item_is_left_to_people(fresh_database: str) -> None:
    """R32: the money moved and the conversation does not know; nothing automatic happens."""
    async with ledger(fresh_database) as db:
        await db.uncertain()
        await db.connection.execute(
            "update receipts set state = 'completed', value = 'v', version = version + 1, settlements = 1"
        )
        await db.connection.execute(
            "insert into reconciliation_items (thread_id, effect_key, settlement, kind, reason)"
            " select thread_id, effect_key, settlements + 1, 'orphaned', 'set_aside' from receipts"
        )
        counts = await reconciler(db.receipts).run_once()
        assert (counts.scanned.opened, counts.settled, counts.waiting) == (0, 0, 0)
        [item] = await db.listed("status:open")
        assert (item.kind, item.reason, item.state) == ("orphaned", "set_aside", "completed")
        assert await db.outbox("receipts.reconciliation") == []

"""What a scan finds, and what it costs (protocol R27)."""

from __future__ import annotations

import asyncio

import pytest
from intention_kernel.ports.receipt_ledger import Scanned

from tests.reconciliation.bench import EFFECT_ID, ledger, phases


async def test_a_prepared_receipt_without_its_lease_becomes_uncertain_and_gets_an_item(fresh_database: str) -> None:
    """R27: the lease of its fence is over, so nobody will say what became of the attempt."""
    async with ledger(fresh_database) as db:
        await db.thread()
        receipt = await db.prepared()
        assert await db.receipts.scan(10) == Scanned(uncertain=1, opened=1)
        row, item = await db.receipt(receipt), await db.item()
        assert (row["state"], row["version"], row["cause"]) == ("uncertain", 2, "scan")
        assert (item["phase"], item["settlement"], item["kind"]) == ("open", 1, "effect")


async def test_a_prepared_receipt_under_its_live_lease_is_left_alone(fresh_database: str) -> None:
    """R27: the scan compares with the live lease on the head."""
    async with ledger(fresh_database) as db:
        await db.thread(fence=3, leased=True)
        receipt = await db.prepared(fence=3)
        assert await db.receipts.scan(10) == Scanned(0, 0)
        assert (await db.receipt(receipt))["state"] == "prepared"


async def test_a_prepared_receipt_of_an_older_fence_is_uncertain_although_the_thread_is_leased(
    fresh_database: str,
) -> None:
    """R27: another attempt holds the thread; the one that prepared it is over."""
    async with ledger(fresh_database) as db:
        await db.thread(fence=4, leased=True)
        await db.prepared(fence=3)
        assert await db.receipts.scan(10) == Scanned(1, 1)


async def test_a_second_scan_does_nothing(fresh_database: str) -> None:
    """R27: level-triggered; an uncertain receipt has exactly one open item."""
    async with ledger(fresh_database) as db:
        await db.uncertain()
        assert await db.receipts.scan(10) == Scanned(0, 1)
        assert await db.receipts.scan(10) == Scanned(0, 0)
        assert len(await db.all("reconciliation_items")) == 1


async def test_a_contradicted_receipt_gets_an_item_whatever_its_state(fresh_database: str) -> None:
    """R25, R27: the item has the number of the next settlement."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        for change in ("state = 'completed', value = 'v', settlements = 1", "contradicted = true"):
            await db.connection.execute(f"update receipts set {change}, version = version + 1, cause = 'test'")
        assert await db.receipts.scan(10) == Scanned(0, 1)
        item = await db.item(settlement=2)
        assert (item["reason"], (await db.receipt(receipt))["state"]) == ("contradicted", "completed")


async def test_a_scan_does_at_most_what_it_is_told_and_the_next_one_goes_on(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        for number in range(5):
            await db.uncertain(f"t{number}")
        assert [(await db.receipts.scan(2)).opened for _ in range(4)] == [2, 2, 1, 0]


async def test_scans_side_by_side_open_every_item_once(fresh_database: str) -> None:
    """R9, R27: heads and receipts are locked in order, what is locked elsewhere is skipped."""
    async with ledger(fresh_database) as db, ledger(fresh_database) as other:
        for number in range(30):
            await db.thread(f"t{number}")
            await db.prepared(f"t{number}")
        rounds = [side.receipts.scan(7) for side in (db, other) for _ in range(10)]
        found = await asyncio.gather(*rounds)
        assert sum(each.opened for each in found) == sum(each.uncertain for each in found) == 30


async def test_a_head_that_is_in_use_stalls_no_scan(fresh_database: str) -> None:
    """R9: a row that is locked elsewhere is skipped; the next scan has it."""
    async with ledger(fresh_database) as db:
        await db.uncertain("busy")
        await db.uncertain("free")
        async with db.connection.transaction():
            await db.connection.execute("select from threads where thread_id = 'busy' for update")
            assert (await db.receipts.scan(10)).opened == 1
        assert (await db.receipts.scan(10)).opened == 1


async def test_an_item_that_opens_is_told_outside_once(fresh_database: str) -> None:
    """Interface 2: receipts.reconciliation."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        await db.receipts.scan(10)
        await db.receipts.scan(10)
        [notice] = await db.outbox("receipts.reconciliation")
        assert isinstance(notice, dict)
        assert notice.pop("occurredAt")
        assert notice == {
            "schemaVersion": 1,
            "receiptId": receipt,
            "threadId": "t",
            "turnId": "turn-1",
            "tenantId": "tenant",
            "effect": EFFECT_ID,
            "state": "uncertain",
            "settlement": 1,
            "phase": "open",
            "version": 2,
            "title": "Charge 12 EUR",
        }
        assert phases(await db.outbox("receipts.reconciliation")) == ["open"]


@pytest.mark.parametrize("settled", [20_000])
async def test_settled_receipts_cost_a_scan_nothing(fresh_database: str, settled: int) -> None:
    """R27: only receipts_open_idx is read, however many receipts are settled."""
    async with ledger(fresh_database) as db:
        await db.thread()
        await db.connection.execute("alter table receipts disable trigger user")
        await db.connection.execute(
            "insert into receipts (thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, state, attempt,"
            " attempt_id, fence, fingerprint, payload, host_context, value, title, deduplicates, call_deadline, instance,"
            " boot, cause) select 't', 'k:' || n, md5(n::text), 'e', 'u', 'a', 'completed', 1, gen_random_uuid(), 1, 'f', 'p',"
            " 'h', 'v', 'x', false, now(), 'i', gen_random_uuid(), 'completed' from generate_series(1, $1::integer) as n",
            settled,
        )
        await db.connection.execute("alter table receipts enable trigger user")
        await db.prepared()
        await db.connection.execute("vacuum analyze receipts")
        await db.connection.execute("select pg_stat_force_next_flush()")
        await db.connection.execute("select pg_stat_reset()")
        async with ledger(fresh_database) as scanning:
            assert await scanning.receipts.scan(100) == Scanned(1, 1)
        # The other session's counts are there once it has ended.
        row = await db.connection.fetchrow(
            "select seq_scan, idx_tup_fetch from pg_stat_user_tables where relname = 'receipts'"
        )
        assert row is not None
        assert row["seq_scan"] == 0
        assert 0 < row["idx_tup_fetch"] < 20

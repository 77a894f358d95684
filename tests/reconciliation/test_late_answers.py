"""Attempts of the real boundary beside a reconciler: whoever is first settles, the other agrees or contradicts."""

from __future__ import annotations

from intention_kernel.agent.effect import Absent, Answer, Effect, Found, Lookup, Ports, ReceiptView
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.receipt import Summary
from intention_kernel.durability.operations import AbandonedOperations
from intention_kernel.ports.effect_store import EndAnswer, Prepare
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.reconciliation.reconciler import Reconciler
from intention_kernel.reconciliation.workbench import Workbench
from intention_kernel.testing.boundary_calls import begun, end_of, prepared

from tests.reconciliation.bench import QUICK, Ledger, ledger, phases


def _reconciler(db: Ledger, lookup: Lookup, **more: bool) -> Reconciler:
    declared = Effect("reserve", dict, lambda _: Summary("Reserve"), lookup, **more)  # type: ignore[arg-type]
    bench = Workbench(db.receipts, lambda _, __: declared, {}, QUICK, SystemClock(), AbandonedOperations())
    return Reconciler(bench)


async def _abandoned(db: Ledger, store: PostgresStore) -> Prepare:
    """An attempt under way whose lease has run out."""
    fence = (await begun(store, "t", "turn-1")).fence
    # The payload column holds JSON, which the lookup is shown.
    ask = await prepared(store, "t", "turn-1", fence)
    await db.connection.execute("update threads set lease_until = clock_timestamp() - interval '1 second'")
    return ask


async def test_an_answer_that_comes_during_the_lookup_settles_and_the_lookup_does_not(fresh_database: str) -> None:
    """R23, R24: one settlement, one continuation, whoever was first."""
    async with ledger(fresh_database) as db, PostgresStore.open(fresh_database) as store:
        ask = await _abandoned(db, store)

        async def find(_: ReceiptView, __: Ports) -> Answer:
            late = await store.end(end_of(ask, "completed", b'{"charge":"theirs"}'))
            assert late == EndAnswer("settled", "completed")
            return Found({"charge": "ours"})

        counts = await _reconciler(db, Lookup(find)).run_once()
        assert (counts.scanned.uncertain, counts.settled) == (1, 0)
        [row] = await db.all("receipts")
        assert (row["state"], row["settlements"]) == ("completed", 1)
        assert await db.value(row["receipt_id"]) == {"charge": "theirs"}
        assert len(await db.outbox("turns.requests")) == 1
        assert phases(await db.outbox("receipts.reconciliation")) == ["open", "decided"]


async def test_an_answer_that_contradicts_the_settlement_goes_to_the_top_of_the_queue(fresh_database: str) -> None:
    """R25: stored, no state changed, an item of the next settlement; nobody settles it any more."""
    async with ledger(fresh_database) as db, PostgresStore.open(fresh_database) as store:
        await db.uncertain("an older thread")
        await db.receipts.scan(10)
        ask = await _abandoned(db, store)

        async def find(view: ReceiptView, _: Ports) -> Answer:
            return Absent() if view.thread_id == "t" else Found("not a result")

        works = _reconciler(db, Lookup(find), lookup_closes_key=True)
        assert (await works.run_once()).settled == 1
        late = await store.end(end_of(ask, "completed"))
        assert late == EndAnswer("contradicts", "failed", contradicted=True)
        assert (await works.run_once()).settled == 0
        top, below = (await db.receipts.items(("open",), 10))[:2]
        assert (top.thread_id, top.contradicted, top.settlement, top.state) == ("t", True, 2, "failed")
        assert (below.thread_id, below.contradicted) == ("an older thread", False)

"""Attempts of the real boundary beside a reconciler: whoever is first settles, the other agrees or contradicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from intention_kernel.agent.effect import (
    Absent,
    Answer,
    Call,
    Effect,
    EffectAuthority,
    Found,
    IdempotentRetry,
    Lookup,
    Ports,
    ReceiptView,
)
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState, Summary
from intention_kernel.durability.operations import AbandonedOperations
from intention_kernel.errors import EffectNotAppliedError
from intention_kernel.ports.effect_store import EndAnswer, Prepare
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.reconciliation.reconciler import Reconciler
from intention_kernel.reconciliation.workbench import Workbench
from intention_kernel.testing.boundary_calls import begun, end_of, prepared

from tests.reconciliation.bench import QUICK, Ledger, ledger, phases


def _reconciler(db: Ledger, lookup: Lookup, **more: bool) -> Reconciler:
    return _working(db, Effect("reserve", dict, lambda _: Summary("Reserve"), lookup, **more))  # type: ignore[arg-type]


def _working(db: Ledger, declared: Effect) -> Reconciler:
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
        top, below = (await db.listed("status:open"))[:2]
        assert (top.thread_id, top.contradicted, top.settlement, top.state) == ("t", True, 2, "failed")
        assert (below.thread_id, below.contradicted) == ("an older thread", False)


@pytest.mark.parametrize("detail", ["the turn ended before the provider was called", "no stock"])
@pytest.mark.parametrize(("is_told", "state"), [(True, "completed"), (False, "uncertain")])
async def test_an_attempt_that_did_nothing_says_nothing_of_a_repeat_of_its_call(
    fresh_database: str, is_told: bool, state: ReceiptState, detail: str
) -> None:
    """R22, R25, R26: never called or refused, it neither contradicts the resolver's nor settles it as not applied."""
    async with ledger(fresh_database) as db, PostgresStore.open(fresh_database) as store:
        ask = await _abandoned(db, store)
        await db.connection.execute("update receipts set deduplicates = true, key_window_seconds = 86400")

        async def again(_: JsonValue, __: EffectAuthority, ___: Ports) -> JsonValue:
            if not is_told:
                raise ConnectionError("done, and the reply was lost")
            return {"charge": "ours"}

        assert (await _working(db, _repeated(again)).run_once()).settled == is_told
        late = await store.end(replace(end_of(ask, "failed"), detail=detail, journal=()))
        assert late == EndAnswer("ignored", state)
        [row] = await db.all("receipts")
        assert (row["state"], row["contradicted"]) == (state, False)
        assert row["returned_at"] is not None, "it has ended all the same"


async def test_an_attempt_that_is_refused_while_its_call_is_repeated_settles_nothing(fresh_database: str) -> None:
    """R22, R26: the repeat may be applied while the refusal is on its way back, and its answer is the one that counts."""
    async with ledger(fresh_database) as db, PostgresStore.open(fresh_database) as store:
        ask = await _abandoned(db, store)
        await db.connection.execute("update receipts set deduplicates = true, key_window_seconds = 86400")

        async def again(_: JsonValue, __: EffectAuthority, ___: Ports) -> JsonValue:
            late = await store.end(replace(end_of(ask, "failed"), journal=()))
            assert late == EndAnswer("ignored", "uncertain")
            return {"charge": "ours"}

        assert (await _working(db, _repeated(again)).run_once()).settled == 1
        [row] = await db.all("receipts")
        assert (row["state"], row["contradicted"], row["settlements"]) == ("completed", False, 1)


async def test_an_attempt_that_did_it_all_the_same_contradicts_a_refused_repeat(fresh_database: str) -> None:
    """R25: that something was done is proof, whoever says it."""
    async with ledger(fresh_database) as db, PostgresStore.open(fresh_database) as store:
        ask = await _abandoned(db, store)
        await db.connection.execute(
            "update receipts set deduplicates = true, key_window_seconds = 86400, call_deadline = prepared_at"
        )

        async def again(_: JsonValue, __: EffectAuthority, ___: Ports) -> JsonValue:
            raise EffectNotAppliedError("no stock")

        assert (await _working(db, _repeated(again)).run_once()).settled == 1
        late = await store.end(replace(end_of(ask, "completed"), journal=()))
        assert late == EndAnswer("contradicts", "failed", contradicted=True)


def _repeated(call: Call) -> Effect:
    return Effect(
        "reserve",
        dict,
        lambda _: Summary("Reserve"),
        IdempotentRetry(),
        call=call,
        provider_deduplicates=True,
        key_window_seconds=86400.0,
    )

"""What each resolver makes of an item (design 7, protocol R22-R26)."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from intention_kernel.agent.effect import (
    Absent,
    Answer,
    EffectAuthority,
    Found,
    IdempotentRetry,
    Inconclusive,
    Lookup,
    Manual,
    Ports,
    ReceiptView,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import EffectNotAppliedError
from intention_kernel.reconciliation.pace import PERSON_AFTER_LOOKS, Pace

from tests.reconciliation.bench import EFFECT_ID, QUICK, Ledger, effect, ledger, phases, reconciler, until

FOUND = Found({"charge": "ch-1"}, "ref-1")


def says(answer: Answer | Exception) -> Lookup:
    """A lookup that always says this."""

    async def find(_: ReceiptView, __: Ports) -> Answer:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Lookup(find)


async def test_a_found_effect_settles_as_applied_with_everything_that_belongs_to_it(fresh_database: str) -> None:
    """R23, R29: receipt, item, decision, audit line, continuation and notice are one transaction."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        counts = await reconciler(db.receipts, effect(says(FOUND))).run_once()
        assert (counts.scanned.opened, counts.settled) == (1, 1)
        row, item = await db.receipt(receipt), await db.item()
        assert (row["state"], row["settlements"], row["reference"]) == ("completed", 1, "ref-1")
        assert await db.value(receipt) == {"charge": "ch-1"}
        assert (item["phase"], item["issue"]) == ("decided", 1)
        [decision] = await db.all("decisions")
        assert (decision["resolution"], decision["actor"]) == ("applied", "resolver:lookup")
        assert [line["action"] for line in await db.all("audit_log")] == ["settle"]
        [request] = await db.outbox("turns.requests")
        assert isinstance(request, dict)
        assert request["turnId"] == f"reconciliation:{receipt}:1:1"
        assert phases(await db.outbox("receipts.reconciliation")) == ["open", "decided"]
        assert [seen["finding"] for seen in await db.all("observations")] == ["found"]
        assert await db.writers(receipt) == 1


@pytest.mark.parametrize(
    "answer",
    [Found({"charge": "ch-1"}, cast("str", 123)), Found({"charge": cast("str", {1})}), Inconclusive(cast("str", None))],
    ids=["a reference of another type", "a value that is no JSON", "no reason"],
)
async def test_an_answer_of_the_wrong_types_is_told_and_asks_a_person_in_the_end(
    fresh_database: str, answer: Answer
) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        working = reconciler(db.receipts, effect(says(answer)))
        await working.run_once()
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert (await db.item())["reason"]

        async def asked() -> bool:
            await working.run_once()
            return str((await db.item())["reason"]).startswith("needs a person")

        await until(asked)


async def test_a_lookup_that_asks_to_exit_ends_nothing(fresh_database: str) -> None:
    async def find(_: ReceiptView, __: Ports) -> Answer:
        raise SystemExit(0)

    async with ledger(fresh_database) as db:
        await db.uncertain()
        await reconciler(db.receipts, effect(Lookup(find))).run_once()
        assert "SystemExit" in (await db.item())["reason"]


async def test_a_lookup_is_shown_the_receipt_with_its_key_and_payload(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        shown: list[ReceiptView] = []

        async def find(view: ReceiptView, ports: Ports) -> Answer:
            shown.append(view)
            return Found({"charge": str(ports["shop"])})

        await reconciler(db.receipts, effect(Lookup(find)), ports={"shop": "open"}).run_once()
        [view] = shown
        assert (view.receipt_id, view.key, view.payload) == (receipt, f"{EFFECT_ID}:1", {"amount": 12})
        assert (view.state, view.version, view.attempt) == ("uncertain", 2, 1)
        assert await db.value(receipt) == {"charge": "open"}


@pytest.mark.parametrize(
    ("answer", "finding", "reason"),
    [
        (Found({"wrong": 1}), "inconclusive", "the provider has it, but the value is not a result of shop.charge"),
        (Inconclusive("two charges"), "inconclusive", "the lookup proves nothing: two charges"),
        (RuntimeError("503\0"), "error", "the lookup failed: RuntimeError: 503"),
        (Absent(), "absent", "the provider does not have it yet"),
    ],
)
async def test_what_proves_nothing_is_kept_and_the_item_says_why(
    fresh_database: str, answer: Answer | Exception, finding: str, reason: str
) -> None:
    """R22: everything that does not settle backs off, with the reason in sight."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        counts = await reconciler(db.receipts, effect(says(answer)), pace=Pace()).run_once()
        assert (counts.settled, counts.waiting) == (0, 1)
        item = await db.item()
        assert item["reason"].startswith(reason)
        assert (item["phase"], item["looks"]) == ("open", 1)
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert [seen["finding"] for seen in await db.all("observations")] == [finding]
        assert (await reconciler(db.receipts, effect(says(answer)), pace=Pace()).run_once()).waiting == 0


async def test_a_lookup_that_does_not_end_is_cut_off(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        await db.uncertain()

        async def find(_: ReceiptView, __: Ports) -> Answer:
            await asyncio.Event().wait()
            raise AssertionError

        pace = Pace(lookup_seconds=0.05)
        await reconciler(db.receipts, effect(Lookup(find)), pace=pace).run_once()
        assert (await db.item())["reason"] == "the lookup failed: no answer within 0.05 s"


async def test_absence_settles_once_the_attempt_is_over_and_the_quiet_period_has_passed(fresh_database: str) -> None:
    """R22 c: ended, and the lookup began later than the deadline and the quiet period."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(returned=True)
        await db.connection.execute("update receipts set returned_at = call_deadline")
        works = reconciler(db.receipts, effect(says(Absent()), quiet_period_seconds=5))
        assert (await works.run_once()).settled == 1
        row = await db.receipt(receipt)
        assert (row["state"], row["value"], row["settlements"]) == ("failed", None, 1)
        assert [line["resolution"] for line in await db.all("decisions")] == ["not_applied"]


async def test_absence_does_not_settle_while_the_attempt_may_still_run(fresh_database: str) -> None:
    """R22 c: an attempt that was never seen to end may send at any time, whatever the lookup says."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        works = reconciler(db.receipts, effect(says(Absent()), quiet_period_seconds=5))
        assert (await works.run_once()).settled == 0
        assert "was never seen to end" in (await db.item())["reason"]
        # A newer boot of the same instance is the proof.
        await db.connection.execute(
            "insert into processes (instance, boot, started_at)"
            " values ('runner-1', gen_random_uuid(), clock_timestamp() - interval '20 seconds')"
        )
        await db.due_now()
        assert (await works.run_once()).settled == 1
        assert (await db.receipt(receipt))["state"] == "failed"


async def test_a_lookup_settles_nothing_that_moved_while_it_looked(fresh_database: str) -> None:
    """R23: the version is the one seen before the lookup began; attempt 1's absence never settles attempt 2."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()

        async def find(_: ReceiptView, __: Ports) -> Answer:
            for state in ("failed", "prepared", "uncertain"):
                await db.connection.execute(
                    "update receipts set state = $1, version = version + 1, cause = 'test'", state
                )
            return Absent()

        works = reconciler(db.receipts, effect(Lookup(find), lookup_closes_key=True))
        assert (await works.run_once()).settled == 0
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert await db.all("decisions") == []


async def test_two_reconcilers_side_by_side_settle_each_receipt_once(fresh_database: str) -> None:
    async with ledger(fresh_database) as db, ledger(fresh_database) as other:
        for number in range(20):
            await db.uncertain(f"t{number}")
        sides = [reconciler(side.receipts, effect(says(FOUND))) for side in (db, other)]

        async def open_items() -> bool:
            rounds = await asyncio.gather(*(side.run_once() for side in sides))
            return all(counts.settled == 0 and counts.scanned.opened == 0 for counts in rounds)

        await until(open_items)
        decided = await db.all("decisions")
        assert len(decided) == len({(line["thread_id"], line["settlement"]) for line in decided}) == 20
        assert {row["settlements"] for row in await db.all("receipts")} == {1}
        assert len(await db.outbox("turns.requests")) == 20


async def test_an_item_is_with_one_reconciler_at_a_time(fresh_database: str) -> None:
    async with ledger(fresh_database) as db, ledger(fresh_database) as other:
        for number in range(10):
            await db.uncertain(f"t{number}")
        await db.receipts.scan(100)
        claimed = await asyncio.gather(*(side.receipts.claim(6, 60) for side in (db, other)))
        taken = [due.receipt.thread_id for each in claimed for due in each]
        assert len(taken) == len(set(taken)) == 10
        assert await db.receipts.claim(6, 60) == ()


async def test_a_receipt_that_cannot_be_read_stops_no_other(fresh_database: str) -> None:
    """R13: an error of one row never stops the process."""
    async with ledger(fresh_database) as db:
        broken, whole = await db.uncertain("broken"), await db.uncertain("whole")
        await db.connection.execute("update receipts set payload = '\\x00ff' where receipt_id = $1", broken)
        counts = await reconciler(db.receipts, effect(says(FOUND))).run_once()
        assert (counts.settled, (await db.receipt(whole))["state"]) == (1, "completed")
        [item] = [line for line in await db.all("reconciliation_items") if line["thread_id"] == "broken"]
        assert "cannot be read" in item["reason"]


async def test_after_many_looks_in_vain_the_item_asks_for_a_person_and_is_looked_at_all_the_same(
    fresh_database: str,
) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        vain = reconciler(db.receipts, effect(says(Inconclusive("busy"))))
        for look in range(PERSON_AFTER_LOOKS):
            reason = (await db.item())["reason"] if look else ""
            assert not reason.startswith("needs a person")
            await vain.run_once()
            await db.due_now()
        assert (await db.item())["reason"] == "needs a person: the lookup proves nothing: busy"
        await reconciler(db.receipts, effect(says(FOUND))).run_once()
        assert (await db.receipt(receipt))["state"] == "completed"


@pytest.mark.parametrize(
    ("resolver", "effect_id", "reason"),
    [
        (Manual(), EFFECT_ID, "needs a person: the effect has no way to ask its provider"),
        (Manual(), "shop.other", "needs a person: the application declares no effect 'shop.other' of agent 'shop'"),
    ],
)
async def test_what_no_resolver_can_find_out_asks_for_a_person(
    fresh_database: str, resolver: Manual, effect_id: str, reason: str
) -> None:
    async with ledger(fresh_database) as db:
        await db.uncertain(effect_id=effect_id)
        await reconciler(db.receipts, effect(resolver), pace=Pace()).run_once()
        assert (await db.item())["reason"] == reason
        assert await db.receipts.claim(1, 1) == ()


async def test_a_contradicted_receipt_is_never_settled_by_a_resolver(fresh_database: str) -> None:
    """R25: the only exit is a contest."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        await db.connection.execute("update receipts set contradicted = true, version = version + 1, cause = 'test'")
        assert (await reconciler(db.receipts, effect(says(FOUND))).run_once()).settled == 0
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert "contradicts" in (await db.item())["reason"]


class Provider:
    """What the effect's own call is given to talk to; `said` are its answers in order, the last one for ever."""

    def __init__(self, *said: JsonValue | Exception) -> None:
        self.calls: list[tuple[JsonValue, EffectAuthority]] = []
        self._said = list(said)

    async def call(self, payload: JsonValue, authority: EffectAuthority, _: Ports) -> JsonValue:
        self.calls.append((payload, authority))
        answer = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def retried(self, db: Ledger, timeout: float = 5.0):  # type: ignore[no-untyped-def]
        """A reconciler whose effect repeats its call here."""
        declared = effect(
            IdempotentRetry(),
            call=self.call,
            provider_deduplicates=True,
            key_window_seconds=3600,
            call_timeout_seconds=timeout,
        )
        return reconciler(db.receipts, declared)


async def test_the_identical_call_is_repeated_inside_the_providers_window(fresh_database: str) -> None:
    """R26: same key, same payload; its answer is an answer of the attempt."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600)
        provider = Provider({"charge": "ch-1"})
        assert (await provider.retried(db).run_once()).settled == 1
        [(payload, authority)] = provider.calls
        assert payload == {"amount": 12}
        assert (authority.idempotency_key, authority.receipt_id, authority.attempt) == (f"{EFFECT_ID}:1", receipt, 1)
        row = await db.receipt(receipt)
        assert (row["state"], row["settlements"], row["retry_until"].year) == ("completed", 1, 1)
        assert await db.value(receipt) == {"charge": "ch-1"}


async def test_a_repeated_call_that_proves_no_write_settles_as_not_applied(fresh_database: str) -> None:
    """R24: a late EffectNotAppliedError is a settlement too."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600)
        assert (await Provider(EffectNotAppliedError("no stock")).retried(db).run_once()).settled == 1
        assert (await db.receipt(receipt))["state"] == "failed"


async def test_a_refused_repeat_settles_nothing_while_the_attempt_may_still_answer(fresh_database: str) -> None:
    """R22: the attempt's own call may be under way, and would be applied after the conversation was told that nothing was."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600, deadline_in_seconds=30.0)
        working = Provider(EffectNotAppliedError("no stock")).retried(db)
        assert (await working.run_once()).settled == 0
        row = await db.receipt(receipt)
        assert (row["state"], row["retry_until"].year) == ("uncertain", 1)
        assert "may still answer" in (await db.item())["reason"]
        assert [seen["finding"] for seen in await db.all("observations")] == ["absent"]
        await db.connection.execute("update receipts set returned_at = clock_timestamp()")
        await db.due_now()
        assert (await working.run_once()).settled == 1
        assert (await db.receipt(receipt))["state"] == "failed"


async def test_a_repeated_call_that_fails_leaves_the_receipt_uncertain_and_is_repeated_again(
    fresh_database: str,
) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600)
        works = Provider(TimeoutError("gone"), {"charge": "ch-2"}).retried(db)
        assert (await works.run_once()).settled == 0
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert (await db.item())["reason"] == "the repeated call failed: TimeoutError: gone"
        await db.due_now()
        assert (await works.run_once()).settled == 1
        assert await db.value(receipt) == {"charge": "ch-2"}


@pytest.mark.parametrize("window_seconds", [None, 62.0])
async def test_outside_the_pinned_window_nothing_is_repeated(fresh_database: str, window_seconds: float | None) -> None:
    """R26: class and window are those of the first prepare, minus margin and call timeout; what is declared now is not asked."""
    async with ledger(fresh_database) as db:
        await db.uncertain(window_seconds=window_seconds)
        provider = Provider({"charge": "ch-1"})
        assert (await provider.retried(db).run_once()).settled == 0
        assert provider.calls == []
        assert (await db.item())["reason"].startswith("needs a person: the provider does not promise")


async def test_nobody_settles_a_receipt_while_its_call_is_being_repeated(fresh_database: str) -> None:
    """R26: the retry is recorded before it is sent; while it runs the item is locked."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600)
        await db.receipts.scan(10)
        [before] = await db.receipts.claim(1, 0.001)
        may_answer, called = asyncio.Event(), asyncio.Event()

        async def call(_: JsonValue, __: EffectAuthority, ___: Ports) -> JsonValue:
            called.set()
            await may_answer.wait()
            return {"charge": "ch-1"}

        declared = effect(IdempotentRetry(), call=call, provider_deduplicates=True, key_window_seconds=3600)
        running = asyncio.create_task(reconciler(db.receipts, declared).work(before))
        await called.wait()
        row = await db.receipt(receipt)
        assert (row["cause"], row["version"]) == ("retry", 3)
        assert await db.receipts.claim(1, 60) == ()
        # Whether it knows of the retry or not, a lookup's conclusion is refused.
        for version in (2, 3):
            answer = await db.connection.fetchrow(
                "select outcome from settle_receipt_v1('t', $1, $2, 'not_applied', null, null, 'd', null, 'r', null, 'me', null)",
                f"{EFFECT_ID}:1",
                version,
            )
            assert answer is not None
            assert answer["outcome"] == "retrying"
        may_answer.set()
        assert await running == "settled"


async def test_a_repeated_calls_answer_that_disagrees_with_a_settlement_contradicts_it(fresh_database: str) -> None:
    """R25: the attempt's own late answer came first and said otherwise; no state is changed."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600)

        async def call(_: JsonValue, __: EffectAuthority, ___: Ports) -> JsonValue:
            await db.connection.execute(
                "update receipts set state = 'failed', settlements = 1, version = version + 1, cause = 'late_answer'"
            )
            return {"charge": "ch-1"}

        declared = effect(IdempotentRetry(), call=call, provider_deduplicates=True, key_window_seconds=3600)
        assert (await reconciler(db.receipts, declared).run_once()).settled == 0
        row = await db.receipt(receipt)
        assert (row["state"], row["contradicted"], row["settlements"]) == ("failed", True, 1)
        assert (await db.item(settlement=2))["reason"] == "contradicted"


async def test_a_repeated_call_that_ignores_its_deadline_still_settles_when_it_answers(fresh_database: str) -> None:
    """R22, R24: abandoned is not ended; what it says later is taken."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(window_seconds=3600)
        may_answer = asyncio.Event()

        async def call(_: JsonValue, __: EffectAuthority, ___: Ports) -> JsonValue:
            while not may_answer.is_set():
                try:
                    await may_answer.wait()
                except asyncio.CancelledError:
                    continue
            return {"charge": "late"}

        declared = effect(
            IdempotentRetry(), call=call, provider_deduplicates=True, key_window_seconds=3600, call_timeout_seconds=0.05
        )
        assert (await reconciler(db.receipts, declared, pace=QUICK).run_once()).settled == 0
        assert (await db.receipt(receipt))["retry_until"].year > 1
        may_answer.set()

        async def completed() -> bool:
            return bool((await db.receipt(receipt))["state"] == "completed")

        await until(completed)
        assert await db.value(receipt) == {"charge": "late"}

"""Claims, snoozes, notes and probes: each with its audit line in its own transaction, once an id (design 7)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from intention_kernel.agent.effect import Absent, Answer, Found, Inconclusive, Lookup, Manual, Ports, ReceiptView
from intention_kernel.errors import IntentionKernelError
from intention_kernel.ports.queue_work import MOST_NOTES, AuditQuery, Held, NoteKind
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.contest import ContestOpened, Doubt, contest
from intention_kernel.reconciliation.queue import (
    Decision,
    Invalid,
    NotFound,
    Resolved,
    VersionChanged,
    WouldResolve,
    resolve,
)
from intention_kernel.reconciliation.showing import show
from intention_kernel.reconciliation.work import Done, Kept, NotPossible, Task, WorkResult

from tests.reconciliation.bench import Ledger, effect, ledger, reconciler

VALUE: dict[str, Any] = {"charge": "ch-9"}


async def opened(db: Ledger, **more: Any) -> str:
    """A receipt with its open item."""
    receipt = await db.uncertain(**more)
    await db.receipts.scan(10)
    return receipt


def applied(receipt: str, actor: str = "ana", **more: Any) -> Decision:
    return Decision(receipt, "applied", "seen at the provider", actor, value=VALUE, **more)


async def lines(db: Ledger) -> list[tuple[str, str]]:
    return [(line["actor"], line["action"]) for line in await db.all("audit_log")]


async def test_a_claim_is_one_persons_until_it_ends(fresh_database: str) -> None:
    """Others are told who has it and until when; the same person makes it longer; when it is over it is anybody's."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        first = await work.claim(db.receipts, Task(receipt, "ana"), 60)
        assert isinstance(first, Done)
        held = await work.claim(db.receipts, Task(receipt, "ben"), 60)
        assert held == Held("ana", first.until)  # type: ignore[arg-type]  # it has an end
        longer = await work.claim(db.receipts, Task(receipt, "ana"), 3600)
        assert isinstance(longer, Done)
        assert longer.until is not None
        assert first.until is not None
        assert longer.until - first.until > timedelta(minutes=50)
        assert [item.claimed_by for item in await db.listed("owner:me")] == ["ana"]
        assert await db.listed("owner:me", reader="ben") == ()
        await db.connection.execute("update receipt_work set claimed_until = clock_timestamp()")
        assert [item.receipt_id for item in await db.listed("owner:none")] == [receipt]
        assert isinstance(await work.claim(db.receipts, Task(receipt, "ben"), 60), Done)
        assert await lines(db) == [("ana", "claim"), ("ana", "claim"), ("ben", "claim")]


async def test_a_claim_is_taken_over_with_a_reason_that_is_on_record(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await work.claim(db.receipts, Task(receipt, "ana"))
        assert isinstance(await work.takeover(db.receipts, Task(receipt, "ben"), " "), Invalid)
        assert isinstance(await work.takeover(db.receipts, Task(receipt, "ben"), "ana is away"), Done)
        [*_, line] = await db.receipts.audit(AuditQuery(receipt, limit=1))
        assert isinstance(line.detail, dict)
        assert (line.action, line.detail["reason"], line.detail["from"]) == ("takeover", "ana is away", "ana")
        assert isinstance(await work.release(db.receipts, Task(receipt, "ana")), Held)
        assert isinstance(await work.release(db.receipts, Task(receipt, "ben")), Done)
        assert isinstance(await work.release(db.receipts, Task(receipt, "ben")), NotPossible)


async def test_of_two_who_claim_at_once_one_has_it(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        people = [f"person-{number}" for number in range(6)]
        answers = await asyncio.gather(*(work.claim(db.receipts, Task(receipt, one)) for one in people))
        assert sorted(type(answer).__name__ for answer in answers) == ["Done"] + ["Held"] * 5
        [winner] = [one for one, answer in zip(people, answers, strict=True) if isinstance(answer, Done)]
        assert {answer.owner for answer in answers if isinstance(answer, Held)} == {winner}
        assert await lines(db) == [(winner, "claim")]


async def test_work_compares_with_its_own_version_and_not_with_the_receipts(fresh_database: str) -> None:
    """What a resolver does meanwhile takes nothing from a person; what another person did, does."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        shown = await show(db.receipts, receipt)
        assert shown is not None
        seen = shown.case.work.version
        await db.connection.execute("update receipts set version = version + 1, cause = 'retry'")
        await work.snooze(db.receipts, Task(receipt, "ben"), 60)
        stale = await work.claim(db.receipts, Task(receipt, "ana", expected_version=seen))
        assert isinstance(stale, VersionChanged)
        fresh = await work.claim(db.receipts, Task(receipt, "ana", expected_version=seen + 1))
        assert isinstance(fresh, Done)
        assert fresh.version == seen + 2


Act = Callable[[Ledger, Task], Awaitable[WorkResult]]
ACTS: dict[str, Act] = {
    "claim": lambda db, task: work.claim(db.receipts, task),
    "takeover": lambda db, task: work.takeover(db.receipts, task, "r"),
    "release": lambda db, task: work.release(db.receipts, task),
    "snooze": lambda db, task: work.snooze(db.receipts, task, 60),
    "wake": lambda db, task: work.wake(db.receipts, task),
    "probe": lambda db, task: work.probe(db.receipts, task),
}


@pytest.mark.parametrize("act", ACTS)
async def test_an_operation_is_done_once_an_id_with_its_audit_line(fresh_database: str, act: str) -> None:
    """A repeat is answered as the first call was, whatever happened since; the id is nobody else's."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        if act == "release":
            await work.claim(db.receipts, Task(receipt, "ana"))
        task = Task(receipt, "ana", operation_id="op-1")
        first = await ACTS[act](db, task)
        assert isinstance(first, Done)
        before = await db.all("receipt_work")
        await work.takeover(db.receipts, Task(receipt, "ben"), "r")
        assert await ACTS[act](db, task) == first
        assert [line for line in await lines(db) if line == ("ana", act)] == [("ana", act)]
        assert [row["version"] for row in await db.all("receipt_work")] == [before[0]["version"] + 1]
        assert isinstance(await ACTS[act](db, Task(receipt, "ben", operation_id="op-1")), Invalid)
        other = await db.uncertain("t-2")
        await db.receipts.scan(10)
        assert isinstance(await ACTS[act](db, Task(other, "ana", operation_id="op-1")), Invalid)


async def _comment(db: Ledger, task: Task) -> object:
    return await work.comment(db.receipts, task, "words")


@pytest.mark.parametrize("act", [*ACTS, "comment"])
async def test_without_its_audit_line_nothing_is_done(fresh_database: str, act: str) -> None:
    """One transaction: where the line cannot be written, neither is the work."""
    acts: dict[str, Callable[[Ledger, Task], Awaitable[object]]] = {**ACTS, "comment": _comment}
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        if act == "release":
            await work.claim(db.receipts, Task(receipt, "ana"))
        await db.connection.execute("update reconciliation_items set next_look_at = 'infinity'")
        before = [await db.all(table) for table in ("receipt_work", "receipt_notes", "reconciliation_items")]
        await db.connection.execute("alter table audit_log add constraint no_more check (false) not valid")
        with pytest.raises(IntentionKernelError, match="no_more"):
            await acts[act](db, Task(receipt, "ana"))
        assert before == [await db.all(table) for table in ("receipt_work", "receipt_notes", "reconciliation_items")]


@pytest.mark.parametrize("act", ACTS)
async def test_nobody_works_on_what_is_not_there(fresh_database: str, act: str) -> None:
    async with ledger(fresh_database) as db:
        assert isinstance(await ACTS[act](db, Task("0" * 32, "ana")), NotFound)
        receipt = await opened(db)
        assert isinstance(await ACTS[act](db, Task(receipt, " ")), Invalid)
        await resolve(db.receipts, applied(receipt))
        await db.connection.execute("update reconciliation_items set phase = 'done'")
        assert isinstance(await ACTS[act](db, Task(receipt, "ana")), NotPossible)


async def test_what_is_snoozed_is_out_of_sight_for_a_while(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        assert isinstance(await work.snooze(db.receipts, Task(receipt, "ana"), 3600), Done)
        assert await db.listed() == ()
        assert [item.receipt_id for item in await db.listed("snoozed:yes")] == [receipt]
        assert isinstance(await work.wake(db.receipts, Task(receipt, "ben")), Done)
        assert [item.receipt_id for item in await db.listed()] == [receipt]
        await work.snooze(db.receipts, Task(receipt, "ana"), 3600)
        await db.connection.execute("update receipt_work set snoozed_until = clock_timestamp()")
        assert [item.receipt_id for item in await db.listed()] == [receipt]
        await work.claim(db.receipts, Task(receipt, "ana"))
        assert isinstance(await work.snooze(db.receipts, Task(receipt, "ben"), 60), Held)
        assert isinstance(await work.snooze(db.receipts, Task(receipt, "ana"), 0.5), Invalid)


async def test_a_snooze_until_a_change_ends_when_the_resolver_says_something_else(fresh_database: str) -> None:
    """The same answer again does not wake it, however its words differ."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        answers: list[Answer] = [Inconclusive("two charges"), Inconclusive("three charges"), Absent()]

        async def find(_: ReceiptView, __: Ports) -> Answer:
            return answers.pop(0)

        looking = reconciler(db.receipts, effect(Lookup(find)))

        async def look() -> None:
            await db.due_now()
            await looking.run_once()

        await look()
        done = await work.snooze(db.receipts, Task(receipt, "ana"), None)
        assert isinstance(done, Done)
        assert done.until is None
        assert [item.snoozed_until_change for item in await db.listed("snoozed:yes")] == [True]
        await look()
        assert await db.listed() == ()
        await look()
        assert [item.receipt_id for item in await db.listed()] == [receipt]


async def test_what_contradicts_the_record_ends_every_snooze(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await resolve(db.receipts, applied(receipt))
        await work.snooze(db.receipts, Task(receipt, "ana"), 3600)
        assert await db.listed() == ()
        assert isinstance(await contest(db.receipts, Doubt(receipt, "no such charge", "ben")), ContestOpened)
        assert {item.receipt_id for item in await db.listed()} == {receipt}


async def test_a_probe_has_the_reconciler_look_at_its_next_round(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await db.connection.execute("update reconciliation_items set next_look_at = 'infinity'")

        async def find(_: ReceiptView, __: Ports) -> Answer:
            return Found(VALUE)

        asks = effect(Lookup(find))
        looking = reconciler(db.receipts, asks)
        assert (await looking.run_once()).settled == 0
        manual = await work.probe(db.receipts, Task(receipt, "ana"), lambda _, __: effect(Manual()))
        assert isinstance(manual, NotPossible)
        assert isinstance(await work.probe(db.receipts, Task(receipt, "ana"), lambda _, __: asks), Done)
        assert (await looking.run_once()).settled == 1
        assert isinstance(await work.probe(db.receipts, Task(receipt, "ana")), NotPossible)


async def test_a_running_retry_is_not_disturbed_by_a_probe(fresh_database: str) -> None:
    """R26: while it runs the item is locked."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await db.connection.execute("update receipts set retry_until = clock_timestamp() + interval '1 hour'")
        await db.connection.execute("update reconciliation_items set next_look_at = 'infinity'")
        assert isinstance(await work.probe(db.receipts, Task(receipt, "ana")), NotPossible)
        assert (await db.connection.fetchval("select isfinite(next_look_at) from reconciliation_items")) is False


async def test_nobody_decides_or_contests_what_another_person_has(fresh_database: str) -> None:
    """Refused with who has it and until when, until it is taken over; resolvers go on."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await work.claim(db.receipts, Task(receipt, "ana"))
        held = await resolve(db.receipts, applied(receipt, "ben"))
        assert isinstance(held, Held)
        assert held.owner == "ana"
        assert isinstance(await resolve(db.receipts, applied(receipt, "ben"), dry_run=True), Held)
        assert (await db.receipt(receipt))["state"] == "uncertain"
        await work.takeover(db.receipts, Task(receipt, "ben"), "ana is away")
        assert isinstance(await resolve(db.receipts, applied(receipt, "ana")), Held)
        settled = await resolve(db.receipts, applied(receipt, "ben"))
        assert isinstance(settled, Resolved)
        await work.takeover(db.receipts, Task(receipt, "ana"), "back")
        assert await resolve(db.receipts, applied(receipt, "ben")) == settled, "a repeat is answered"
        assert isinstance(await contest(db.receipts, Doubt(receipt, "no such charge", "ben")), Held)
        assert not (await db.receipt(receipt))["contradicted"]


async def test_of_two_who_decide_at_once_one_does(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        people = [f"person-{number}" for number in range(6)]
        answers = await asyncio.gather(*(resolve(db.receipts, applied(receipt, one)) for one in people))
        assert sorted(type(answer).__name__ for answer in answers) == ["Resolved"] + ["VersionChanged"] * 5
        assert len(await db.all("decisions")) == 1
        assert [action for _, action in await lines(db)] == ["settle"]


@pytest.mark.parametrize("first", ["resolver", "person"])
async def test_a_resolver_and_a_person_who_settle_at_once_settle_once(fresh_database: str, first: str) -> None:
    """R23: a claim keeps no resolver away; who comes second is told that the receipt has changed."""
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await work.claim(db.receipts, Task(receipt, "ana"))
        looked, decided = asyncio.Event(), asyncio.Event()

        async def find(_: ReceiptView, __: Ports) -> Answer:
            looked.set()
            if first == "person":
                await decided.wait()
            return Found({"charge": "of the resolver"})

        shown = await show(db.receipts, receipt)
        assert shown is not None
        looking = asyncio.create_task(reconciler(db.receipts, effect(Lookup(find))).run_once())
        await looked.wait()
        if first == "resolver":
            await looking
        answer = await resolve(db.receipts, applied(receipt, expected_version=shown.case.open.receipt.version))
        decided.set()
        await looking
        assert isinstance(answer, Resolved if first == "person" else VersionChanged)
        assert len(await db.all("decisions")) == 1
        assert await db.value(receipt) == (VALUE if first == "person" else {"charge": "of the resolver"})


@pytest.mark.parametrize("resolution", ["applied", "not_applied"])
async def test_a_dry_run_says_what_the_decision_then_does_and_writes_nothing(
    fresh_database: str, resolution: str
) -> None:
    """The same path, taken back; and `show` says the same before."""
    tables = ("receipts", "receipt_transitions", "reconciliation_items", "decisions", "audit_log", "outbox")
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await db.connection.execute(
            "insert into blocked_steps select thread_id, effect_key, 'turn-' || n, n from receipts, generate_series(1, 2) as n"
        )
        decision = Decision(receipt, "applied", "r", "ana", value=VALUE)
        if resolution == "not_applied":
            decision = Decision(receipt, "not_applied", "r", "ana", workers_stopped=True)
        before = [await db.all(table) for table in tables]
        dry = await resolve(db.receipts, decision, dry_run=True)
        assert [await db.all(table) for table in tables] == before
        shown = await show(db.receipts, receipt)
        assert shown is not None
        assert isinstance(dry, WouldResolve)
        assert dry.consequences == (shown.if_applied if resolution == "applied" else shown.if_not_applied)
        real = await resolve(db.receipts, decision)
        assert isinstance(real, Resolved)
        after = await db.receipt(receipt)
        follows = dry.consequences
        assert (follows.settlement, follows.version) == (real.settlement, real.version)
        assert (follows.state, follows.turns) == (after["state"], ("turn-1", "turn-2"))
        assert [
            json.loads(row["value"])["turnId"] for row in await db.all("outbox") if row["topic"] == "turns.requests"
        ] == [follows.continuation]
        assert follows.may_try_again == (resolution == "not_applied")


async def test_a_dry_run_is_refused_where_the_decision_would_be(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        refused = Decision(receipt, "not_applied", "r", "ana")
        assert await resolve(db.receipts, refused, dry_run=True) == await resolve(db.receipts, refused)
        stale = applied(receipt, expected_version=1)
        assert await resolve(db.receipts, stale, dry_run=True) == await resolve(db.receipts, stale)
        quiet = effect(Manual(), quiet_period_seconds=60)
        stopped = Decision(receipt, "not_applied", "r", "ana", workers_stopped=True)
        dry = await resolve(db.receipts, stopped, lambda _, __: quiet, dry_run=True)
        assert await db.all("audit_log") == []
        assert type(dry) is type(await resolve(db.receipts, stopped, lambda _, __: quiet))


async def test_a_receipt_takes_a_bounded_number_of_notes(fresh_database: str) -> None:
    """They are read together; what was kept is known all the same."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        kept = Task(receipt, "ana", operation_id="kept")
        assert isinstance(await work.comment(db.receipts, kept, "first"), Kept)
        await db.connection.execute(
            "insert into receipt_notes (thread_id, effect_key, note_id, kind, actor, body)"
            " select thread_id, effect_key, n::text, 'comment', 'ben', 'x' from receipts, generate_series(2, $1::int) as n",
            MOST_NOTES,
        )
        assert isinstance(await work.comment(db.receipts, Task(receipt, "ana"), "more"), NotPossible)
        assert isinstance(await work.comment(db.receipts, kept, "first"), Kept)
        assert len(await db.all("receipt_notes")) == MOST_NOTES


async def test_notes_are_kept_once_an_id_and_never_changed(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await opened(db)
        await work.claim(db.receipts, Task(receipt, "ben"))
        task = Task(receipt, "ana", operation_id="note-1")
        assert await work.comment(db.receipts, task, "called the bank\ud800\x00") == Kept("note-1")
        assert await work.comment(db.receipts, task, "called the bank\ud800\x00") == Kept("note-1")
        assert isinstance(await work.comment(db.receipts, task, "other words"), Invalid)
        assert isinstance(await work.comment(db.receipts, Task("0" * 32, "ana"), "words"), NotFound)
        await work.evidence(db.receipts, Task(receipt, "ana"), "digest", work.digest_of(b"%PDF", "statement.pdf"))
        shown = await show(db.receipts, receipt)
        assert shown is not None
        assert [(note.kind, note.actor) for note in shown.case.notes] == [("comment", "ana"), ("digest", "ana")]
        assert shown.case.notes[1].text.endswith(" statement.pdf")
        assert [line.action for line in shown.case.audit] == ["evidence", "comment", "claim"]
        for table in ("receipt_notes", "audit_log"):
            with pytest.raises(asyncpg.PostgresError, match="only appended to"):
                await db.connection.execute(f"delete from {table}")


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("comment", " ", "nothing in it"),
        ("comment", "ü" * 5_001, "at most 10000 bytes"),
        ("link", "javascript:alert(1)", "begins with http"),
        ("link", "https://bank.example/a b", "no spaces"),
        ("link", "https://bank.example/" + "x" * 2_000, "at most 2000 bytes"),
        ("ticket", "x" * 2_001, "at most 2000 bytes"),
        ("digest", "sha256:12", "64 hexadecimal"),
    ],
)
async def test_evidence_is_what_its_kind_says(fresh_database: str, kind: NoteKind, text: str, problem: str) -> None:
    async with ledger(fresh_database) as db:
        answer = await work.evidence(db.receipts, Task(await opened(db), "ana"), kind, text)
        assert isinstance(answer, Invalid)
        assert problem in answer.problem
        assert await db.all("receipt_notes") == []

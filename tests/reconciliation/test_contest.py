"""A settlement that turned out wrong: contested by one person, decided by another on evidence (protocol R25, R27)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from intention_kernel.agent.effect import Manual
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ids import random_id
from intention_kernel.reconciliation.contest import ContestOpened, Doubt, contest
from intention_kernel.reconciliation.queue import (
    Decision,
    Invalid,
    NotFound,
    Refused,
    Resolved,
    VersionChanged,
    resolve,
)
from intention_kernel.reconciliation.showing import show

from tests.cli.invoking import Said, environment, intention_beside
from tests.reconciliation.bench import Ledger, effect, ledger, phases, reconciler

VALUE: dict[str, JsonValue] = {"charge": "ch-9"}


async def settled(db: Ledger) -> str:
    """A receipt that somebody settled as applied, whose continuation has run."""
    receipt = await db.uncertain(returned=True)
    decision = Decision(receipt, "applied", "seen at the provider", "ana", value=VALUE)
    assert isinstance(await resolve(db.receipts, decision), Resolved)
    await db.connection.execute("update reconciliation_items set phase = 'done' where phase = 'decided'")
    return receipt


def doubt(receipt: str, actor: str = "ana", **more: Any) -> Doubt:
    return Doubt(receipt, "the bank has no such charge", actor, **more)


def verdict(receipt: str, actor: str = "ben", **more: Any) -> Decision:
    members = {"reason": "the statement of May", "evidence": "ticket 9"} | more
    return Decision(receipt, "not_applied", actor=actor, **members)


async def decide(db: Ledger, decision: Decision) -> object:
    return await resolve(db.receipts, decision, contested=True)


async def test_a_contest_flags_the_receipt_and_changes_no_state(fresh_database: str) -> None:
    """R25, R27: audited, told outside, and on top of the queue with an item of its own; the same doubt is one contest."""
    async with ledger(fresh_database) as db:
        older = await db.uncertain("older")
        await db.receipts.scan(10)
        receipt = await settled(db)
        before = await db.receipt(receipt)
        first = await contest(db.receipts, doubt(receipt, expected_version=before["version"]))
        assert first == await contest(db.receipts, doubt(receipt, expected_version=before["version"]))
        assert first == ContestOpened(before["version"] + 1)
        after = await db.receipt(receipt)
        assert (after["state"], after["settlements"], await db.value(receipt)) == ("completed", 1, VALUE)
        assert (after["contradicted"], after["version"]) == (True, before["version"] + 1)
        items = await db.listed()
        assert [(item.receipt_id, item.reason) for item in items] == [(receipt, "contested"), (older, "uncertain")]
        lines = [(line["actor"], line["action"]) for line in await db.all("audit_log")]
        assert lines == [("ana", "settle"), ("ana", "contest")]
        assert phases(await db.outbox("receipts.reconciliation"))[-1] == "open"


async def test_nothing_is_contested_that_is_not_as_it_was_shown(fresh_database: str) -> None:
    """R23, R25: compare-and-set on the version; and what nobody settled has nothing to contest."""
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        stale = await contest(db.receipts, doubt(receipt, expected_version=2))
        assert isinstance(stale, VersionChanged)
        open_one = await db.uncertain("other")
        unsettled = await contest(db.receipts, doubt(open_one))
        assert isinstance(unsettled, VersionChanged)
        assert "nobody settled it" in unsettled.why
        assert isinstance(await contest(db.receipts, Doubt(receipt, " ", "ana")), Invalid)
        assert isinstance(await contest(db.receipts, doubt("0" * 32)), NotFound)
        assert not (await db.receipt(receipt))["contradicted"]


async def test_a_contested_receipt_is_left_to_people(fresh_database: str) -> None:
    """R25, R27: no resolver looks, no scan opens another item, and no other decision is taken."""
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        await contest(db.receipts, doubt(receipt))
        await db.due_now()
        counts = await reconciler(db.receipts, effect(Manual())).run_once()
        assert (counts.scanned.opened, counts.settled, counts.waiting) == (0, 0, 0)
        shown = await show(db.receipts, receipt)
        assert shown is not None
        assert "second person" in (shown.choices.applied or "")
        assert isinstance(await resolve(db.receipts, verdict(receipt)), VersionChanged)


async def test_a_second_person_moves_what_was_contested(fresh_database: str) -> None:
    """R25: on evidence, as a settlement with its continuation; nobody decides their own contest."""
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        await contest(db.receipts, doubt(receipt))
        assert isinstance(await decide(db, verdict(receipt, evidence=" ")), Invalid)
        alone = await decide(db, verdict(receipt, actor="ana"))
        assert isinstance(alone, Refused)
        assert "another person" in alone.verdict.reason
        first = await decide(db, verdict(receipt, workers_stopped=True))
        assert isinstance(first, Resolved)
        after = await db.receipt(receipt)
        assert (after["state"], after["contradicted"], after["settlements"]) == ("failed", False, 2)
        assert [request["turnId"] for request in await db.outbox("turns.requests") if isinstance(request, dict)] == [
            f"reconciliation:{receipt}:{number}:1" for number in (1, 2)
        ]
        assert (await db.item(2))["phase"] == "decided"
        assert [line["action"] for line in await db.all("audit_log")][-1] == "decide_contest"
        [*_, transition] = await db.all("receipt_transitions")
        assert (transition["from_state"], transition["state"], transition["cause"]) == (
            "completed",
            "failed",
            "contest",
        )
        assert isinstance(await decide(db, verdict(receipt, reason="again")), VersionChanged)


async def test_a_second_person_may_confirm_what_was_contested(fresh_database: str) -> None:
    """R25: also with the words of the first decision; it is another one."""
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        await contest(db.receipts, doubt(receipt, actor="ben"))
        same = Decision(receipt, "applied", "seen at the provider", "ana", value=VALUE, evidence="ticket 9")
        assert isinstance(await decide(db, same), Resolved)
        after = await db.receipt(receipt)
        assert (after["state"], after["contradicted"], after["settlements"]) == ("completed", False, 2)
        assert await db.value(receipt) == VALUE


async def test_what_an_answer_contradicts_is_decided_by_two_people(fresh_database: str) -> None:
    """R25: one of them contests it, too."""
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        await db.connection.execute(
            "select take_late_answer_v1(thread_id, effect_key, $1, 'contradicts', 'failed', null, 'x', false) from receipts",
            random_id(),
        )
        assert isinstance(await decide(db, verdict(receipt)), Refused)
        assert isinstance(await contest(db.receipts, doubt(receipt)), ContestOpened)
        assert isinstance(await decide(db, verdict(receipt)), Resolved)


async def test_not_applied_is_admitted_in_a_contest_only_if_the_attempt_is_over(fresh_database: str) -> None:
    """R22, R25: the retry that follows must not meet the call that it stands for."""
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        await db.connection.execute("update receipts set returned_at = null")
        await contest(db.receipts, doubt(receipt))
        refused = await decide(db, verdict(receipt))
        assert isinstance(refused, Refused)
        assert "never seen to end" in refused.verdict.reason
        assert isinstance(await decide(db, verdict(receipt, workers_stopped=True)), Resolved)


async def run_queue(db: Ledger, *arguments: str) -> Said:
    return await intention_beside("queue", *arguments, env=environment(db.url))


async def test_the_command_contests_and_decides(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        assert (await run_queue(db, "contest", receipt)).code == 2, "a reason is needed"
        said = await run_queue(db, "contest", receipt, "--reason", "no such charge", "--as", "ana")
        assert (said.code, "until another person decides" in said.out) == (0, True), said
        assert "a person contests what was settled" in (await run_queue(db, "ls")).out
        shown = (await run_queue(db, "show", receipt)).out
        for word in ("CONTRADICTED", "contest:ana: contested: no such charge", "second person"):
            assert word in shown
        options = ("--not-applied", "--evidence", "ticket", "--reason", "r")
        alone = await run_queue(db, "contest", receipt, *options, "--as", "ana")
        assert (alone.code, "another person" in alone.err) == (6, True), alone
        done = await run_queue(db, "contest", receipt, *options, "--as", "ben", "-o", "json")
        assert (done.code, json.loads(done.out)["settlement"]) == (0, 2), done


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nothing", "--reason", "r"), 4, "there is no receipt nothing"),
        (("RECEIPT", "--reason", "r", "--expected-version", "1"), 5, "has version 3 now"),
        (("RECEIPT", "--reason", "r", "--evidence", "e"), 2, "belong to a decision"),
        (("RECEIPT", "--reason", "r", "--applied"), 2, "--applied needs --value"),
        (("RECEIPT", "--reason", "r", "--not-applied", "--evidence", "e"), 5, "nothing contests what is recorded"),
    ],
)
async def test_the_commands_exit_code_says_why_nothing_was_contested(
    fresh_database: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    async with ledger(fresh_database) as db:
        receipt = await settled(db)
        result = await run_queue(db, "contest", *(receipt if word == "RECEIPT" else word for word in arguments))
        assert (result.code, said in result.err) == (code, True), result

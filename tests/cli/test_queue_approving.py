"""The second person through the command, and the rules that ask for one (interface 4)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.ports.identity import NewUser, Scope
from intention_kernel.postgres.identity import open_identity

from tests.cli.invoking import Said, environment, intention_beside
from tests.reconciliation.bench import Ledger, ledger

ANA, BEN = ("--as", "ana"), ("--as", "ben")
APPLIED = ("--applied", "--value", '{"charge": "c"}', "--reference", "re-1", "--reason", "in the bank's \x1blist")


@pytest.fixture
async def db(fresh_database: str) -> AsyncIterator[Ledger]:
    """A database with one receipt that waits, any decision about which needs a second person."""
    async with ledger(fresh_database) as opened:
        await opened.receipts.set_rule(ApprovalRule("two"), "root")
        await opened.uncertain(returned=True)
        await opened.receipts.scan(10)
        yield opened


async def receipt_of(db: Ledger) -> str:
    receipt: str = await db.connection.fetchval("select receipt_id from receipts where thread_id = 't'")
    return receipt


async def said(db: Ledger, *words: str, group: str = "queue") -> Said:
    """The command, with RECEIPT as the receipt's id."""
    receipt = await receipt_of(db)
    arguments = [receipt if word == "RECEIPT" else word for word in words]
    return await intention_beside(group, *arguments, env=environment(db.url))


async def test_what_needs_a_second_person_is_proposed_listed_shown_and_approved(db: Ledger) -> None:
    receipt = await receipt_of(db)
    dry = await said(db, "resolve", "RECEIPT", *APPLIED, *ANA, "--dry-run")
    assert (dry.code, dry.err) == (6, "it would need a second person: two\n")
    assert dry.lines[0].startswith("it would be proposed, with hash ")
    resolved = await said(db, "resolve", "RECEIPT", *APPLIED, *ANA)
    assert (resolved.code, "it needs a second person" in resolved.err) == (6, True), resolved
    assert "\x1b" not in resolved.out + resolved.err
    [document] = json.loads((await said(db, "proposals", "-o", "json")).out)
    decision_hash = document["decisionHash"]
    assert dry.lines[0].endswith(decision_hash)
    for words in (f"hash {decision_hash}", f"proposal {document['proposalId']} · asked for by two"):
        assert words in resolved.lines
    assert (document["receiptId"], document["proposer"], document["value"]) == (receipt, "ana", {"charge": "c"})
    assert (await said(db, "proposals", "-o", "ids")).lines == [receipt]
    shown = (await said(db, "show", "RECEIPT")).out
    for words in ("proposed", "applied, by ana", decision_hash, "once a second person approves it: two"):
        assert words in shown
    for hash_given, actor, code, words in (
        ("4f1c", "ben", 5, "another hash"),
        (decision_hash, "ana", 6, "nobody approves their own proposal"),
    ):
        refused = await said(db, "approve", "RECEIPT", "--hash", hash_given, "--as", actor)
        assert (refused.code, words in refused.err) == (code, True), refused
    assert (await said(db, "withdraw", "RECEIPT", *BEN)).code == 6
    approved = await said(db, "approve", "RECEIPT", "--hash", decision_hash, "--reason", "seen it", *BEN, "-o", "json")
    assert json.loads(approved.out) == {"receiptId": receipt, "settlement": 1, "version": 3}
    assert await db.value(receipt) == {"charge": "c"}
    after = json.loads((await said(db, "show", "RECEIPT", "-o", "json")).out)
    assert (after["proposal"]["state"], after["proposal"]["closedBy"]) == ("approved", "ben")
    assert (after["keyWindow"], after["keyClosesAt"]) == ("none", None)
    assert "approved by ben: seen it" in (await said(db, "show", "RECEIPT")).out
    assert (await said(db, "proposals", "-o", "ids")).lines == []


async def test_what_is_proposed_is_rejected_or_withdrawn(db: Ledger) -> None:
    nothing = await said(db, "reject", "RECEIPT", "--reason", "r", *BEN)
    assert (nothing.code, nothing.err) == (5, "nothing is proposed\n")
    unknown = await said(db, "reject", "0" * 32, "--reason", "r", *BEN)
    assert (unknown.code, "there is no receipt" in unknown.err) == (4, True)
    first = json.loads((await said(db, "resolve", "RECEIPT", *APPLIED, *ANA, "-o", "json")).out)
    other = await said(db, "resolve", "RECEIPT", *APPLIED, *BEN)
    assert (other.code, "proposed by ana" in other.err) == (5, True), other
    assert (await said(db, "reject", "RECEIPT", "--reason", "not there", *BEN)).lines == ["rejected"]
    late = await said(db, "approve", "RECEIPT", "--hash", first["decisionHash"], *BEN)
    assert (late.code, late.err) == (5, "the proposal is rejected\n")
    assert (await said(db, "resolve", "RECEIPT", *APPLIED, *ANA)).code == 6
    assert (await said(db, "withdraw", "RECEIPT", *ANA)).lines == ["withdrawn"]
    audit = json.loads((await said(db, "ls", "--receipt", "RECEIPT", "-o", "json", group="audit")).out)
    assert [line["action"] for line in audit] == ["withdraw", "propose", "reject", "propose"]


async def test_what_is_no_longer_admitted_is_refused_with_the_reason(db: Ledger) -> None:
    resolved = await said(db, "resolve", "RECEIPT", "--not-applied", "--reason", "r", *ANA, "-o", "json")
    await db.connection.execute("update receipts set returned_at = null")
    chosen = json.loads(resolved.out)["decisionHash"]
    refused = await said(db, "approve", "RECEIPT", "--hash", chosen, *BEN)
    assert (refused.code, "the proposal stays open" in refused.err) == (6, True), refused
    assert (await said(db, "proposals", "-o", "ids")).lines == [await receipt_of(db)]


async def test_rules_are_listed_set_and_disabled(db: Ledger) -> None:
    seed = json.loads((await said(db, "ls", "-o", "json", group="rules")).out)[0]
    assert (seed["ruleId"], seed["classes"], seed["resolutions"], seed["windowClosed"], seed["enabled"]) == (
        "key-window-closed",
        ["keyed"],
        ["not_applied"],
        True,
        True,
    )
    options = (
        "--effect",
        "shop.charge",
        "--at-least",
        "10.50",
        "--currency",
        "EUR",
        "--class",
        "single",
        "--expires",
        "2h",
    )
    made = await said(db, "set", "large", *options, "--as", "root", group="rules")
    assert (made.code, made.lines) == (0, ["set"]), made
    assert (await said(db, "disable", "two", "--as", "root", group="rules")).lines == ["disabled"]
    rules = {rule["ruleId"]: rule for rule in json.loads((await said(db, "ls", "-o", "json", group="rules")).out)}
    large = rules["large"]
    assert (large["leastAmount"], large["currency"], large["expiresSeconds"]) == ("10.50", "EUR", 7200)
    assert (large["effects"], large["tenants"], large["resolutions"]) == (["shop.charge"], None, None)
    assert rules["two"]["enabled"] is False
    assert (await said(db, "resolve", "RECEIPT", *APPLIED, *ANA)).code == 6  # 12 EUR, of an effect that keeps no key
    missing = await said(db, "disable", "none", group="rules")
    assert (missing.code, missing.err) == (4, "there is no rule none\n")
    wrong = await said(db, "set", "r", "--at-least", "5", group="rules")
    assert (wrong.code, "say both or none" in wrong.err) == (2, True)
    assert (await said(db, "set", "r", "--at-least", "much", group="rules")).code == 2


async def test_a_rule_that_nobody_can_satisfy_is_said(db: Ledger) -> None:
    assert (await said(db, "ls", group="rules")).err == ""
    async with open_identity(db.url) as identity:
        await identity.add_user(NewUser("ana", ("approver", "operator"), Scope(), None), "root")
        alone = await said(db, "ls", "-o", "ids", group="rules")
        assert (alone.lines, alone.code) == (["key-window-closed", "two"], 0)
        assert [line.split(":")[0] for line in alone.err.splitlines()] == ["key-window-closed", "two"]
        await identity.add_user(NewUser("ben", ("operator",), Scope(), None), "root")
        assert (await said(db, "ls", group="rules")).err == ""

"""Work of the queue through the command: claims, snoozes, notes, probes, dry runs, filters and the audit log (interface 4)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from intention_kernel.reconciliation.queue import Decision, Resolved, resolve

from tests.cli.invoking import Said, environment, intention, intention_beside
from tests.reconciliation.bench import Ledger, ledger

ANA = ("--as", "ana")
BEN = ("--as", "ben")


@pytest.fixture
async def db(fresh_database: str) -> AsyncIterator[Ledger]:
    """A database with one receipt that waits, of thread `t`, with its item."""
    async with ledger(fresh_database) as opened:
        await opened.uncertain()
        await opened.receipts.scan(10)
        yield opened


async def receipt_of(db: Ledger) -> str:
    receipt: str = await db.connection.fetchval("select receipt_id from receipts where thread_id = 't'")
    return receipt


async def said(db: Ledger, *words: str, group: str = "queue", application: str = "") -> Said:
    """The command, with RECEIPT as the receipt's id."""
    receipt = await receipt_of(db)
    arguments = [receipt if word == "RECEIPT" else word for word in words]
    return await intention_beside(group, *arguments, env=environment(db.url, application=application))


async def test_a_claim_is_shown_and_keeps_others_away(db: Ledger) -> None:
    receipt = await receipt_of(db)
    claimed = await said(db, "claim", "RECEIPT", "--for", "30m", *ANA)
    assert (claimed.code, claimed.out.startswith("yours until ")) == (0, True), claimed
    refused = await said(db, "claim", "RECEIPT", *BEN)
    assert (refused.code, "ana works on it until" in refused.err, "--takeover REASON" in refused.err) == (5, True, True)
    decided = await said(db, "resolve", "RECEIPT", "--not-applied", "--workers-stopped", "--reason", "r", *BEN)
    assert (decided.code, "ana works on it until" in decided.err) == (5, True), decided
    assert "ana 29 min" in (await said(db, "ls")).out
    assert (await said(db, "ls", "owner:me", "-o", "ids", *ANA)).lines == [receipt]
    assert (await said(db, "ls", "owner:me", "-o", "ids", *BEN)).lines == []
    assert (await said(db, "claim", "RECEIPT", "--takeover", "ana is away", *BEN)).code == 0
    shown = (await said(db, "show", "RECEIPT")).out
    for words in ("claimed by ben until", "ben: takeover:", "ana is away", "ana: claim:"):
        assert words in shown
    assert (await said(db, "release", "RECEIPT", *ANA)).code == 5
    assert (await said(db, "release", "RECEIPT", *BEN)).lines == ["released"]
    again = await said(db, "release", "RECEIPT", *BEN)
    assert (again.code, again.err) == (6, "nobody has claimed it\n")


async def test_what_is_snoozed_leaves_the_list_and_comes_back(db: Ledger) -> None:
    receipt = await receipt_of(db)
    for when in (("--for", "2h"), ("--until-change",)):
        done = await said(db, "snooze", "RECEIPT", *when, "--reason", "after noon", *ANA)
        assert (done.code, done.out.startswith("out of sight until")) == (0, True), done
        assert (await said(db, "ls", "-o", "ids")).lines == []
        assert (await said(db, "ls", "snoozed:yes", "-o", "ids")).lines == [receipt]
        assert "snoozed until" in (await said(db, "show", "RECEIPT")).out
        assert (await said(db, "snooze", "RECEIPT", "--end", *ANA)).lines == ["in sight again"]
        assert (await said(db, "ls", "-o", "ids")).lines == [receipt]


async def test_notes_are_shown_and_cannot_drive_the_terminal(db: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "statement.pdf"
    file.write_bytes(b"%PDF")
    assert (await said(db, "comment", "RECEIPT", "called\x1b[2J the bank", *ANA)).lines == ["kept"]
    assert (await said(db, "evidence", "RECEIPT", "--ticket", "OPS-7", *ANA)).lines == ["kept"]
    kept = await said(db, "evidence", "RECEIPT", "--file", str(file), *BEN, "-o", "json", "--operation-id", "note-9")
    assert json.loads(kept.out) == {"receiptId": await receipt_of(db), "noteId": "note-9"}
    shown = (await said(db, "show", "RECEIPT")).out
    assert "\x1b" not in shown
    for words in (
        "ana: comment: called",
        "ana: ticket: OPS-7",
        "ben: digest: sha256:",
        "statement.pdf",
        "ana: evidence:",
    ):
        assert words in shown
    document = json.loads((await said(db, "show", "RECEIPT", "-o", "json")).out)
    assert [note["kind"] for note in document["notes"]] == ["comment", "ticket", "digest"]
    assert document["audit"][0]["action"] == "evidence"


async def test_a_probe_is_asked_for_where_there_is_a_resolver(db: Ledger) -> None:
    await db.connection.execute("update reconciliation_items set next_look_at = 'infinity'")
    known = await said(db, "probe", "RECEIPT", *ANA, application="tests.reconciliation.app:application")
    assert (known.code, "next round" in known.out) == (0, True), known
    assert await db.connection.fetchval("select isfinite(next_look_at) from reconciliation_items")


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (None, "the provider keeps no key: the same call again is another effect"),
        (7260.0, "the provider knows the key until"),
        (30.0, "the provider has forgotten the key at"),
    ],
)
async def test_the_providers_clock_is_shown(fresh_database: str, window: float | None, words: str) -> None:
    async with ledger(fresh_database) as db:
        await db.uncertain(window_seconds=window)
        shown = await said(db, "show", "RECEIPT")
        assert words in shown.out
        assert ("for 1 h" in shown.out or "for 2 h" in shown.out) == (window == 7260.0)


async def test_a_dry_run_says_what_happens_and_show_says_it_too(db: Ledger) -> None:
    receipt = await receipt_of(db)
    await db.connection.execute("insert into blocked_steps select thread_id, effect_key, 'turn-1', 1 from receipts")
    options = ("resolve", "RECEIPT", "--applied", "--value", '{"charge": "c"}', "--reason", "r", *ANA)
    dry = await said(db, *options, "--dry-run")
    follows = [
        "the receipt is completed, with version 3, by settlement 1",
        f"turn reconciliation:{receipt}:1:1 is asked for; what waits goes on: turn-1",
        "no other attempt is made",
    ]
    assert (dry.code, dry.lines) == (0, ["it would be settled", *follows])
    shown = (await said(db, "show", "RECEIPT")).out
    assert all(line in shown for line in follows)
    assert "the program may make another attempt, under the same key" in shown
    assert (await db.receipt(receipt))["state"] == "uncertain"
    document = json.loads((await said(db, *options, "--dry-run", "-o", "json")).out)
    assert json.loads((await said(db, *options, "-o", "json")).out)["version"] == document["version"]
    refused = await said(db, "resolve", "RECEIPT", "--not-applied", "--reason", "r", "--dry-run")
    assert refused.code == 5


@pytest.mark.parametrize(
    ("query", "said_of_it"),
    [
        ("stauts:open", "^ at character 1: 'stauts' is no word of a filter; did you mean 'status'?"),
        ("age>2h status:opne", "^ at character 15: status has no value 'opne'"),
        ("status:done", "listed for a thread or a receipt; did you mean 'thread:ID'?"),
        ("age>2", "did you mean 'age>2h'?"),
    ],
)
async def test_a_query_that_is_none_is_told_with_its_place(db: Ledger, query: str, said_of_it: str) -> None:
    """Exit code 2, and the caret under the place."""
    refused = await said(db, "ls", query)
    assert (refused.code, refused.out, said_of_it in refused.err) == (2, "", True), refused
    assert refused.err.splitlines()[0] == query


async def test_a_query_is_words_of_the_shell_or_one(db: Ledger) -> None:
    receipt = await receipt_of(db)
    for words in (("provider:acme age<1h",), ("provider:acme", "age<1h"), ("--", "-provider:other"), ('"Charge 12"',)):
        assert (await said(db, "ls", "-o", "ids", *words)).lines == [receipt], words
    assert (await said(db, "ls", "-o", "ids", "--", "-provider:acme")).lines == []
    assert (await said(db, "ls", "--cursor", "x")).code == 2


async def test_the_audit_log_is_listed_newest_first_and_in_pages(db: Ledger) -> None:
    receipt = await receipt_of(db)
    await said(db, "claim", "RECEIPT", *ANA)
    await said(db, "comment", "RECEIPT", "words", *BEN)
    decision = Decision(receipt, "applied", "r", "ana", value={"charge": "c"})
    assert isinstance(await resolve(db.receipts, decision), Resolved)
    whole = json.loads((await said(db, "ls", "-o", "json", group="audit")).out)
    assert [(line["actor"], line["action"]) for line in whole] == [
        ("ana", "settle"),
        ("ben", "comment"),
        ("ana", "claim"),
    ]
    assert whole[0]["detail"]["resolution"] == "applied"
    first = await said(db, "ls", "--limit", "2", "-o", "ids", group="audit")
    assert first.err == f"the first 2; --before {whole[1]['id']} shows the next\n"
    rest = await said(db, "ls", "--before", str(whole[1]["id"]), "-o", "ids", group="audit")
    assert [*first.lines, *rest.lines] == [str(line["id"]) for line in whole]
    for options, count in (
        (("--actor", "ana"), 2),
        (("--action", "comment"), 1),
        (("--receipt", receipt, "--actor", "ana"), 2),
        (("--receipt", "nothing"), 0),
    ):
        assert len((await said(db, "ls", *options, "-o", "ids", group="audit")).lines) == count, options
    assert "ben" in (await said(db, "ls", group="audit")).out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("claim", "nothing"), 4, "there is no receipt nothing"),
        (("comment", "nothing", "words"), 4, "there is no receipt nothing"),
        (("claim", "RECEIPT", "--for", "soon"), 2, "as in 2h"),
        (("claim", "RECEIPT", "--for", "2d"), 2, "lasts from 1 to 86400 seconds"),
        (("claim", "RECEIPT", "--takeover", " "), 2, "a reason is needed"),
        (("claim", "RECEIPT", "--expected-version", "3"), 5, "its work has version 0 now"),
        (("snooze", "RECEIPT"), 2, "say one of --for, --until-change and --end"),
        (("snooze", "RECEIPT", "--for", "1h", "--end"), 2, "say one of"),
        (("evidence", "RECEIPT"), 2, "say one of --link, --ticket, --quotation and --file"),
        (("evidence", "RECEIPT", "--link", "javascript:x"), 2, "http://"),
        (("release", "RECEIPT"), 6, "nobody has claimed it"),
    ],
)
async def test_the_exit_code_says_why_nothing_was_done(
    db: Ledger, arguments: tuple[str, ...], code: int, words: str
) -> None:
    refused = await said(db, *arguments)
    assert (refused.code, words in refused.err) == (code, True), refused
    assert await db.all("audit_log") == []


@pytest.mark.parametrize(
    "command", ["ls", "show", "claim", "release", "snooze", "probe", "comment", "evidence", "resolve", "contest"]
)
def test_every_command_of_the_queue_has_an_example(command: str) -> None:
    shown = intention("queue", command, "--help")
    assert (shown.code, f"Example: intention queue {command}" in " ".join(shown.out.split())) == (0, True), shown

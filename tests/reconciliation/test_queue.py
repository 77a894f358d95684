"""What people read and decide, through the operations and through the command (design 7, interface 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from intention_kernel.agent.effect import Absent, Answer, Effect, Inconclusive, Lookup, Manual, Ports, ReceiptView
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
from intention_kernel.reconciliation.workbench import EffectOf
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.state import write_state

from tests.cli.invoking import Said, environment, intention, intention_beside
from tests.reconciliation.bench import Ledger, effect, ledger, reconciler

VALUE = {"charge": "ch-9"}


def applied(receipt: str, **more: Any) -> Decision:
    return Decision(receipt, "applied", "seen at the provider", "ana", **{"value": VALUE, "reference": "p-1"} | more)


def not_applied(receipt: str, **more: Any) -> Decision:
    return Decision(receipt, "not_applied", "not at the provider", "ana", **more)


def knows(one: Effect) -> EffectOf:
    return lambda _, effect_id: one if effect_id == one.id else None


async def test_a_person_settles_as_applied_once_however_often_they_say_so(fresh_database: str) -> None:
    """R23: settled with value, reference, decision and audit line; the same decision again is the same decision."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        await db.receipts.scan(10)
        first = await resolve(db.receipts, applied(receipt, evidence="ticket 7", reason_code="provider_confirms"))
        again = await resolve(db.receipts, applied(receipt, evidence="ticket 7", reason_code="provider_confirms"))
        assert isinstance(first, Resolved)
        assert first == again
        assert await db.value(receipt) == VALUE
        [decision] = await db.all("decisions")
        assert (decision["actor"], decision["reason"], decision["evidence"]) == (
            "ana",
            b"seen at the provider",
            b"ticket 7",
        )
        assert [line["actor"] for line in await db.all("audit_log")] == ["ana"]
        assert len(await db.outbox("turns.requests")) == 1


async def test_a_person_needs_no_item_to_settle(fresh_database: str) -> None:
    """The scan may not have come by yet."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        assert isinstance(await resolve(db.receipts, applied(receipt)), Resolved)
        assert (await db.item())["phase"] == "decided"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"value": {"charge": 7}}, "charge: Input should be a valid string"),
        ({"reason": " "}, "a reason is needed"),
        ({"actor": ""}, "who decides is needed"),
    ],
)
async def test_a_value_that_is_no_result_of_the_effect_is_refused(
    fresh_database: str, more: dict[str, Any], problem: str
) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        members: dict[str, Any] = {"reason": "r", "actor": "ana", "value": VALUE} | more
        answer = await resolve(db.receipts, Decision(receipt, "applied", **members), knows(effect(Manual())))
        assert isinstance(answer, Invalid)
        assert problem in answer.problem
        assert (await db.receipt(receipt))["state"] == "uncertain"


async def test_nothing_is_settled_that_is_not_as_it_was_shown(fresh_database: str) -> None:
    """R23: the version is the one shown to the person."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        shown = await show(db.receipts, receipt)
        assert shown is not None
        await db.connection.execute("update receipts set version = version + 1, cause = 'retry'")
        stale = applied(receipt, expected_version=shown.case.open.receipt.version)
        assert isinstance(await resolve(db.receipts, stale), VersionChanged)
        assert isinstance(await resolve(db.receipts, applied(receipt)), Resolved)
        assert isinstance(await resolve(db.receipts, not_applied(receipt)), VersionChanged)
        assert isinstance(await resolve(db.receipts, applied("0" * 32)), NotFound)


async def test_who_stopped_the_workers_before_a_repeat_began_said_nothing_of_it(fresh_database: str) -> None:
    """R22 (c): a repeat that was never seen to end is over once people say so after it began, and not before."""
    began = "update receipts set retry_until = clock_timestamp(), version = version + 1, cause = 'retry'"
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        case = await db.receipts.case(receipt)
        assert case is not None
        await db.receipts.state_workers_stopped(case, "ana", "all are down")
        await db.connection.execute(began)
        assert isinstance(await resolve(db.receipts, not_applied(receipt)), Refused)
        case = await db.receipts.case(receipt)
        assert case is not None
        assert case.workers_stopped_at is None
        await db.connection.execute("update receipts set retry_until = '-infinity'")
        case = await db.receipts.case(receipt)
        assert case is not None
        assert case.workers_stopped_at is not None
        await db.connection.execute(began)
        assert isinstance(await resolve(db.receipts, not_applied(receipt, workers_stopped=True)), Resolved)


async def test_a_contradicted_receipt_is_not_a_persons_to_settle_either(fresh_database: str) -> None:
    """R25: the only exit is a contest."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        await db.connection.execute("update receipts set contradicted = true, version = version + 1, cause = 'test'")
        answer = await resolve(db.receipts, applied(receipt))
        assert isinstance(answer, VersionChanged)
        assert "contest" in answer.why


async def test_a_person_says_not_applied_only_once_the_attempt_is_over(fresh_database: str) -> None:
    """R22 c: never seen to end, so the workers have to be stopped; with no quiet period declared that statement is enough."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        refused = await resolve(db.receipts, not_applied(receipt), knows(effect(Manual())))
        assert isinstance(refused, Refused)
        assert "never seen to end" in refused.verdict.reason
        shown = await show(db.receipts, receipt, knows(effect(Manual())))
        assert shown is not None
        assert shown.choices.applied is None
        assert not hasattr(shown.choices.not_applied, "not_after")
        assert hasattr(shown.choices.with_workers_stopped, "not_after")
        assert isinstance(await resolve(db.receipts, not_applied(receipt, workers_stopped=True)), Resolved)
        assert [line["action"] for line in await db.all("audit_log")] == ["workers_stopped", "settle"]


async def test_a_declared_quiet_period_counts_from_the_statement_that_the_workers_are_stopped(
    fresh_database: str,
) -> None:
    """R22 c: what was sent before they stopped may still arrive; a truthful operator is not fooled."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        known = knows(effect(Manual(), quiet_period_seconds=60))
        stopped = not_applied(receipt, workers_stopped=True)
        for _ in range(2):
            refused = await resolve(db.receipts, stopped, known)
            assert isinstance(refused, Refused)
            assert "may still be on its way" in refused.verdict.reason
        # As if the statement had been made a minute ago; said once, it stands.
        await db.connection.execute(
            "update receipts set prepared_at = prepared_at - interval '1 hour', call_deadline = call_deadline - interval '1 hour'"
        )
        async with db.connection.transaction():
            await db.connection.execute("select set_config('intention.forgets', 'on', true)")
            await db.connection.execute("update audit_log set at = at - interval '61 seconds'")
        assert isinstance(await resolve(db.receipts, not_applied(receipt), known), Resolved)


async def test_a_lookup_that_closed_the_key_lets_a_person_say_not_applied(fresh_database: str) -> None:
    """R22 b: the absence was observed for this very version, by a lookup that closes."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()

        async def find(_: ReceiptView, __: Ports) -> Answer:
            return Absent()

        await reconciler(db.receipts, effect(Lookup(find))).run_once()
        closing = effect(Lookup(find), lookup_closes_key=True)
        assert isinstance(await resolve(db.receipts, not_applied(receipt)), Refused)
        assert isinstance(await resolve(db.receipts, not_applied(receipt), knows(closing)), Resolved)


async def run_queue(db: Ledger, *arguments: str, application: str = "") -> Said:
    return await intention_beside("queue", *arguments, env=environment(db.url, application=application))


async def test_the_command_lists_shows_and_resolves(fresh_database: str, tmp_path: Path) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()

        async def find(_: ReceiptView, __: Ports) -> Answer:
            return Inconclusive("two charges\x1b[2J")

        await db.connection.execute(
            "insert into blocked_steps (thread_id, effect_key, turn_id, revision) select thread_id, effect_key, 'turn-1', 1 from receipts"
        )
        await reconciler(db.receipts, effect(Lookup(find))).run_once()
        listed = await run_queue(db, "ls")
        assert listed.code == 0
        for word in (
            receipt,
            "Charge 12 EUR",
            "12 EUR",
            "acme",
            "open",
            "uncertain",
            "the lookup proves nothing: two charges",
        ):
            assert word in listed.out
        assert "\x1b" not in listed.out
        assert (await run_queue(db, "ls", "-o", "ids")).out.split() == [receipt]
        [item] = json.loads((await run_queue(db, "ls", "-o", "json")).out)
        line = json.loads((await run_queue(db, "ls", "-o", "jsonl")).out)
        assert item | {"ageSeconds": 0} == line | {"ageSeconds": 0}
        assert (item["receiptId"], item["phase"], item["amount"], item["title"]) == (
            receipt,
            "open",
            "12",
            "Charge 12 EUR",
        )
        shown = await run_queue(db, "show", receipt)
        for word in (
            "waiting turns",
            "turn-1",
            "uncertain (attempt 1, uncertain)",
            "lookup: inconclusive",
            "you may decide",
        ):
            assert word in shown.out
        document = json.loads((await run_queue(db, "show", receipt, "-o", "json")).out)
        assert document["mayDecide"]["applied"] == {"admitted": True, "reason": None}
        assert document["mayDecide"]["notApplied"]["admitted"] is False
        value = tmp_path / "value.json"
        value.write_text(json.dumps(VALUE))
        options = ("--applied", "--value", f"@{value}", "--reference", "p-1", "--reason", "seen", "--as", "ana")
        resolved = await run_queue(db, "resolve", receipt, *options)
        assert (resolved.code, "settled as applied" in resolved.out) == (0, True)
        assert await db.value(receipt) == VALUE
        assert "decided: applied; its conversation goes on next" in (await run_queue(db, "ls")).out
        assert "nothing to decide: the receipt is completed" in (await run_queue(db, "show", receipt)).out


async def test_a_person_who_says_not_applied_is_told_that_the_program_may_try_again(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        said = await run_queue(db, "resolve", receipt, "--not-applied", "--workers-stopped", "--reason", "not there")
        assert "their program may try it again" in said.out, said


async def test_a_list_that_is_cut_says_so(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        for number in range(2):
            await db.uncertain(f"thread-{number}")
        await db.receipts.scan(10)
        cut = await run_queue(db, "ls", "--limit", "1", "-o", "ids")
        assert (len(cut.lines), cut.err.startswith("the first 1; --limit shows more, --cursor ")) == (1, True)
        following = cut.err.split("--cursor ")[1].split()[0]
        rest = await run_queue(db, "ls", "--cursor", following, "-o", "ids")
        assert (len(rest.lines), rest.err, rest.lines == cut.lines) == (1, "", False)
        assert (await run_queue(db, "ls", "--limit", "2", "-o", "ids")).err == ""


def test_a_database_that_does_not_answer_is_said_with_what_to_do() -> None:
    said = intention("queue", "ls", env=environment("postgresql://postgres@127.0.0.1:1/nowhere"))
    assert (said.code, "Are the servers up?" in said.err) == (1, True), said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "nothing"), 4, "there is no receipt nothing"),
        (("resolve", "nothing", "--not-applied", "--reason", "r"), 4, "there is no receipt nothing"),
        (("resolve", "RECEIPT", "--reason", "r"), 2, "--applied or --not-applied"),
        (("resolve", "RECEIPT", "--applied", "--reason", "r"), 2, "--applied needs --value"),
        (("resolve", "RECEIPT", "--applied", "--value", "{", "--reason", "r"), 2, "it is not JSON"),
        (("resolve", "RECEIPT", "--applied", "--value", "@/nowhere", "--reason", "r"), 2, "No such file"),
        (
            ("resolve", "RECEIPT", "--not-applied", "--reason", "r"),
            6,
            "not admitted: the attempt was never seen to end",
        ),
        (("resolve", "RECEIPT", "--not-applied", "--reason", "r", "--expected-version", "1"), 5, "version 2, not 1"),
    ],
)
async def test_the_commands_exit_code_says_why_nothing_was_done(
    fresh_database: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """Interface 4: 2 usage, 4 not found, 5 changed, 6 refused by R22."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        result = await run_queue(db, *(receipt if word == "RECEIPT" else word for word in arguments))
        assert (result.code, said in result.err) == (code, True), result
        assert (await db.receipt(receipt))["version"] == 2


async def test_the_command_finds_the_servers_of_intention_dev_and_says_so(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".intention").mkdir()
    monkeypatch.chdir(tmp_path)
    async with ledger(fresh_database) as db:
        assert (await intention_beside("queue", "ls")).code == 2
        write_state(tmp_path / ".intention", Servers(db.url, "127.0.0.1:1"))
        result = await intention_beside("queue", "ls", "-o", "ids")
        assert (result.code, result.out) == (0, "")
        assert "from .intention/env" in result.err


async def test_the_command_checks_a_value_against_the_application(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        options = ("resolve", receipt, "--applied", "--value", '{"charge": 1}', "--reason", "r")
        result = await run_queue(db, *options, application="tests.reconciliation.app:application")
        assert (result.code, "is not a result of shop.charge" in result.err) == (2, True)

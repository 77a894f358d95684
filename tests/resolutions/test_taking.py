"""What becomes of a record, over a real database: made as on every other surface, or kept with its reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from intention_kernel.agent.effect import Effect, Manual
from intention_kernel.contracts.json_codec import loads
from intention_kernel.contracts.schemas import all_schemas
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.ports.turn_store import Origin
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.rejections import KeptRecords
from intention_kernel.reconciliation.contest import Doubt, contest
from intention_kernel.reconciliation.queue import Decision, Resolved, resolve
from intention_kernel.reconciliation.resolutions import Resolutions
from intention_kernel.reconciliation.work import Done, Task, claim

from tests.cli.invoking import Said, environment, intention_beside
from tests.reconciliation.bench import EFFECT_ID, Ledger, effect, ledger
from tests.resolutions.place import VALUE, record

TOPIC = "here.receipts.resolutions"
DECLARED = {EFFECT_ID: effect(Manual())}


def effect_of(agent_id: str, effect_id: str) -> Effect | None:
    return DECLARED.get(effect_id)


@asynccontextmanager
async def desk(url: str) -> AsyncIterator[tuple[Ledger, Resolutions]]:
    async with ledger(url) as db, open_pool(url, pool_size=1) as (pool, wake):
        yield db, Resolutions(db.receipts, KeptRecords(pool, wake), effect_of)


def origin(value: bytes | None, offset: int = 0, key: bytes | None = b"any") -> Origin:
    return Origin(TOPIC, 0, offset, key, value, (("h", b"\xff"),), 7)


async def said(url: str, *arguments: str) -> Said:
    return await intention_beside(*arguments, env=environment(url))


async def test_the_same_decision_id_settles_once_however_often_it_comes(fresh_database: str) -> None:
    """Also with other words, and also from two sides at once."""
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        both = await asyncio.gather(taking.take(origin(record(receipt))), taking.take(origin(record(receipt), 1)))
        again = await taking.take(origin(record(receipt, reason="as I said"), 2))
        assert [*both, again] == ["settled"] * 3
        assert len(await db.all("decisions")) == 1
        assert (await db.receipt(receipt))["settlements"] == 1
        assert await db.all("rejected_requests") == []


async def test_another_decision_about_what_is_settled_is_kept(fresh_database: str) -> None:
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        assert await taking.take(origin(record(receipt))) == "settled"
        assert await taking.take(origin(record(receipt, decisionId="other"), 1)) == "version_changed"
        [kept] = await db.all("rejected_requests")
        assert (kept["reason"], kept["thread_id"]) == ("version_changed", "t")


@pytest.mark.parametrize(
    ("members", "reason", "detail"),
    [
        ({"receiptId": "0" * 32}, "unknown_receipt", "no such receipt"),
        ({"expectedVersion": 9}, "version_changed", "version 2"),
        ({"value": {"charge": 7}}, "invalid", "charge"),
        ({"value": ...}, "invalid", "the value is not a result"),
        ({"reason": "  "}, "invalid", "a reason is needed"),
        ({"resolution": "not_applied"}, "invalid", "neither value nor reference"),
        ({"resolution": "not_applied", "value": ..., "reference": ...}, "not_admitted", ""),
        ({"surprise": 1}, "invalid", "surprise: unknown member"),
    ],
)
async def test_what_is_refused_is_kept_with_its_reason_and_changes_nothing(
    fresh_database: str, members: dict[str, Any], reason: str, detail: str
) -> None:
    """One row with the bytes as they came, one record for turns.rejected, listed and shown, whatever its key."""
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        value = record(receipt, **members)
        for _ in range(2):
            assert await taking.take(origin(value, key=None)) == reason
        [kept] = await db.all("rejected_requests")
        assert (kept["origin_topic"], kept["record_key"], kept["record_value"]) == (TOPIC, None, value)
        assert kept["reason"] == reason
        assert detail in kept["detail"].decode()
        assert [row["topic"] for row in await db.all("outbox")] == ["turns.rejected"]
        assert ((await db.receipt(receipt))["state"], await db.all("decisions")) == ("uncertain", [])
        [listed] = [loads(line) for line in (await said(fresh_database, "rejected", "ls", "-o", "jsonl")).lines]
        assert isinstance(listed, dict)
        assert (listed["reason"], listed["state"]) == (reason, "open")
        shown = await said(fresh_database, "rejected", "show", str(listed["id"]))
        assert (shown.code, TOPIC in shown.out) == (0, True)


async def test_what_another_person_works_on_waits_for_a_redrive(fresh_database: str) -> None:
    """A claim is honoured; the record goes again to its own topic once a person says so."""
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        await db.receipts.scan(10)
        assert isinstance(await claim(db.receipts, Task(receipt, "ana")), Done)
        assert await taking.take(origin(record(receipt))) == "held"
        [line] = (await said(fresh_database, "rejected", "ls", "-o", "ids")).lines
        redriven = await said(fresh_database, "rejected", "redrive", line, "--reason", "ana is done")
        assert redriven.code == 0, redriven
        [sent] = [row for row in await db.all("outbox") if row["topic"] == "receipts.resolutions"]
        assert (sent["thread_id"], sent["value"]) == ("any", record(receipt))


async def test_a_rule_turns_a_record_into_a_proposal(fresh_database: str) -> None:
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        await db.receipts.set_rule(ApprovalRule("all"), "root")
        assert [await taking.take(origin(record(receipt), offset)) for offset in (0, 1)] == ["proposed", "proposed"]
        proposal = await db.receipts.proposal_of(receipt)
        assert proposal is not None
        assert (proposal.proposer, proposal.state) == ("back-office", "proposed")
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert await taking.take(origin(record(receipt, decisionId="other", actor="ben"), 2)) == "other_proposal"


async def test_a_contest_is_not_decided_by_a_record(fresh_database: str) -> None:
    """Its evidence and its second person are asked for where people are (R25)."""
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        made = await resolve(db.receipts, Decision(receipt, "applied", "seen", "ana", value=VALUE), effect_of)
        assert isinstance(made, Resolved)
        await contest(db.receipts, Doubt(receipt, "not at the bank", "ana"))
        version = (await db.receipt(receipt))["version"]
        assert await taking.take(origin(record(receipt, expectedVersion=version))) == "version_changed"


async def test_a_decision_that_makes_us_fail_is_kept_and_blocks_nobody(fresh_database: str) -> None:
    async with desk(fresh_database) as (db, taking):
        receipt, sound = await db.uncertain(), await db.uncertain("sound")
        await db.connection.execute("update receipts set payload = '\\x01' where receipt_id = $1", receipt)
        assert await taking.take(origin(record(receipt))) == "failed"
        assert await taking.take(origin(record(sound), 1)) == "settled"
        [kept] = await db.all("rejected_requests")
        assert (kept["reason"], kept["record_value"]) == ("failed", record(receipt))


async def test_text_that_no_column_holds_is_no_reason_to_fail(fresh_database: str) -> None:
    """R13."""
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        hard = record(receipt, reason="a\0b \ud800", reference="r\0\ud800")
        assert await taking.take(origin(hard)) == "settled"
        assert (await db.receipt(receipt))["reference"] == "r\ufffd\ufffd"


async def test_what_was_kept_goes_with_its_thread(fresh_database: str) -> None:
    async with desk(fresh_database) as (db, taking):
        receipt = await db.uncertain()
        assert await taking.take(origin(record(receipt))) == "settled"
        assert await taking.take(origin(record(receipt, decisionId="late"), 1)) == "version_changed"
        await db.connection.execute("update reconciliation_items set phase = 'done'")
        await db.connection.execute("delete from outbox")
        assert await db.connection.fetchval("select delete_thread_v1('t', 'root', 'asked to')") == "deleted"
        assert await db.all("rejected_requests") == []


def test_the_schemas_of_both_topics_are_published() -> None:
    assert {"resolution.v1", "reconciliation-notice.v1"} <= set(all_schemas())

"""What is told on receipts.reconciliation, in its order, with the version that a decision has to name (interface 2)."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from intention_kernel.contracts.schemas import all_schemas
from intention_kernel.ids import random_id
from intention_kernel.reconciliation.contest import Doubt, contest
from intention_kernel.reconciliation.queue import Decision, Resolved, resolve

from tests.reconciliation.bench import Ledger, ledger
from tests.resolutions.place import VALUE

SCHEMA = jsonschema.Draft202012Validator(all_schemas()["reconciliation-notice.v1"])


async def _told(db: Ledger) -> list[tuple[Any, ...]]:
    """Phase, state, settlement and version of every notice so far."""
    notices = await db.outbox("receipts.reconciliation")
    for notice in notices:
        SCHEMA.validate(json.loads(json.dumps(notice)))
    members = ("phase", "state", "settlement", "version")
    return [tuple(notice[name] for name in members) for notice in notices if isinstance(notice, dict)]


async def _contradict(db: Ledger) -> None:
    await db.connection.execute(
        "select take_late_answer_v1(thread_id, effect_key, $1, 'contradicts', 'failed', null, 'x', false) from receipts",
        random_id(),
    )


async def test_each_phase_of_a_receipt_is_told_with_its_version(fresh_database: str) -> None:
    """Uncertain, decided, done; contested, decided otherwise, failed."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(returned=True)
        await db.receipts.scan(10)
        assert isinstance(
            await resolve(db.receipts, Decision(receipt, "applied", "seen", "ana", value=VALUE)), Resolved
        )
        await db.connection.execute("update reconciliation_items set phase = 'done'")
        await contest(db.receipts, Doubt(receipt, "the bank has no such charge", "ana"))
        second = Decision(receipt, "not_applied", "the statement", "ben", evidence="ticket 9", workers_stopped=True)
        assert isinstance(await resolve(db.receipts, second, contested=True), Resolved)
        await db.connection.execute("update reconciliation_items set phase = 'failed' where phase = 'decided'")
        assert await _told(db) == [
            ("open", "uncertain", 1, 2),
            ("decided", "completed", 1, 3),
            ("done", "completed", 1, 3),
            ("open", "completed", 2, 4),
            ("decided", "failed", 2, 5),
            ("failed", "failed", 2, 5),
        ]


async def test_what_is_contradicted_while_its_item_is_open_is_told_again_with_its_version(fresh_database: str) -> None:
    """Whoever decides by the first notice would be refused; what a look changes about the reason is told to nobody."""
    async with ledger(fresh_database) as db:
        await db.uncertain()
        await db.receipts.scan(10)
        [due] = await db.receipts.claim(1, 60)
        await db.receipts.postpone(due, "needs a person: nobody answers", None)
        assert await _told(db) == [("open", "uncertain", 1, 2)]
        await _contradict(db)
        await _contradict(db)
        assert await _told(db) == [("open", "uncertain", 1, 2), ("open", "uncertain", 1, 3)]


async def test_what_was_contradicted_is_told_again_when_a_person_contests_it(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        await db.receipts.scan(10)
        assert isinstance(
            await resolve(db.receipts, Decision(receipt, "applied", "seen", "ana", value=VALUE)), Resolved
        )
        await _contradict(db)
        told = await _told(db)
        assert told[-1] == ("open", "completed", 2, 4)
        await db.connection.execute("delete from outbox")
        await contest(db.receipts, Doubt(receipt, "the bank has no such charge", "ben"))
        assert await _told(db) == [("open", "completed", 2, 4)]


async def test_a_phase_that_comes_again_is_told_again(fresh_database: str) -> None:
    """Also while its first notice still waits for the broker: what is told last is what is."""
    async with ledger(fresh_database) as db:
        receipt = await db.uncertain()
        await db.receipts.scan(10)
        assert isinstance(
            await resolve(db.receipts, Decision(receipt, "applied", "seen", "ana", value=VALUE)), Resolved
        )
        await db.connection.execute("update reconciliation_items set phase = 'failed'")
        await db.connection.execute("select ask_continuation_v1(thread_id, effect_key, 1, 2) from receipts")
        assert [phase for phase, *_ in await _told(db)] == ["open", "decided", "failed", "decided"]

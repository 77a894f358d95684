"""A dry run and the later real result are one answer, whatever the receipt is and whatever is decided (design 7)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st
from intention_kernel.ids import random_id
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.reconciliation import approving, work
from intention_kernel.reconciliation.contest import Doubt, contest
from intention_kernel.reconciliation.queue import (
    Decision,
    NeedsSecondPerson,
    Resolved,
    WouldPropose,
    WouldResolve,
    resolve,
)

from tests.reconciliation.approval_bench import applied, not_applied, proposed
from tests.reconciliation.bench import Ledger, ledger

_SNAPSHOT = """
select (select xmin::text || version from receipts where thread_id = $1),
       array(select xmin::text from reconciliation_items where thread_id = $1 order by 1),
       array(select xmin::text || state from proposals where thread_id = $1 order by 1),
       (select count(*) from decisions where thread_id = $1), (select count(*) from outbox where thread_id = $1),
       (select count(*) from audit_log where thread_id = $1)
"""


@dataclass(frozen=True, slots=True)
class Situation:
    """A receipt, what was done about it so far, and what `ana` decides now."""

    window_seconds: float | None
    returned: bool
    moved: Literal["no", "retrying", "settled", "contested by ana", "contested by ben"]
    claimed_by: str | None
    standing: Literal["nothing", "the same", "of ben", "expired", "overtaken"]
    rule: ApprovalRule
    resolution: Literal["applied", "not_applied"]
    workers_stopped: bool
    expected_version: int | None
    decision_id: bool
    contested: bool


SITUATIONS = st.builds(
    Situation,
    window_seconds=st.sampled_from([None, 30.0, 3600.0]),
    returned=st.booleans(),
    moved=st.sampled_from(["no", "no", "no", "retrying", "settled", "contested by ana", "contested by ben"]),
    claimed_by=st.sampled_from([None, None, "ana", "ben"]),
    standing=st.sampled_from(["nothing", "nothing", "the same", "of ben", "expired", "overtaken"]),
    rule=st.sampled_from(
        [
            ApprovalRule("drawn"),
            ApprovalRule("drawn", enabled=False),
            ApprovalRule("drawn", resolutions=frozenset({"applied"})),
            ApprovalRule("drawn", window_closed=True),
        ]
    ),
    resolution=st.sampled_from(["applied", "not_applied"]),
    workers_stopped=st.booleans(),
    expected_version=st.sampled_from([None, None, 2, 3]),
    decision_id=st.booleans(),
    contested=st.sampled_from([False, False, True]),
)

_ASKS = ApprovalRule("drawn")
_PLAIN = Situation(
    window_seconds=None,
    returned=True,
    moved="no",
    claimed_by=None,
    standing="nothing",
    rule=ApprovalRule("drawn", enabled=False),
    resolution="applied",
    workers_stopped=False,
    expected_version=None,
    decision_id=False,
    contested=False,
)


def test_a_dry_runs_answer_is_the_later_real_result(fresh_database: str) -> None:
    """I-339: over random receipts, claims, proposals, rules and decisions; and it writes nothing."""
    seen: set[str] = set()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        db = runner.run(stack.enter_async_context(ledger(fresh_database)))
        try:

            @settings(max_examples=50, deadline=None)
            @example(_PLAIN)
            @example(replace(_PLAIN, claimed_by="ben"))
            @example(replace(_PLAIN, rule=_ASKS))
            @example(replace(_PLAIN, rule=_ASKS, standing="of ben"))
            @example(replace(_PLAIN, rule=_ASKS, standing="overtaken", expected_version=3))
            @example(replace(_PLAIN, resolution="not_applied", returned=False))
            @example(replace(_PLAIN, moved="settled"))
            @example(replace(_PLAIN, moved="contested by ben", contested=True))
            @given(SITUATIONS)
            def check(situation: Situation) -> None:
                seen.add(runner.run(_checked(db, situation)))

            check()
        finally:
            runner.run(stack.aclose())
    # Else it would have looked at refusals alone.
    assert {"Resolved", "NeedsSecondPerson", "VersionChanged", "Held", "Refused", "OtherProposal"} <= seen


async def _checked(db: Ledger, situation: Situation) -> str:
    """Both answers compared; the name of the real one."""
    thread = f"thread-{random_id().hex}"
    decision = await _arranged(db, thread, situation)
    before = await db.connection.fetchrow(_SNAPSHOT, thread)
    dry = await resolve(db.receipts, decision, contested=situation.contested, dry_run=True)
    assert await db.connection.fetchrow(_SNAPSHOT, thread) == before
    real = await resolve(db.receipts, decision, contested=situation.contested)
    match dry:
        case WouldResolve(consequences=follows):
            assert real == Resolved(follows.settlement, follows.version), situation
            assert (await db.receipt(decision.receipt_id))["state"] == follows.state
        case WouldPropose(consequences=follows):
            assert isinstance(real, NeedsSecondPerson), situation
            proposal = real.proposal
            assert (proposal.decision_hash, proposal.rules) == (dry.decision_hash, dry.rules)
            approved = approving.approve(db.receipts, proposal.proposal_id, dry.decision_hash, "dan")
            assert await approved == Resolved(follows.settlement, follows.version), situation
            assert (await db.receipt(decision.receipt_id))["state"] == follows.state
        case _:
            assert dry == real, situation
    return type(real).__name__


async def _arranged(db: Ledger, thread: str, situation: Situation) -> Decision:
    """The receipt as the situation has it, and the decision."""
    await db.receipts.set_rule(ApprovalRule("drawn"), "root")
    receipt = await db.uncertain(thread, returned=situation.returned, window_seconds=situation.window_seconds)
    decision = _decision(receipt, situation)
    await _stand(db, thread, receipt, decision, situation)
    if situation.claimed_by is not None:
        await db.receipts.scan(1000)
        done = await work.claim(db.receipts, work.Task(receipt, situation.claimed_by), 60)
        assert isinstance(done, work.Done), done
    await _move(db, receipt, situation)
    await db.receipts.set_rule(situation.rule, "root")
    return decision


def _decision(receipt: str, situation: Situation) -> Decision:
    more: dict[str, Any] = {
        "expected_version": situation.expected_version,
        "decision_id": f"of {receipt}" if situation.decision_id else None,
        "workers_stopped": situation.workers_stopped,
        "evidence": "the bank's list",
    }
    if situation.resolution == "applied":
        return applied(receipt, **more)
    return not_applied(receipt, **more)


async def _stand(db: Ledger, thread: str, receipt: str, decision: Decision, situation: Situation) -> None:
    """Something may be proposed already."""
    if situation.standing == "the same":
        await resolve(db.receipts, decision)
    elif situation.standing != "nothing":
        proposal = await proposed(db, applied(receipt, "ben"))
        changes = {
            "of ben": "select $1::text",
            "expired": "update proposals set expires_at = clock_timestamp() where thread_id = $1",
            "overtaken": "update receipts set version = version + 1, cause = 'retry' where thread_id = $1",
        }
        await db.connection.execute(changes[situation.standing], proposal.settlement.thread_id)


async def _move(db: Ledger, receipt: str, situation: Situation) -> None:
    """The receipt may have moved since."""
    if situation.moved == "no":
        return
    if situation.moved == "retrying":
        await db.connection.execute(
            "update receipts set retry_until = clock_timestamp() + interval '1 hour' where receipt_id = $1", receipt
        )
        return
    await db.connection.execute(
        "update receipts set state = 'completed', value = '\\x0031', settlements = 1, version = version + 1, cause = 'settle'"
        " where receipt_id = $1",
        receipt,
    )
    if situation.moved != "settled":
        await contest(db.receipts, Doubt(receipt, "no such charge", situation.moved.split()[-1]))

"""Four eyes: what one person proposes, another settles by its hash, exactly once and exactly so (design 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from intention_kernel.agent.effect import Manual
from intention_kernel.errors import IntentionKernelError
from intention_kernel.ports.approvals import (
    ApprovalRule,
    Closed,
    HashDiffers,
    NoSuchProposal,
    NotOpen,
    NotProposer,
    OtherProposal,
    Proposal,
    SelfApproval,
)
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.queue_work import Held
from intention_kernel.ports.receipt_ledger import Late, Settled, Settlement
from intention_kernel.postgres.operator_queue import PostgresQueue
from intention_kernel.reconciliation import approving, work
from intention_kernel.reconciliation.contest import Doubt, contest
from intention_kernel.reconciliation.queue import (
    Invalid,
    NeedsSecondPerson,
    Refused,
    Resolved,
    VersionChanged,
    WouldPropose,
    WouldResolve,
    resolve,
)
from intention_kernel.reconciliation.showing import show

from tests.postgres.watching import until_a_statement_waits
from tests.reconciliation.approval_bench import VALUE, applied, lines, not_applied, proposed, waiting
from tests.reconciliation.bench import Ledger, effect, ledger


async def approve(
    db: Ledger, proposal: Proposal, actor: str = "ben", reason: str | None = None
) -> approving.ApproveResult:
    """By the hash that the proposal has."""
    return await approving.approve(db.receipts, proposal.proposal_id, proposal.decision_hash, actor, reason)


async def at_once(db: Ledger, *acts: Coroutine[Any, Any, Any]) -> list[Any]:
    """Their answers, where the statements of all of them had been sent before any could go on."""
    async with db.connection.transaction():
        await db.connection.execute("select from receipts for update")
        tasks = [asyncio.create_task(act) for act in acts]
        await until_a_statement_waits(db.connection, len(tasks))
    return await asyncio.gather(*tasks)


async def test_what_one_proposes_another_settles_in_one_transaction(fresh_database: str) -> None:
    """I-330: as it was proposed, as the proposer's decision; the audit log has both."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt, reason_code="provider_confirms"))
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert await db.all("decisions") == []
        assert await db.outbox("turns.requests") == []
        answer = await approve(db, proposal, reason="it is there")
        assert answer == Resolved(1, 3)
        assert (await db.value(receipt), (await db.receipt(receipt))["reference"]) == (VALUE, "p-1")
        [made] = await db.all("decisions")
        assert (made["actor"], made["reason"], made["evidence"], made["reason_code"]) == (
            "ana",
            b"seen at the provider",
            b"e",
            "provider_confirms",
        )
        assert await lines(db) == [("ana", "propose"), ("ana", "settle"), ("ben", "approve")]
        assert len(await db.outbox("turns.requests")) == 1
        kept = await db.receipts.proposal(proposal.proposal_id)
        assert kept is not None
        assert (kept.state, kept.closed_by, kept.closing_reason) == ("approved", "ben", "it is there")
        writers = await db.connection.fetch(
            "select xmin::text from proposals union select xmin::text from decisions"
            " union select xmin::text from receipts union select xmin::text from audit_log where action = 'approve'"
        )
        assert len(writers) == 1
        assert await resolve(db.receipts, applied(receipt, reason_code="provider_confirms")) == Resolved(1, 3)


async def test_the_same_approval_again_is_the_same_and_another_persons_comes_too_late(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt))
        first = await approve(db, proposal)
        assert first == Resolved(1, 3)
        assert await approve(db, proposal) == first
        assert await approve(db, proposal, "cy") == NotOpen("approved")
        assert len(await db.all("decisions")) == 1
        assert [action for _, action in await lines(db)].count("approve") == 1


async def test_of_those_who_approve_at_once_one_does(fresh_database: str) -> None:
    """I-331: one settlement, one approval on record."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt))
        answers = await at_once(db, approve(db, proposal, "ben"), approve(db, proposal, "cy"))
        assert sorted(type(answer).__name__ for answer in answers) == ["NotOpen", "Resolved"]
        winner = "ben" if isinstance(answers[0], Resolved) else "cy"
        assert await lines(db) == [("ana", "propose"), ("ana", "settle"), (winner, "approve")]
        assert len(await db.all("decisions")) == 1


@pytest.mark.parametrize("first", ["resolver", "approver", "together"])
async def test_a_resolver_and_an_approver_settle_once(fresh_database: str, first: str) -> None:
    """R23: the receipt's state wins; what was proposed is overtaken then, and no more approvable."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt))
        resolvers = replace(
            proposal.settlement, actor="resolver:lookup", decision_id="resolvers", value=b'{"charge":"r"}'
        )
        if first == "together":
            settled, answer = await at_once(db, db.receipts.settle(resolvers), approve(db, proposal))
        elif first == "resolver":
            settled = await db.receipts.settle(resolvers)
            answer = await approve(db, proposal)
        else:
            answer = await approve(db, proposal)
            settled = await db.receipts.settle(resolvers)
        assert isinstance(settled, Settled) != isinstance(answer, Resolved)
        if first != "together":
            assert isinstance(answer, Resolved if first == "approver" else VersionChanged)
        kept = await db.receipts.proposal(proposal.proposal_id)
        assert kept is not None
        assert kept.state == ("approved" if isinstance(answer, Resolved) else "overtaken")
        assert await db.receipts.proposals(Scope(), 10) == ()
        assert len(await db.all("decisions")) == 1
        assert await db.value(receipt) == (VALUE if isinstance(answer, Resolved) else {"charge": "r"})


async def test_a_receipt_that_moved_overtakes_what_was_proposed_and_another_may_be(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        old = await proposed(db, applied(receipt))
        await db.connection.execute("update receipts set version = version + 1, cause = 'retry'")
        assert isinstance(await approve(db, old), VersionChanged)
        assert await approving.reject(db.receipts, old.proposal_id, "ben", "r") == NotOpen("overtaken")
        shown = await show(db.receipts, receipt)
        assert shown is not None
        assert shown.proposal is not None
        assert shown.proposal.state == "overtaken"
        fresh = await proposed(db, applied(receipt))
        assert fresh.decision_hash != old.decision_hash
        assert await approve(db, fresh) == Resolved(1, 4)


async def test_what_was_edited_is_not_what_was_approved(fresh_database: str) -> None:
    """I-332: the hash binds the decision; another value is another proposal, and what is stored is what was hashed."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        seen = await proposed(db, applied(receipt))
        assert isinstance(await approving.withdraw(db.receipts, seen.proposal_id, "ana"), Closed)
        other = await proposed(db, applied(receipt, value={"charge": "ch-10"}))
        stale = await approving.approve(db.receipts, other.proposal_id, seen.decision_hash, "ben")
        assert stale == HashDiffers()
        assert await db.receipts.approve(other.proposal_id, seen.decision_hash, "ben", None, None) == HashDiffers()
        edit = "update proposals set value = (select value from proposals where state = 'withdrawn') where state = 'proposed'"
        with pytest.raises(asyncpg.PostgresError, match="only appended to"):
            await db.connection.execute(edit)
        async with db.connection.transaction():
            await db.connection.execute("select set_config('intention.forgets', 'on', true)")
            await db.connection.execute(edit)
        assert await approve(db, other) == HashDiffers()
        assert (await db.receipt(receipt))["state"] == "uncertain"


async def test_nobody_approves_their_own_proposal(fresh_database: str) -> None:
    """I-333: the names decide, whatever they came by."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt))
        assert await approve(db, proposal, "ana") == SelfApproval()
        assert await approve(db, proposal, " ") == Invalid("who approves is needed")
        assert await approving.withdraw(db.receipts, proposal.proposal_id, "ben") == NotProposer("ana")
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert await lines(db) == [("ana", "propose")]


async def test_what_nobody_approves_in_time_expires_and_makes_room(fresh_database: str) -> None:
    """I-334: by the store's clock."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db, ApprovalRule("brief", expires_seconds=120))
        old = await proposed(db, applied(receipt))
        assert (old.expires_at - old.proposed_at).total_seconds() == pytest.approx(120, abs=1)
        await db.connection.execute("update proposals set expires_at = clock_timestamp()")
        assert await approve(db, old) == NotOpen("expired")
        assert await approving.reject(db.receipts, old.proposal_id, "ben", "r") == NotOpen("expired")
        assert await db.receipts.proposals(Scope(), 10) == ()
        fresh = await proposed(db, applied(receipt))
        assert fresh.proposal_id != old.proposal_id
        assert [kept.proposal_id for kept in await db.receipts.proposals(Scope(), 10)] == [fresh.proposal_id]
        assert await approve(db, old) == NotOpen("expired")
        assert await approve(db, fresh) == Resolved(1, 3)


async def test_one_decision_about_a_receipt_waits_at_a_time(fresh_database: str) -> None:
    """I-334: the same again is the same one; of those who propose at once one does."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        people = [f"person-{number}" for number in range(4)]
        answers = await asyncio.gather(*(resolve(db.receipts, applied(receipt, one)) for one in people))
        assert sorted(type(answer).__name__ for answer in answers) == ["NeedsSecondPerson"] + ["OtherProposal"] * 3
        [kept] = [answer.proposal for answer in answers if isinstance(answer, NeedsSecondPerson)]
        assert OtherProposal(kept.proposal_id, kept.proposer) in answers
        again = await proposed(db, applied(receipt, kept.proposer))
        assert again == kept
        other = await resolve(db.receipts, applied(receipt, kept.proposer, reason_code="other"))
        assert other == OtherProposal(kept.proposal_id, kept.proposer)
        assert await lines(db) == [(kept.proposer, "propose")]


async def test_a_callers_id_is_one_proposal_whatever_became_of_it(fresh_database: str) -> None:
    """A record that is delivered again after its proposal was rejected proposes nothing anew."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        decision = applied(receipt, decision_id="of-the-caller")
        first = await proposed(db, decision)
        await approving.reject(db.receipts, first.proposal_id, "ben", "no")
        again = await proposed(db, decision)
        assert (again.proposal_id, again.state, again.closed_by) == (first.proposal_id, "rejected", "ben")
        taken = await resolve(db.receipts, replace(decision, value={"charge": "other"}))
        assert taken == Invalid("another decision was proposed under this id")
        assert (await proposed(db, applied(receipt))).proposal_id != first.proposal_id


async def test_what_is_rejected_or_withdrawn_decides_nothing(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        assert await approving.reject(db.receipts, "none", "ben", "r") == NoSuchProposal()
        assert await approving.approve(db.receipts, "none", "h", "ben") == NoSuchProposal()
        first = await proposed(db, applied(receipt))
        assert isinstance(await approving.reject(db.receipts, first.proposal_id, "ben", " "), Invalid)
        done = await approving.reject(db.receipts, first.proposal_id, "ben", "the list is old")
        assert isinstance(done, Closed)
        assert (done.proposal.state, done.proposal.closed_by, done.proposal.closing_reason) == (
            "rejected",
            "ben",
            "the list is old",
        )
        assert await approving.reject(db.receipts, first.proposal_id, "ben", "the list is old") == done
        assert await approving.reject(db.receipts, first.proposal_id, "cy", "r") == NotOpen("rejected")
        assert await approve(db, first, "cy") == NotOpen("rejected")
        second = await proposed(db, applied(receipt))
        assert isinstance(await approving.withdraw(db.receipts, second.proposal_id, "ana"), Closed)
        assert await approve(db, second) == NotOpen("withdrawn")
        assert await lines(db) == [("ana", "propose"), ("ben", "reject"), ("ana", "propose"), ("ana", "withdraw")]
        assert (await db.receipt(receipt))["version"] == 2


async def test_nobody_proposes_or_approves_over_a_third_persons_claim(fresh_database: str) -> None:
    """I-335: as nobody decides over one; that of the two people themselves is in nobody's way."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        await work.claim(db.receipts, work.Task(receipt, "cy"), 60)
        assert isinstance(await resolve(db.receipts, applied(receipt)), Held)
        await work.release(db.receipts, work.Task(receipt, "cy"))
        await work.claim(db.receipts, work.Task(receipt, "ana"), 60)
        proposal = await proposed(db, applied(receipt))
        await work.takeover(db.receipts, work.Task(receipt, "cy"), "r", 60)
        held = await approve(db, proposal)
        assert isinstance(held, Held)
        assert held.owner == "cy"
        await work.takeover(db.receipts, work.Task(receipt, "ben"), "r", 60)
        assert await approve(db, proposal) == Resolved(1, 3)


async def test_not_applied_is_judged_again_when_it_is_approved(fresh_database: str) -> None:
    """I-336 (R22): what was admitted by the provider's window is not once that has closed; the proposal stays open."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db, returned=False, window_seconds=3600.0)
        proposal = await proposed(db, not_applied(receipt))
        assert proposal.settlement.not_after is None
        await db.connection.execute("update receipts set first_prepared_at = first_prepared_at - interval '2 hours'")
        refused = await approve(db, proposal)
        assert isinstance(refused, Refused)
        assert "never seen to end" in refused.verdict.reason
        kept = await db.receipts.proposal(proposal.proposal_id)
        assert kept is not None
        assert kept.state == "proposed"
        await db.connection.execute("update receipts set returned_at = call_deadline - interval '1 second'")
        assert await approve(db, proposal) == Resolved(1, 3)
        assert (await db.receipt(receipt))["state"] == "failed"


async def test_an_approval_that_comes_after_the_window_settles_nothing(fresh_database: str) -> None:
    """R22 a: `not_after` counts at the approval's own transaction."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db, returned=False, window_seconds=3600.0)
        proposal = await proposed(db, not_applied(receipt))
        past = proposal.proposed_at
        assert await db.receipts.approve(proposal.proposal_id, proposal.decision_hash, "ben", None, past) == Late()
        assert (await db.receipt(receipt))["state"] == "uncertain"


async def test_a_contest_has_its_second_person_by_r25_and_no_rule_asks_for_a_third(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        assert await approve(db, await proposed(db, applied(receipt))) == Resolved(1, 3)
        await contest(db.receipts, Doubt(receipt, "the bank has no such charge", "ben"))
        decided = await resolve(
            db.receipts, applied(receipt, "cy", value={"charge": "ch-8"}, evidence="the bank"), contested=True
        )
        assert isinstance(decided, Resolved)


async def test_a_disabled_rule_asks_nothing_and_what_waits_still_waits(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt))
        await db.receipts.set_rule(ApprovalRule("everything", enabled=False), "root")
        assert [rule.rule_id for rule in await db.receipts.rules()] == ["everything", "key-window-closed"]
        assert await resolve(db.receipts, applied(receipt, "cy")) == Resolved(1, 3)
        assert isinstance(await approve(db, proposal), VersionChanged)
        changes = [line for line in await db.all("audit_log") if line["action"] == "set_rule"]
        assert [line["actor"] for line in changes] == ["root", "root"]
        assert b'"enabled" : false' in changes[-1]["detail"] or b'"enabled":false' in changes[-1]["detail"]


async def test_without_its_audit_line_nothing_is_proposed_or_approved(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt))
        await db.connection.execute("alter table audit_log add constraint no_more check (false) not valid")
        before = [await db.all(table) for table in ("proposals", "receipts", "decisions", "approval_rules")]
        acts = (
            approve(db, proposal),
            approving.reject(db.receipts, proposal.proposal_id, "ben", "r"),
            approving.withdraw(db.receipts, proposal.proposal_id, "ana"),
            db.receipts.set_rule(ApprovalRule("another"), "root"),
        )
        for act in acts:
            with pytest.raises(IntentionKernelError, match="no_more"):
                await act
        assert before == [await db.all(table) for table in ("proposals", "receipts", "decisions", "approval_rules")]


async def test_a_dry_run_says_that_it_would_be_proposed_and_writes_nothing(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        before = [await db.all(table) for table in ("proposals", "receipts", "audit_log")]
        would = await resolve(db.receipts, applied(receipt), dry_run=True)
        assert isinstance(would, WouldPropose)
        assert before == [await db.all(table) for table in ("proposals", "receipts", "audit_log")]
        shown = await show(db.receipts, receipt)
        assert shown is not None
        assert would.consequences == shown.if_applied
        assert would.rules == shown.choices.applied_rules == ("everything",)
        proposal = await proposed(db, applied(receipt))
        assert (proposal.decision_hash, proposal.rules) == (would.decision_hash, would.rules)
        assert await approve(db, proposal) == Resolved(would.consequences.settlement, would.consequences.version)


async def test_a_key_that_is_forgotten_makes_not_applied_two_peoples(fresh_database: str) -> None:
    """I-337: by the store's clock at the look, and of what was certified when the receipt was prepared."""
    async with ledger(fresh_database) as db:
        open_window = await db.uncertain("open", returned=True, window_seconds=3600.0)
        closed = await db.uncertain("closed", returned=True, window_seconds=30.0)
        single = await db.uncertain("single", returned=True)
        assert await resolve(db.receipts, not_applied(open_window)) == Resolved(1, 3)
        assert await resolve(db.receipts, not_applied(single)) == Resolved(1, 3)
        proposal = await proposed(db, not_applied(closed))
        assert proposal.rules == ("key-window-closed",)
        shown = await show(db.receipts, closed)
        assert shown is not None
        assert (shown.key_window.state, shown.choices.not_applied_rules) == ("closed", ("key-window-closed",))
        assert shown.choices.applied_rules == ()
        assert await approve(db, proposal) == Resolved(1, 3)
        other = await db.uncertain("other", returned=True, window_seconds=30.0)
        assert await resolve(db.receipts, applied(other)) == Resolved(1, 3)


async def test_a_window_that_closes_between_look_and_write_lets_nobody_decide_alone(fresh_database: str) -> None:
    """I-337: a decision that is one person's while the window is open says until when."""
    async with ledger(fresh_database) as db:
        await db.receipts.set_rule(ApprovalRule("forgotten", window_closed=True), "root")
        receipt = await db.uncertain(returned=True, window_seconds=3600.0)
        decided = Recording(db.receipts)
        assert isinstance(await resolve(decided, applied(receipt), dry_run=True), WouldResolve)  # type: ignore[arg-type]
        shown = await show(db.receipts, receipt)
        assert shown is not None
        assert [one.not_after for one in decided.settlements] == [shown.key_window.relied_until]


async def test_what_is_forgotten_with_its_thread_is_its_proposals_too(fresh_database: str) -> None:
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        await approve(db, await proposed(db, applied(receipt)))
        await db.connection.execute("update reconciliation_items set phase = 'done'; delete from outbox")
        assert await db.connection.fetchval("select delete_thread_v1('t', 'root', 'r')") == "deleted"
        assert await db.all("proposals") == []


class Recording:
    """A queue that keeps what it was told to decide."""

    def __init__(self, queue: PostgresQueue) -> None:
        self._queue = queue
        self.settlements: list[Settlement] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._queue, name)

    async def decide(self, settlement: Settlement, **how: bool) -> object:
        self.settlements.append(settlement)
        return await self._queue.decide(settlement, **how)


async def test_a_value_is_checked_again_by_what_the_effect_declares_at_the_approval(fresh_database: str) -> None:
    """It was proposed where nobody knew the effect; the value is not told, which the approver may not see."""
    known = effect(Manual())
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        wrong = await proposed(db, applied(receipt, value={"charge": 4711}))
        by_hash = (wrong.proposal_id, wrong.decision_hash, "ben", None)
        refused = await approving.approve(db.receipts, *by_hash, lambda _agent, _effect: known)
        assert isinstance(refused, Invalid)
        assert "shop.charge" in refused.problem
        assert "4711" not in refused.problem
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert isinstance(await approving.reject(db.receipts, wrong.proposal_id, "ben", "no charge's id"), Closed)
        right = await proposed(db, applied(receipt))
        by_hash = (right.proposal_id, right.decision_hash, "ben", None)
        assert isinstance(await approving.approve(db.receipts, *by_hash, lambda _agent, _effect: known), Resolved)

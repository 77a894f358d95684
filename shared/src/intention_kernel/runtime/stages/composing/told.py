"""What has to be told beside capabilities' own words: refusals, failures, receipts in doubt, work that was given up."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.agent.results import CapabilityIssue, ResponseClaim
from intention_kernel.runtime.stages.composing.blocked import blocked_text, settled_text
from intention_kernel.runtime.stages.composing.canonical import Copy
from intention_kernel.runtime.stages.composing.claims import DECISION_EVIDENCE
from intention_kernel.runtime.stages.outcomes import StepIssue
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

BLOCKED_CODE = "EFFECT_UNCERTAIN"
_UNSUPPORTED = frozenset({"UNSUPPORTED_INTENTION", "CAPABILITY_NOT_REGISTERED"})


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence of ours about an effect; the receipt's id is its evidence."""

    receipt_id: str
    text: str

    def copy(self, *, required: bool) -> Copy:
        """The sentence as a whole is the claim."""
        return Copy(self.text, (ResponseClaim(self.text, (self.receipt_id,)),), required)


def notices_of_blocked(turn: TurnOutcome) -> tuple[Notice, ...]:
    """One for each receipt that a step of the turn waits for: the user is always told (protocol R32)."""
    found = (
        Notice(receipt.receipt_id, blocked_text(receipt.title, receipt.receipt_id))
        for _, result in turn.blocked
        for receipt in result.receipts
    )
    return tuple(dict.fromkeys(found))


def notice_of_settled(turn: TurnOutcome) -> Notice | None:
    """How the effect that a continuation is about has ended: as it was settled, or as an attempt after that left it.

    None where it is in doubt again: then a step is blocked on it, and that is told.
    """
    if turn.settled is None:
        return None
    receipt = turn.settled.receipt
    if receipt.receipt_id in {met.receipt_id for _, result in turn.blocked for met in result.receipts}:
        return None
    for outcome in turn.outcomes:
        receipt = next((met for met in outcome.receipts if met.receipt_id == receipt.receipt_id), receipt)
    return Notice(receipt.receipt_id, settled_text(turn.settled.title, receipt.receipt_id, receipt.state))


def issues_of(turn: TurnOutcome) -> tuple[StepIssue, ...]:
    """What went wrong in the turn, each once: what steps reported, what the plan refused, and what is in doubt."""
    doubtful = {outcome.step.id for outcome, _ in turn.blocked}
    reported = [issue for issue in turn.issues if issue.step_id not in doubtful]
    known = {issue.step_id for issue in reported}
    rejected = [
        StepIssue(step.id, CapabilityIssue(step.reason.code, step.reason.message))
        for step in turn.steps
        if step.disposition == "reject" and step.id not in known
    ]
    blocked = [
        StepIssue(outcome.step.id, CapabilityIssue(BLOCKED_CODE, blocked_text(receipt.title, receipt.receipt_id)))
        for outcome, result in turn.blocked
        for receipt in result.receipts
    ]
    return (*reported, *rejected, *blocked)


def issue_evidence(code: str) -> str:
    """The id under which an issue can be cited."""
    return f"issue:{code}"


def told_issues(turn: TurnOutcome) -> tuple[Copy, ...]:
    """The issues in the words that came with them, which may be shown; those of blocked steps have their notices."""
    fallback = turn.snapshot.view.agent.definition.response_fallbacks.unsupported_intention
    copies = []
    for issue in (entry.issue for entry in issues_of(turn) if entry.issue.code != BLOCKED_CODE):
        text = fallback if fallback is not None and issue.code in _UNSUPPORTED else issue.message
        copies.append(Copy(text, (ResponseClaim(text, (issue_evidence(issue.code),)),)))
    return tuple(copies)


def told_cancellations(turn: TurnOutcome) -> tuple[Copy, ...]:
    """What the user gave up, by its objective."""
    items = (turn.snapshot.view.state.item(item_id) for item_id in turn.cancelled_item_ids)
    texts = [f"Given up, as you asked: {item.intention.objective}" for item in items if item is not None]
    return tuple(Copy(text, (ResponseClaim(text, (DECISION_EVIDENCE,)),)) for text in texts)

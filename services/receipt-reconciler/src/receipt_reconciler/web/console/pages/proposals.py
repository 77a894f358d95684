"""`/proposals`: what waits for a second person, and what that person does."""

from __future__ import annotations

from intention_kernel.ports.approvals import (
    Closed,
    HashDiffers,
    NoSuchProposal,
    NotOpen,
    NotProposer,
    Proposal,
    SelfApproval,
)
from intention_kernel.ports.queue_work import Held
from intention_kernel.reconciliation import approving
from intention_kernel.reconciliation.masking import masked
from intention_kernel.reconciliation.queue import Invalid, NotFound, Refused, Resolved, VersionChanged
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.denials import note_denied
from receipt_reconciler.web.console.pages.reading import known_proposal, shown_receipt
from receipt_reconciler.web.console.pages.receipt import receipt_page
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.views.deciding import ProposalView, proposal_view
from receipt_reconciler.web.console.views.receipt import value_of
from receipt_reconciler.web.console.views.times import when

MOST = 200


async def proposals(ask: Ask) -> Response:
    """Open ones, the next to expire first."""
    found = await ask.desk.queue.proposals(ask.who.scope, MOST + 1)
    shown = tuple(_view(ask, one) for one in found[:MOST])
    return ask.page("proposals.html", proposals=shown, more=len(found) > MOST)


async def approve(ask: Ask) -> Response:
    """Exactly what was shown, by its hash."""
    proposal = await known_proposal(ask, ask.part("proposal_id"))
    answer = await approving.approve(
        ask.desk.queue,
        proposal.proposal_id,
        ask.form.text("hash"),
        ask.who.user,
        ask.form.optional("reason"),
        ask.desk.effect_of,
    )
    match answer:
        case Resolved():
            return ask.sent_on(f"/receipts/{proposal.receipt_id}", "approved")
        case NotFound() | NoSuchProposal():
            raise not_found("proposal")
        case VersionChanged(why=why):
            problem = why
        case Refused(verdict=verdict):
            problem = verdict.reason
        case Held(owner=owner, until=until):
            problem = f"{owner} works on it until {when(until, ask.clock.now()).exact}"
        case Invalid(problem=problem):
            pass
        case NotOpen() | HashDiffers() | SelfApproval():
            problem = approving.closing_problem(answer)
    if isinstance(answer, SelfApproval):
        await note_denied(ask.request, ask.desk, ask.who.user, "self approval", {"proposal": proposal.proposal_id})
    return await _refused(ask, proposal, problem, 403 if isinstance(answer, SelfApproval) else 409)


async def reject(ask: Ask) -> Response:
    """Nothing is decided."""
    proposal = await known_proposal(ask, ask.part("proposal_id"))
    reason = ask.form.line("reason")
    answer = await approving.reject(ask.desk.queue, proposal.proposal_id, ask.who.user, reason)
    return await _closed(ask, proposal, answer, "rejected")


async def withdraw(ask: Ask) -> Response:
    """Its proposer takes it back."""
    proposal = await known_proposal(ask, ask.part("proposal_id"))
    reason = ask.form.optional("reason")
    answer = await approving.withdraw(ask.desk.queue, proposal.proposal_id, ask.who.user, reason)
    return await _closed(ask, proposal, answer, "withdrawn")


async def _closed(ask: Ask, proposal: Proposal, answer: approving.CloseResult, said: str) -> Response:
    match answer:
        case Closed():
            return ask.sent_on(f"/receipts/{proposal.receipt_id}", said)
        case NoSuchProposal():
            raise not_found("proposal")
        case Invalid(problem=problem):
            return await _refused(ask, proposal, problem, 422)
        case NotOpen() | NotProposer():
            return await _refused(ask, proposal, approving.closing_problem(answer), 409)


async def _refused(ask: Ask, proposal: Proposal, problem: str, status: int) -> Response:
    fresh = await shown_receipt(ask, proposal.receipt_id)
    return receipt_page(ask, fresh, status=status, problem=f"Nothing was changed: {problem}.")


def _view(ask: Ask, proposal: Proposal) -> ProposalView:
    shown = {"value": masked(value_of(proposal.settlement.value))}
    return proposal_view(proposal, shown, ask.who.user, ask.clock.now())

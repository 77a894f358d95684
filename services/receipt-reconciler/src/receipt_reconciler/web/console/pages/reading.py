"""Reads a receipt for a page: what is out of the reader's scope is not there."""

from __future__ import annotations

from intention_kernel.agent.effect import Effect
from intention_kernel.ports.approvals import Proposal
from intention_kernel.reconciliation.showing import Shown, show

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.refusal import not_found


async def shown_receipt(ask: Ask, receipt_id: str) -> Shown:
    """Raises Refusal where there is none within reach."""
    shown = await show(ask.desk.queue, receipt_id, ask.desk.effect_of)
    if shown is None or not ask.who.scope.covers(shown.case.open.receipt.tenant_id, shown.case.open.receipt.effect_id):
        raise not_found("receipt")
    return shown


def effect_of(ask: Ask, shown: Shown) -> Effect | None:
    """What the application declares of the receipt's effect."""
    receipt = shown.case.open.receipt
    return ask.desk.effect_of(receipt.agent_id, receipt.effect_id)


async def known_proposal(ask: Ask, proposal_id: str) -> Proposal:
    """Raises Refusal where there is none within reach."""
    proposal = await ask.desk.queue.proposal(proposal_id)
    if proposal is None or not ask.who.scope.covers(proposal.tenant_id, proposal.effect_id):
        raise not_found("proposal")
    return proposal

"""The second person's operations, shared by every surface: approve, reject, withdraw (design 7).

What a proposal is about may change while it waits. "Not applied" is judged again (protocol R22), on everything that is known by
then, and a value by what the effect declares then: what is no longer admitted is refused with the reason, and the proposal stays
open. A receipt that moved, by a resolver,
a late answer or another decision, overtakes its proposal: nothing is approved any more, and another may be made.
"""

from __future__ import annotations

from datetime import datetime

from intention_kernel.agent.effect import Effect
from intention_kernel.contracts.json_codec import loads
from intention_kernel.ports.approvals import (
    ApproveAnswer,
    CloseAnswer,
    DecidingQueue,
    HashDiffers,
    NoSuchProposal,
    NotOpen,
    NotProposer,
    Proposal,
    SelfApproval,
)
from intention_kernel.ports.operator_queue import Decides
from intention_kernel.ports.queue_work import Held
from intention_kernel.ports.receipt_ledger import Changed, Late
from intention_kernel.reconciliation.admissible import NotAdmitted, terms_of
from intention_kernel.reconciliation.judging import verdict
from intention_kernel.reconciliation.proposing import is_what_it_was
from intention_kernel.reconciliation.queue import (
    Invalid,
    NotFound,
    Refused,
    Resolved,
    VersionChanged,
    declared,
    told,
)
from intention_kernel.reconciliation.results import result_problem
from intention_kernel.reconciliation.workbench import EffectOf

ApproveResult = (
    Resolved
    | NoSuchProposal
    | NotOpen
    | HashDiffers
    | SelfApproval
    | VersionChanged
    | Held
    | Refused
    | NotFound
    | Invalid
)
CloseResult = CloseAnswer | Invalid


async def approve(
    queue: DecidingQueue,
    proposal_id: str,
    decision_hash: str,
    actor: str,
    reason: str | None = None,
    effect_of: EffectOf | None = None,
) -> ApproveResult:
    """Settle as was proposed, if that is what has this hash, by another person than its proposer, and it is admitted now.

    A claim of the proposer's or of the approver's stands in nobody's way. The same approval again answers the same.
    """
    if not actor.strip():
        return Invalid("who approves is needed")
    proposal = await queue.proposal(proposal_id)
    if proposal is None:
        return NoSuchProposal()
    if decision_hash != proposal.decision_hash or not is_what_it_was(proposal):
        return HashDiffers()
    admitted = await _admitted(queue, proposal, effect_of)
    if isinstance(admitted, (Refused, Invalid)):
        return admitted
    return _approved(await queue.approve(proposal_id, decision_hash, actor, reason, admitted))


async def reject(queue: DecidingQueue, proposal_id: str, actor: str, reason: str) -> CloseResult:
    """Nothing is decided, and the receipt waits as before."""
    for name, text in (("a reason", reason), ("who rejects", actor)):
        if not text.strip():
            return Invalid(f"{name} is needed")
    return await queue.reject(proposal_id, actor, reason)


async def withdraw(queue: DecidingQueue, proposal_id: str, actor: str, reason: str | None = None) -> CloseResult:
    """Its proposer takes it back; nothing is decided."""
    if not actor.strip():
        return Invalid("who withdraws is needed")
    return await queue.withdraw(proposal_id, actor, reason)


def closing_problem(answer: NoSuchProposal | NotOpen | NotProposer | HashDiffers | SelfApproval) -> str:
    """Why nothing was closed or approved, in words."""
    match answer:
        case NoSuchProposal():
            return "nothing is proposed"
        case NotOpen(state=state):
            return f"the proposal is {state}"
        case NotProposer(proposer=proposer):
            return f"only {proposer} withdraws what {proposer} proposed; others reject it"
        case HashDiffers():
            return "what is proposed has another hash: look at it again"
        case SelfApproval():
            return "nobody approves their own proposal"


async def _admitted(
    queue: DecidingQueue, proposal: Proposal, effect_of: EffectOf | None
) -> datetime | Refused | Invalid | None:
    """Until when it may be settled; None: at any time. What is over already is the store's to answer."""
    if proposal.state != "proposed":
        return None
    case = await queue.case(proposal.receipt_id)
    if case is None or case.open.receipt.version != proposal.settlement.seen_version:
        return None
    effect = declared(case, effect_of)
    if proposal.settlement.resolution == "applied":
        return None if effect is None else _misfit(effect, proposal.settlement.value)
    judged = verdict(case, terms_of(effect))
    return Refused(judged) if isinstance(judged, NotAdmitted) else judged.not_after


def _misfit(effect: Effect, value: bytes | None) -> Invalid | None:
    """It may have been proposed where nobody knew the effect, or another build did. The value itself may be a secret."""
    problem = result_problem(effect, None if value is None else loads(value))
    return None if problem is None else Invalid(f"the proposed value is not a result of {effect.id}")


def _approved(answer: ApproveAnswer) -> ApproveResult:
    match answer:
        case Decides() | Held() | Changed() | Late():
            return told(answer)
        case _:
            return answer

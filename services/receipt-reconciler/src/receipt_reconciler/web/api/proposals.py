"""Routes of four eyes: what waits for a second person, and what that person does."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
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
from intention_kernel.reconciliation.document import proposal_document
from intention_kernel.reconciliation.masking_documents import masked_proposal
from intention_kernel.reconciliation.queue import Invalid, NotFound, Refused, Resolved, VersionChanged
from pydantic import Field
from starlette.responses import Response

from receipt_reconciler.web.api import outcomes
from receipt_reconciler.web.api.answering import answer
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.idempotency import IdempotencyKey
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.reach import case_of
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, ProposalList, ProposalShape, Settled

MOST_PROPOSALS = 200

router: APIRouter = router_of("proposals")
Reader = Annotated[Caller, needs("receipts:read")]
Approver = Annotated[Caller, needs("receipts:approve", changes=True)]


class ApproveBody(Body):
    """What you approve: `decisionHash` of the proposal as you read it."""

    decision_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    reason: Annotated[str | None, Field(max_length=10_000)] = None


class RejectBody(Body):
    """Why."""

    reason: Annotated[str, Field(min_length=1, max_length=10_000, examples=["that charge is of another order"])]


class WithdrawBody(Body):
    """Why, if you like."""

    reason: Annotated[str | None, Field(max_length=10_000)] = None


@router.get("/proposals", operation_id="listProposals", response_model=ProposalList)
async def list_proposals(
    caller: Reader, limit: Annotated[int, Query(ge=1, le=MOST_PROPOSALS, description="How many at most")] = 50
) -> Response:
    """Decisions that wait for a second person, the next to expire first."""
    found = await caller.desk.queue.proposals(caller.who.scope, limit + 1)
    shown = [masked_proposal(proposal_document(one)) for one in found[:limit]]
    return answer({"items": [*shown], "complete": len(found) <= limit})


@router.get("/proposals/{proposal:id}", operation_id="getProposal", response_model=ProposalShape)
async def get_proposal(proposal: str, caller: Reader) -> Response:
    """One, open or over."""
    return answer(masked_proposal(proposal_document(await _proposal(caller, proposal))))


@router.post("/proposals/{proposal:id}/approve", operation_id="approveProposal", response_model=Settled)
async def approve(proposal: str, body: ApproveBody, caller: Approver, key: IdempotencyKey) -> Response:
    """Settle what is proposed, if that is what you read, as another person than its proposer."""
    del key  # the same approval again answers the same, and another is none
    found, desk = await _proposal(caller, proposal), caller.desk
    told = await approving.approve(desk.queue, proposal, body.decision_hash, caller.name, body.reason, desk.effect_of)
    match told:
        case Resolved(settlement=settlement, version=version):
            return answer({"settlement": settlement, "version": version})
        case VersionChanged(why=why):
            receipt = (await case_of(caller, found.receipt_id)).open.receipt
            raise ProblemError("version_conflict", outcomes.sentence(why), version=receipt.version, state=receipt.state)
        case Held() as by:
            raise outcomes.held(by)
        case Refused(verdict=verdict):
            raise outcomes.not_admitted(verdict)
        case NotFound():
            raise await caller.not_found()
        case Invalid(problem=problem):
            raise outcomes.invalid(problem)
        case other:
            raise await _not_closed(caller, other)


@router.post("/proposals/{proposal:id}/reject", operation_id="rejectProposal", response_model=ProposalShape)
async def reject(proposal: str, body: RejectBody, caller: Approver, key: IdempotencyKey) -> Response:
    """Nothing is decided; the receipt waits as before."""
    del key
    await _proposal(caller, proposal)
    return await _closed(caller, await approving.reject(caller.desk.queue, proposal, caller.name, body.reason))


@router.post("/proposals/{proposal:id}/withdraw", operation_id="withdrawProposal", response_model=ProposalShape)
async def withdraw(
    proposal: str,
    body: WithdrawBody,
    caller: Annotated[Caller, needs("receipts:resolve", changes=True)],
    key: IdempotencyKey,
) -> Response:
    """Its proposer takes it back."""
    del key
    await _proposal(caller, proposal)
    return await _closed(caller, await approving.withdraw(caller.desk.queue, proposal, caller.name, body.reason))


async def _proposal(caller: Caller, proposal_id: str) -> Proposal:
    found = await caller.desk.queue.proposal(proposal_id)
    if found is None:
        raise await caller.not_found()
    if not caller.who.scope.covers(found.tenant_id, found.effect_id):
        raise await caller.not_found(out_of_reach=True)
    return found


async def _closed(caller: Caller, told: approving.CloseResult) -> Response:
    match told:
        case Closed(proposal=proposal):
            return answer(masked_proposal(proposal_document(proposal)))
        case Invalid(problem=problem):
            raise outcomes.invalid(problem)
        case other:
            raise await _not_closed(caller, other)


async def _not_closed(
    caller: Caller, why: NoSuchProposal | NotOpen | NotProposer | HashDiffers | SelfApproval
) -> ProblemError:
    words = outcomes.sentence(approving.closing_problem(why))
    match why:
        case NoSuchProposal():
            return await caller.not_found()
        case NotOpen(state=state):
            return ProblemError("closed", words, state=state)
        case HashDiffers():
            return ProblemError("hash_differs", words)
        case NotProposer(proposer=proposer):
            await caller.refuse("withdrawal of another's proposal", {})
            return ProblemError("not_proposer", words, proposer=proposer)
        case SelfApproval():
            await caller.refuse("self approval", {})
            return ProblemError("self_approval", words)

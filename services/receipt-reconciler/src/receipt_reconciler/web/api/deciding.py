"""Routes of decisions: make or propose one, contest what was settled, decide a contest."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.approvals import OtherProposal
from intention_kernel.ports.queue_work import Held
from intention_kernel.reconciliation.contest import ContestOpened, Doubt
from intention_kernel.reconciliation.contest import contest as contest_it
from intention_kernel.reconciliation.document import consequences_document, proposal_document
from intention_kernel.reconciliation.masking_documents import masked_proposal
from intention_kernel.reconciliation.queue import (
    Decision,
    Invalid,
    NeedsSecondPerson,
    NotFound,
    Refused,
    ResolveAnswer,
    Resolved,
    VersionChanged,
    WouldPropose,
    WouldResolve,
    resolve,
)
from pydantic import Field
from pydantic import JsonValue as AnyJson
from starlette.requests import Request
from starlette.responses import Response

from receipt_reconciler.web.api import outcomes
from receipt_reconciler.web.api.answering import answer, seen_version
from receipt_reconciler.web.api.callers import Caller, needs, refuse_where_read_only
from receipt_reconciler.web.api.idempotency import IdempotencyKey, Key, key_of, refuse_reuse
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.reach import case_of
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, ContestMade, DecisionMade

router: APIRouter = router_of("decisions")
Resolver = Annotated[Caller, needs("receipts:resolve")]
IfMatch = Annotated[
    str,
    Header(alias="If-Match", description='The ETag of the receipt as you read it, or `"r` with its version and `"`'),
]
DryRun = Annotated[bool, Query(alias="dryRun", description="The same path, with nothing written")]
Reason = Annotated[str, Field(min_length=1, max_length=10_000, examples=["it is in the bank's list"])]


class DecisionBody(Body):
    """What you concluded. `value` and `reference` are of what was applied; `workersStopped` is your statement, kept in the audit
    log, that no process can send the call any more."""

    resolution: Literal["applied", "not_applied"]
    reason: Reason
    value: Annotated[AnyJson, Field(examples=[{"charge": "ch-9"}])] = None
    reference: Annotated[str | None, Field(max_length=2_000, examples=["re_3Q"])] = None
    reason_code: Annotated[str | None, Field(max_length=200, examples=["provider_confirms"])] = None
    evidence: Annotated[str | None, Field(max_length=10_000, examples=["https://bank.example/list"])] = None
    workers_stopped: bool = False


class ContestBody(Body):
    """What is wrong."""

    reason: Reason


@router.post(
    "/receipts/{receipt:id}/decisions",
    operation_id="decideReceipt",
    response_model=DecisionMade,
    responses={202: {"model": DecisionMade, "description": "Proposed: a rule asks for a second person"}},
)
async def decide(
    request: Request, receipt: str, body: DecisionBody, caller: Resolver, if_match: IfMatch, *, dry_run: DryRun = False
) -> Response:
    """Settle an uncertain receipt, if it is as you read it; where a rule asks for a second person, propose it.

    Needs an `Idempotency-Key`, except with `dryRun`, which takes the same path and writes nothing.
    """
    return await _decided(request, caller, receipt, body, if_match, contested=False, dry_run=dry_run)


@router.post("/receipts/{receipt:id}/contest-decisions", operation_id="decideContest", response_model=DecisionMade)
async def decide_contest(
    request: Request, receipt: str, body: DecisionBody, caller: Resolver, if_match: IfMatch, *, dry_run: DryRun = False
) -> Response:
    """Decide what another person contested, or an answer contradicts: on evidence."""
    return await _decided(request, caller, receipt, body, if_match, contested=True, dry_run=dry_run)


@router.post("/receipts/{receipt:id}/contest", operation_id="contestReceipt", response_model=ContestMade)
async def contest(
    receipt: str,
    body: ContestBody,
    caller: Annotated[Caller, needs("receipts:resolve", changes=True)],
    key: IdempotencyKey,
    if_match: IfMatch,
) -> Response:
    """Say that a settlement is wrong: no attempt is made and its value is not handed out, until another person decides."""
    version = seen_version(if_match)
    case = await case_of(caller, receipt)
    contest_id = key.decision(caller.name, {"reason": body.reason})
    refuse_reuse((seen.reference or "" for seen in case.observations if seen.finding == "contested"), contest_id)
    doubt = Doubt(receipt, body.reason, caller.name, version, contest_id)
    match await contest_it(caller.desk.queue, doubt):
        case ContestOpened(version=now):
            return answer({"version": now})
        case Held() as by:
            raise outcomes.held(by)
        case VersionChanged(why=why):
            raise await _changed(caller, receipt, version, why)
        case Invalid(problem=problem):
            raise outcomes.invalid(problem)
        case NotFound():
            raise await caller.not_found()


async def _decided(
    request: Request,
    caller: Caller,
    receipt_id: str,
    body: DecisionBody,
    if_match: str,
    *,
    contested: bool,
    dry_run: bool,
) -> Response:
    decision_id = None
    version = seen_version(if_match)
    if not dry_run:
        refuse_where_read_only(caller)
        decision_id = await _decision_id(caller, receipt_id, body, key_of(request))
    else:
        await case_of(caller, receipt_id)
    decision = Decision(
        receipt_id=receipt_id,
        resolution=body.resolution,
        reason=body.reason,
        actor=caller.name,
        value=body.value,
        reference=body.reference,
        reason_code=body.reason_code,
        evidence=body.evidence,
        workers_stopped=body.workers_stopped,
        expected_version=version,
        decision_id=decision_id,
    )
    desk = caller.desk
    told = await resolve(desk.queue, decision, desk.effect_of, contested=contested, dry_run=dry_run)
    return await _told(caller, receipt_id, version, told)


async def _decision_id(caller: Caller, receipt_id: str, body: DecisionBody, key: Key) -> str:
    case = await case_of(caller, receipt_id)
    decision_id = key.decision(caller.name, body.model_dump(by_alias=True))
    refuse_reuse((made.decision_id for made in case.decisions), decision_id)
    return decision_id


async def _told(caller: Caller, receipt_id: str, version: int, told: ResolveAnswer) -> Response:
    match told:
        case Resolved(settlement=settlement, version=now):
            return answer({"outcome": "resolved", "settlement": settlement, "version": now})
        case NeedsSecondPerson(proposal=proposal):
            proposed = masked_proposal(proposal_document(proposal))
            return answer({"outcome": "proposed", "proposal": proposed}, 202)
        case WouldResolve(consequences=follows):
            return answer({"outcome": "would_resolve", "consequences": consequences_document(follows)})
        case WouldPropose(consequences=follows, rules=rules, decision_hash=decision_hash):
            return answer(_would_propose(consequences_document(follows), rules, decision_hash))
        case VersionChanged(why=why):
            raise await _changed(caller, receipt_id, version, why)
        case OtherProposal() as other:
            raise outcomes.other_proposal(other)
        case Held() as by:
            raise outcomes.held(by)
        case Refused(verdict=verdict):
            raise outcomes.not_admitted(verdict)
        case Invalid(problem=problem):
            raise outcomes.invalid(problem)
        case NotFound():
            raise await caller.not_found()


def _would_propose(follows: JsonValue, rules: tuple[str, ...], decision_hash: str) -> JsonValue:
    return {
        "outcome": "would_propose",
        "consequences": follows,
        "rules": list(rules),
        "decisionHash": decision_hash,
    }


async def _changed(caller: Caller, receipt_id: str, seen: int, why: str) -> ProblemError:
    """What it is now. 412 where the tag is not that of the receipt any more, 409 where it is and nothing can be decided."""
    receipt = (await case_of(caller, receipt_id)).open.receipt
    code = outcomes.stale_or_conflict(seen, receipt.version)
    return ProblemError(code, outcomes.sentence(why), version=receipt.version, state=receipt.state)

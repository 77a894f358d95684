"""Routes of what was given up: set-aside turns and rejected requests, to be redriven or dropped."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from intention_kernel.ports.redrives import (
    DropAnswer,
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    RedriveRecordAnswer,
    RedriveTurnAnswer,
    Ruling,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
)
from intention_kernel.reconciliation import given_up
from intention_kernel.reconciliation.masking_documents import masked_given_up
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from receipt_reconciler.web.api.answering import answer, page
from receipt_reconciler.web.api.callers import Caller, needs, refuse_where_read_only
from receipt_reconciler.web.api.idempotency import IdempotencyKey, key_of
from receipt_reconciler.web.api.outcomes import sentence
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.receipts import Cursor, Limit
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, Document, DocumentPage

router: APIRouter = router_of("rejected")
Reader = Annotated[Caller, needs("turns:read")]


class RedriveBody(Body):
    """Why; and that you know that its thread went on, and it may run after those turns."""

    reason: Annotated[str, Field(max_length=10_000, examples=["the shop's API is back"])] = ""
    after_later_turns: bool = False


class DropBody(Body):
    """Why."""

    reason: Annotated[str, Field(min_length=1, max_length=10_000, examples=["the customer called"])]


@router.get("/rejected", operation_id="listRejected", response_model=DocumentPage)
async def list_rejected(request: Request, caller: Reader, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """Set-aside turns and rejected requests, the newest first, settled ones too."""
    found = await given_up.list_given_up(caller.desk.conversations, caller.who.scope, cursor=cursor, limit=limit)
    if isinstance(found, given_up.BadCursor):
        raise ProblemError("bad_cursor")
    return page(request.url, [masked_given_up(document) for document in found.documents], found.cursor)


@router.get("/rejected/{record:id}", operation_id="getRejected", response_model=Document)
async def get_rejected(record: str, caller: Reader) -> Response:
    """One of them; its record's bytes are masked. Its id has slashes, which are %2F in a path."""
    found = await given_up.find_given_up(caller.desk.conversations, record, caller.who.scope)
    if found is None:
        raise await caller.not_found()
    return answer(masked_given_up(found.document))


@router.post("/rejected/{record:id}/redrive", operation_id="redrive", response_model=Document)
async def redrive(
    request: Request,
    record: str,
    body: RedriveBody,
    caller: Annotated[Caller, needs("turns:redrive")],
    *,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Only say what would happen")] = False,
) -> Response:
    """Send it again as it came. Refused while nobody knows what became of one of its receipts, and, where its thread went on,
    without `afterLaterTurns`. Needs an `Idempotency-Key`, except with `dryRun`."""
    ruling = Ruling(UUID(int=0) if dry_run else _decision_id(request, caller, body), caller.name, body.reason)
    told = await given_up.redrive(
        caller.desk.conversations,
        caller.desk.redrives,
        record,
        caller.who.scope,
        ruling,
        after_later_turns=body.after_later_turns,
        dry_run=dry_run,
    )
    return await _told(caller, record, told, dry_run=dry_run)


@router.post("/rejected/{record:id}/drop", operation_id="drop", response_model=Document)
async def drop(
    record: str,
    body: DropBody,
    caller: Annotated[Caller, needs("turns:redrive", changes=True)],
    key: IdempotencyKey,
) -> Response:
    """Give it up for ever. A set-aside turn's receipts stay as they are."""
    ruling = Ruling(key.decision_uuid(caller.name, body.model_dump()), caller.name, body.reason)
    desk = caller.desk
    told = await given_up.drop(desk.conversations, desk.redrives, record, caller.who.scope, ruling)
    return await _told(caller, record, told)


def _decision_id(request: Request, caller: Caller, body: RedriveBody) -> UUID:
    refuse_where_read_only(caller)
    return key_of(request).decision_uuid(caller.name, body.model_dump())


async def _told(
    caller: Caller,
    record: str,
    told: RedriveTurnAnswer | RedriveRecordAnswer | DropAnswer,
    *,
    dry_run: bool = False,
) -> Response:
    match told:
        case TurnRedriven() | RecordRedriven() | Dropped():
            return answer(given_up.outcome_document(record, told, dry_run=dry_run))
        case NoSuchRecord():
            raise await caller.not_found()
        case NotOpen(state=state):
            raise ProblemError("closed", f"It is {state}.", state=state)
        case Unsendable(problem=problem):
            raise ProblemError("not_possible", sentence(problem))
        case ReceiptsOpen():
            words = "Nobody knows what became of one of its receipts: decide that first."
        case WouldRunLate():
            words = "Its thread went on: `afterLaterTurns` says that it may run late."
    raise ProblemError("not_possible", words, turn=given_up.outcome_document(record, told))

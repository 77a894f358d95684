"""Routes of receipts: the queue's list, one with its whole story, and its real values for a reason."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from intention_kernel.ports.receipt_ledger import Unknown
from intention_kernel.reconciliation.document import item_document, shown_document
from intention_kernel.reconciliation.filtering import FilterProblem
from intention_kernel.reconciliation.listing import BadCursor, list_items
from intention_kernel.reconciliation.masking_documents import masked_item, masked_shown
from intention_kernel.reconciliation.revealing import NoReason, Revealed
from intention_kernel.reconciliation.revealing import reveal as reveal_it
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from receipt_reconciler.web.api.answering import answer, page, receipt_answer
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.idempotency import IdempotencyKey
from receipt_reconciler.web.api.outcomes import invalid, sentence
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.reach import shown_of
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, ItemPage, ReceiptShape

MOST_ITEMS = 200

router: APIRouter = router_of("receipts")
Reader = Annotated[Caller, needs("receipts:read")]
Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="How many at most")]
Cursor = Annotated[str | None, Query(max_length=4_000, description="`cursor` of the page before, as it is")]


class RevealBody(Body):
    """Why the real values are needed; it is kept in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=2_000, examples=["the customer disputes the amount"])]


@router.get("/receipts", operation_id="listReceipts", response_model=ItemPage)
async def list_receipts(
    request: Request,
    caller: Reader,
    q: Annotated[str, Query(description="A filter (docs/queue.md)", examples=["status:uncertain owner:none"])] = "",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """What waits, in the order of need. Without a word of it what is done, and what is snoozed, is left out."""
    found = await list_items(
        caller.desk.queue, q, reader=caller.name, scope=caller.who.scope, cursor=cursor, limit=limit
    )
    match found:
        case FilterProblem(position=position, message=message, suggestion=suggestion):
            raise ProblemError("invalid_filter", sentence(message), position=position, suggestion=suggestion)
        case BadCursor():
            raise ProblemError("bad_cursor")
        case listed:
            shown = [masked_item(item_document(item), words=_reads_words(caller)) for item in listed.items]
            return page(request.url, shown, listed.cursor)


@router.get(
    "/receipts/{receipt:id}",
    operation_id="getReceipt",
    response_model=ReceiptShape,
    responses={304: {"description": "As `If-None-Match` says you have it"}},
)
async def get_receipt(request: Request, receipt: str, caller: Reader) -> Response:
    """Its whole story, what may be decided now and what will happen then. Values are masked: their shapes are shown.

    The ETag is what a decision sends as If-Match.
    """
    shown = await shown_of(caller, receipt)
    document = masked_shown(shown_document(shown), words=_reads_words(caller))
    return receipt_answer(document, shown.case.open.receipt.version, request.headers)


@router.post("/receipts/{receipt:id}/reveal", operation_id="revealReceipt", response_model=ReceiptShape)
async def reveal(
    receipt: str,
    body: RevealBody,
    caller: Annotated[Caller, needs("payload:reveal", changes=True)],
    key: IdempotencyKey,
) -> Response:
    """The same with its real values. Who saw them, and why, is an audit line of its own each time."""
    del key  # that somebody looks twice is two facts
    shown = await shown_of(caller, receipt)
    told = await reveal_it(caller.desk.conversations, receipt, caller.who.scope, caller.name, body.reason)
    match told:
        case Revealed():
            return answer(shown_document(shown))
        case NoReason():
            raise invalid("a reason is needed")
        case Unknown():
            raise await caller.not_found()


def _reads_words(caller: Caller) -> bool:
    """Who works on receipts has to know why they are there."""
    return caller.who.may("receipts:work")

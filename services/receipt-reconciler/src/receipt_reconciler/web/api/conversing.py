"""Routes of conversations: threads, their turns, what those came to, and their events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from intention_kernel.ports.conversations import Document
from intention_kernel.reconciliation.masking_documents import masked_event, masked_thread, masked_trace, masked_turn
from intention_kernel.reconciliation.trace import trace_document
from intention_kernel.reconciliation.trace_events import listed, members
from starlette.responses import Response

from receipt_reconciler.web.api.answering import answer
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Document as DocumentShape
from receipt_reconciler.web.api.shapes import EventPageShape

MOST_EVENTS = 500
LARGEST = 2**63 - 1

router: APIRouter = router_of("conversations")
Reader = Annotated[Caller, needs("turns:read")]


@router.get("/threads/{thread:id}", operation_id="getThread", response_model=DocumentShape)
async def get_thread(
    thread: str,
    caller: Reader,
    before: Annotated[int | None, Query(ge=0, le=LARGEST, description="`nextBefore` of the page before")] = None,
) -> Response:
    """Its head, memory, unsettled receipts, what waits for which receipt, and its last turns; older ones with `before`.

    Values are masked: their shapes are shown.
    """
    found = await caller.desk.conversations.thread(thread, caller.who.scope, before=before)
    if found is None:
        raise await caller.not_found()
    return answer(masked_thread(found))


@router.get("/threads/{thread:id}/events", operation_id="listEvents", response_model=EventPageShape)
async def list_events(
    thread: str,
    caller: Reader,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="The sequence of the last one that you have")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS, description="How many at most")] = 100,
) -> Response:
    """Committed events with a sequence over `after`, in their order; values are masked."""
    found = await caller.desk.conversations.events(thread, caller.who.scope, after=after, limit=limit)
    if found is None:
        raise await caller.not_found()
    shown = [masked_event(event) for event in found.events]
    return answer({"items": [*shown], "after": found.after, "more": found.more})


@router.get("/turns/{thread:id}/{turn:id}", operation_id="getTurn", response_model=DocumentShape)
async def get_turn(thread: str, turn: str, caller: Reader) -> Response:
    """A turn that is committed, in progress or set aside; values are masked."""
    return answer(masked_turn(await _turn(caller, thread, turn)))


@router.get("/turns/{thread:id}/{turn:id}/trace", operation_id="getTrace", response_model=DocumentShape)
async def get_trace(thread: str, turn: str, caller: Reader) -> Response:
    """What happened in it as a tree with times, and proposal, plan and what happened side by side; values are masked."""
    found = await _turn(caller, thread, turn)
    receipts = [members(receipt) for receipt in listed(found.get("receipts"))]
    return answer(masked_trace(trace_document(listed(found.get("events")), receipts)))


async def _turn(caller: Caller, thread: str, turn: str) -> Document:
    found = await caller.desk.conversations.turn(thread, turn, caller.who.scope)
    if found is None:
        raise await caller.not_found()
    return found

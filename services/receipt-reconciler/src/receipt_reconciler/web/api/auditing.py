"""Routes of the audit log: a page of it, and all of it as lines of JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ports.queue_work import AuditLine, AuditQuery
from intention_kernel.reconciliation.document import audit_document
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from receipt_reconciler.web.api.answering import page
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.cursors import cursor_of, read_cursor
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.reach import case_of
from receipt_reconciler.web.api.receipts import Cursor, Limit
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import LinePage

_EXPORTED_AT_ONCE = 1_000

router: APIRouter = router_of("audit")
ReceiptId = Annotated[str | None, Query(max_length=512, description="Only lines of this receipt")]
Actor = Annotated[str | None, Query(max_length=512, description="Only what this person or resolver did")]
Action = Annotated[str | None, Query(max_length=512, description="Only this action, such as settle or claim")]


@router.get("/audit", operation_id="listAudit", response_model=LinePage)
async def list_audit(
    request: Request,
    caller: Annotated[Caller, needs("receipts:read")],
    receipt: ReceiptId = None,
    actor: Actor = None,
    action: Action = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Who did what, the newest first. Lines of people's access (sign-ins, users, tokens, refused attempts) are for those who may
    export the log; with a reach that is bounded, there are the lines of receipts within it."""
    query = await _query(caller, receipt, actor, action)
    found = await caller.desk.queue.audit(replace(query, before=_before(cursor), limit=limit + 1))
    more = len(found) > limit
    return page(
        request.url,
        [audit_document(line) for line in found[:limit]],
        cursor_of([found[limit - 1].id]) if more else None,
    )


@router.get(
    "/audit/export",
    operation_id="exportAudit",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Lines of JSON, the newest first; a connection that ends without the last chunk is incomplete",
            "content": {"application/jsonl": {"schema": {"type": "string"}}},
        }
    },
)
async def export_audit(
    caller: Annotated[Caller, needs("audit:export")],
    receipt: ReceiptId = None,
    actor: Actor = None,
    action: Action = None,
) -> Response:
    """All of it, a line of JSON each, the newest first."""
    query = replace(await _query(caller, receipt, actor, action), limit=_EXPORTED_AT_ONCE)
    first = await caller.desk.queue.audit(query)
    return StreamingResponse(_lines(caller, query, first), media_type="application/jsonl")


async def _lines(caller: Caller, query: AuditQuery, found: tuple[AuditLine, ...]) -> AsyncIterator[bytes]:
    """As fast as they are read: the next lines are asked for once these are taken."""
    while found:
        yield b"".join(dumps(audit_document(line)) + b"\n" for line in found)
        if len(found) < query.limit or caller.desk.stopping.is_set():
            return
        found = await caller.desk.queue.audit(replace(query, before=found[-1].id))


async def _query(caller: Caller, receipt: str | None, actor: str | None, action: str | None) -> AuditQuery:
    if receipt is not None:
        await case_of(caller, receipt)
    scope, everything = caller.who.scope, caller.who.may("audit:export")
    return AuditQuery(receipt, actor, action, scope=scope, of_access=everything)


def _before(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    match read_cursor(cursor):
        case [int(line)] if 0 <= line < 2**63:
            return line
        case _:
            raise ProblemError("bad_cursor")

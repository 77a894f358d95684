"""`/audit`: who did what, and the whole of it as lines of JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ports.queue_work import AuditQuery
from intention_kernel.reconciliation.document import audit_document
from starlette.responses import Response, StreamingResponse

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.pages.reading import shown_receipt
from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.views.story import audited

PAGE = 100
_EXPORTED_AT_ONCE = 1_000


async def audit(ask: Ask) -> Response:
    """The newest first, of what is within the reader's reach. What people do about access, such as sign-ins, users and refused
    attempts, is for those who may export the log."""
    query = await _query(ask, PAGE + 1)
    lines = await ask.desk.queue.audit(query)
    now = ask.clock.now()
    filters = {name: ask.word(name) for name in ("receipt", "actor", "action")}
    following = None
    if len(lines) > PAGE:
        following = url("/audit", **filters, before=lines[PAGE - 1].id)
    return ask.page(
        "audit.html",
        lines=tuple(audited(line, now) for line in lines[:PAGE]),
        filters=filters,
        next=following,
        export=url("/audit/export", **filters),
    )


async def export(ask: Ask) -> Response:
    """Every line that the filters name, one JSON document a line, the newest first."""
    query = await _query(ask, _EXPORTED_AT_ONCE)
    first = await ask.desk.queue.audit(query)

    async def lines() -> AsyncIterator[bytes]:
        found = first
        while found:
            yield b"".join(dumps(audit_document(line)) + b"\n" for line in found)
            if len(found) < query.limit or ask.desk.stopping.is_set():
                return
            found = await ask.desk.queue.audit(replace(query, before=found[-1].id))

    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)


async def _query(ask: Ask, limit: int) -> AuditQuery:
    receipt_id = ask.word("receipt").strip() or None
    if receipt_id is not None:
        await shown_receipt(ask, receipt_id)
    before = ask.word("before")
    place = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
    return AuditQuery(
        receipt_id,
        ask.word("actor").strip() or None,
        ask.word("action").strip() or None,
        place,
        limit,
        ask.who.scope,
        ask.who.may("audit:export"),
    )

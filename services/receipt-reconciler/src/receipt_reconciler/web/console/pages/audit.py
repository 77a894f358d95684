"""`/audit`: who did what, and the whole of it as lines of JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.identity.principal import Principal
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.queue_work import AuditLine, AuditQuery
from intention_kernel.reconciliation.document import audit_document
from starlette.responses import Response, StreamingResponse

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.pages.reading import shown_receipt
from receipt_reconciler.web.console.refusal import Refusal
from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.views.story import audited

PAGE = 100
_EXPORTED_AT_ONCE = 1_000


async def audit(ask: Ask) -> Response:
    """The newest first; of everything only for who has everything within reach, else of one receipt."""
    query = await _query(ask, PAGE + 1)
    lines = () if query is None else await ask.desk.queue.audit(query)
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
        first=not ask.word("before"),
        export=url("/audit/export", **filters),
        bounded=query is None,
    )


async def export(ask: Ask) -> Response:
    """Every line that the filters name, one JSON document a line, the newest first."""
    query = await _query(ask, _EXPORTED_AT_ONCE)
    if query is None:
        raise Refusal(403, "Not allowed", "Your reach is bounded: name a receipt that is within it.")
    first = await ask.desk.queue.audit(query)

    async def lines() -> AsyncIterator[bytes]:
        found = first
        while found:
            yield b"".join(dumps(audit_document(line)) + b"\n" for line in found)
            if len(found) < _EXPORTED_AT_ONCE:
                return
            found = await _older(ask, query, found)

    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)


async def _older(ask: Ask, query: AuditQuery, found: tuple[AuditLine, ...]) -> tuple[AuditLine, ...]:
    return await ask.desk.queue.audit(
        AuditQuery(query.receipt_id, query.actor, query.action, found[-1].id, _EXPORTED_AT_ONCE)
    )


async def _query(ask: Ask, limit: int) -> AuditQuery | None:
    """None where the reader's reach is bounded and no receipt is named."""
    receipt_id = ask.word("receipt").strip() or None
    if receipt_id is not None:
        await shown_receipt(ask, receipt_id)
    elif not _sees_all(ask.who):
        return None
    before = ask.word("before")
    place = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
    return AuditQuery(receipt_id, ask.word("actor").strip() or None, ask.word("action").strip() or None, place, limit)


def _sees_all(who: Principal) -> bool:
    return who.scope == Scope()

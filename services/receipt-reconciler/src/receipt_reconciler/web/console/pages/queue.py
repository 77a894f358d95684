"""`/queue`: the list with its filter."""

from __future__ import annotations

from intention_kernel.reconciliation.listing import BadCursor, list_items
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.refusal import Refusal
from receipt_reconciler.web.console.views.queue import queue_view

PAGE = 50
"""Items of a page."""


async def queue(ask: Ask) -> Response:
    """A page of what the filter names; a text that is none is told with its place, as 400."""
    query, cursor = ask.word("q").strip(), ask.word("cursor") or None
    answer = await list_items(
        ask.desk.queue, query, reader=ask.who.user, scope=ask.who.scope, cursor=cursor, limit=PAGE
    )
    if isinstance(answer, BadCursor):
        raise Refusal(
            400, "No such page", "The address of this page was cut or changed. Begin at the queue's first page."
        )
    view = queue_view(query, cursor, answer, ask.who)
    return ask.page("queue.html", status=400 if view.problem else 200, view=view)

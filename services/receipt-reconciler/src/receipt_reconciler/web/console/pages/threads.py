"""`/threads`: conversations, their turns and events."""

from __future__ import annotations

from intention_kernel.ports.conversations import Document
from intention_kernel.ports.receipt_ledger import Unknown
from intention_kernel.reconciliation.masking_documents import masked_event, masked_thread, masked_trace, masked_turn
from intention_kernel.reconciliation.revealing import BoundedByEffects, NoReason, reveal_turn
from intention_kernel.reconciliation.trace import trace_document
from intention_kernel.reconciliation.trace_events import listed, members
from starlette.responses import RedirectResponse, Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.rendering import rendered
from receipt_reconciler.web.console.views.conversations import EventLine, event_line, thread_view
from receipt_reconciler.web.console.views.queue import thread_path
from receipt_reconciler.web.console.views.turns import turn_view

TAIL = 50
_LARGEST = 2**63 - 1
_BOUNDED = (
    "Your reach is bounded by effects, and a conversation holds values of all of them: reveal those of a receipt."
)


async def threads(ask: Ask) -> Response:
    """Finds one by its id."""
    wanted = ask.word("id").strip()
    if wanted:
        return RedirectResponse(thread_path(wanted), 303)
    return ask.page("threads.html")


async def thread(ask: Ask) -> Response:
    """A conversation with its last turns, or those before a revision."""
    return await _thread_page(ask, await _thread(ask))


async def reveal_thread(ask: Ask) -> Response:
    """With its real values, once, on record."""
    found, reason = await _thread(ask), ask.form.line("reason")
    told = await reveal_turn(ask.desk.conversations, ask.part("thread"), None, ask.who.scope, ask.who.user, reason)
    match told:
        case NoReason():
            return await _thread_page(ask, found, status=422, problem="To see the real values, say why.")
        case BoundedByEffects():
            return await _thread_page(ask, found, status=403, problem=_BOUNDED)
        case Unknown():
            raise not_found("conversation")
        case _:
            return await _thread_page(ask, found, revealed=True)


async def turn(ask: Ask) -> Response:
    """A turn with its trace."""
    return _turn_page(ask, await _turn(ask))


async def reveal_one_turn(ask: Ask) -> Response:
    """With its real values, once, on record."""
    found, reason = await _turn(ask), ask.form.line("reason")
    ids = (ask.part("thread"), ask.part("turn"))
    match await reveal_turn(ask.desk.conversations, *ids, ask.who.scope, ask.who.user, reason):
        case NoReason():
            return _turn_page(ask, found, status=422, problem="To see the real values, say why.")
        case BoundedByEffects():
            return _turn_page(ask, found, status=403, problem=_BOUNDED)
        case Unknown():
            raise not_found("turn")
        case _:
            return _turn_page(ask, found, revealed=True)


async def tail(ask: Ask) -> Response:
    """Events after a sequence, as the lines that the page of the thread adds to its own."""
    after = ask.word("after")
    begin = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else 0
    return rendered("events.html", events=await _events(ask, min(begin, _LARGEST)))


async def _thread(ask: Ask) -> Document:
    before = ask.word("before")
    place = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
    found = await ask.desk.conversations.thread(ask.part("thread"), ask.who.scope, before=place)
    if found is None:
        raise not_found("conversation")
    return found


async def _turn(ask: Ask) -> Document:
    found = await ask.desk.conversations.turn(ask.part("thread"), ask.part("turn"), ask.who.scope)
    if found is None:
        raise not_found("turn")
    return found


async def _events(ask: Ask, after: int, *, revealed: bool = False) -> tuple[EventLine, ...]:
    found = await ask.desk.conversations.events(ask.part("thread"), ask.who.scope, after=after, limit=TAIL)
    if found is None:
        raise not_found("conversation")
    now = ask.clock.now()
    return tuple(event_line(event if revealed else masked_event(event), now) for event in found.events)


async def _thread_page(
    ask: Ask, found: Document, *, status: int = 200, problem: str | None = None, revealed: bool = False
) -> Response:
    following = found.get("nextSequence")
    after = max(following - 1 - TAIL, 0) if isinstance(following, int) else 0
    view = thread_view(found if revealed else masked_thread(found), ask.clock.now())
    return ask.page(
        "thread.html",
        status=status,
        view=view,
        events=await _events(ask, after, revealed=revealed),
        problem=problem,
        revealed=revealed,
    )


def _turn_page(
    ask: Ask, found: Document, *, status: int = 200, problem: str | None = None, revealed: bool = False
) -> Response:
    receipts = [members(receipt) for receipt in listed(found.get("receipts"))]
    trace = trace_document(listed(found.get("events")), receipts)
    shown = (found, trace) if revealed else (masked_turn(found), masked_trace(trace))
    view = turn_view(*shown, ask.clock.now())
    return ask.page("turn.html", status=status, view=view, problem=problem, revealed=revealed)

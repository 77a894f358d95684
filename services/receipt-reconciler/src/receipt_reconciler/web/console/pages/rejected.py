"""`/rejected`: turns that were set aside and requests that were rejected, to be sent again or given up."""

from __future__ import annotations

from uuid import UUID

from intention_kernel.ids import random_id
from intention_kernel.ports.redrives import (
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    Ruling,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
)
from intention_kernel.reconciliation import given_up
from intention_kernel.reconciliation.given_up import BadCursor, Outcome
from intention_kernel.reconciliation.masking_documents import masked_given_up
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.refusal import Refusal, not_found
from receipt_reconciler.web.console.rendering import segment, url
from receipt_reconciler.web.console.views.conversations import aside_line
from receipt_reconciler.web.console.views.values import pretty

PAGE = 50


async def rejected(ask: Ask) -> Response:
    """The newest first, settled ones too."""
    cursor = ask.word("cursor") or None
    found = await given_up.list_given_up(ask.desk.conversations, ask.who.scope, cursor=cursor, limit=PAGE)
    if isinstance(found, BadCursor):
        raise Refusal(400, "No such page", "The address of this page was cut or changed. Begin at the first page.")
    now = ask.clock.now()
    lines = tuple(aside_line(masked_given_up(document), now) for document in found.documents)
    following = None if found.cursor is None else url("/rejected", cursor=found.cursor)
    return ask.page("rejected.html", lines=lines, next=following)


async def one(ask: Ask) -> Response:
    """One with what its redrive would meet."""
    return await _page(ask)


async def redrive(ask: Ask) -> Response:
    """As it came."""
    answer = await given_up.redrive(
        ask.desk.conversations,
        ask.desk.redrives,
        ask.part("record"),
        ask.who.scope,
        _ruling(ask),
        after_later_turns=ask.form.is_set("after_later_turns"),
    )
    return await _told(ask, answer)


async def drop(ask: Ask) -> Response:
    """For ever."""
    answer = await given_up.drop(
        ask.desk.conversations, ask.desk.redrives, ask.part("record"), ask.who.scope, _ruling(ask)
    )
    return await _told(ask, answer)


def _ruling(ask: Ask) -> Ruling:
    """The form's own id, so that the same form sent twice is one decision."""
    reason = ask.form.line("reason")
    if not reason:
        raise Refusal(422, "A reason is needed", "Say why; it is kept in the audit log. Go back, and nothing is lost.")
    try:
        decision_id = UUID(ask.form.text("decision_id"))
    except ValueError:
        decision_id = random_id()
    return Ruling(decision_id, ask.who.user, reason)


async def _told(ask: Ask, answer: Outcome) -> Response:
    there = f"/rejected/{segment(ask.part('record'))}"
    match answer:
        case TurnRedriven() | RecordRedriven():
            return ask.sent_on(there, "redriven")
        case Dropped():
            return ask.sent_on(there, "dropped")
        case NoSuchRecord():
            raise not_found("record")
        case _:
            return await _page(ask, status=409, problem=f"Nothing was changed: {_why_not(answer)}.")


async def _page(ask: Ask, *, status: int = 200, problem: str | None = None) -> Response:
    found = await given_up.find_given_up(ask.desk.conversations, ask.part("record"), ask.who.scope)
    if found is None:
        raise not_found("record")
    look = await given_up.redrive(
        ask.desk.conversations,
        ask.desk.redrives,
        ask.part("record"),
        ask.who.scope,
        Ruling(random_id(), ask.who.user, "to look"),
        dry_run=True,
    )
    document = masked_given_up(found.document)
    view = look.view if isinstance(look, (TurnRedriven, ReceiptsOpen, WouldRunLate)) else None
    return ask.page(
        "rejected_one.html",
        status=status,
        line=aside_line(document, ask.clock.now()),
        document=pretty(document),
        open=not isinstance(look, NotOpen),
        late=isinstance(look, WouldRunLate),
        why_not=None if isinstance(look, (TurnRedriven, RecordRedriven, WouldRunLate)) else _why_not(look),
        redrive=view,
        decision_id=str(random_id()),
        problem=problem,
    )


def _why_not(answer: Outcome) -> str:
    match answer:
        case NotOpen(state=state):
            return f"it is {state} already"
        case ReceiptsOpen():
            return "nobody knows what became of one of its receipts: settle that first"
        case WouldRunLate():
            return "its thread went on, and it would run after those turns: say that this is meant"
        case Unsendable(problem=problem):
            return f"{problem}; have its producer send the request anew"
        case _:
            return "it cannot be done"

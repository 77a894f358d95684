"""Turns as their pages show them: the trace, and what was proposed, planned and happened, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.conversations import Document
from intention_kernel.reconciliation.trace_events import Members, listed, members, text

from receipt_reconciler.web.console.views.conversations import (
    AsideLine,
    EventLine,
    ReceiptLine,
    aside_line,
    event_line,
    milliseconds_words,
    receipt_line,
    status_badge,
    time_of,
)
from receipt_reconciler.web.console.views.queue import thread_path, turn_path
from receipt_reconciler.web.console.views.times import When
from receipt_reconciler.web.console.views.values import pretty
from receipt_reconciler.web.console.views.wording import Badge, Tone

_ROWS: Mapping[str, tuple[str, str, Tone]] = {
    "as_planned": ("✓", "as planned", "good"),
    "altered_by_policy": ("⚠", "altered by policy", "wait"),
    "dropped": ("✗", "did not run", "quiet"),
    "carried_on": ("▷", "carried on from an earlier turn", "quiet"),
    "added_by_retry": ("↻", "met again by a retry", "wait"),
    "no_plan": ("·", "a program's, without a plan", "quiet"),
    "unknown": ("?", "nobody knows", "alarm"),
}


@dataclass(frozen=True, slots=True)
class Compared:
    """A row of the comparison: what was proposed, planned, and happened."""

    badge: Badge
    capability: str | None
    proposal: str | None
    plan: str | None
    plan_words: str
    changes: tuple[str, ...]
    happened: str | None
    receipts: tuple[ReceiptLine, ...]


@dataclass(frozen=True, slots=True)
class TurnView:
    """The page of a turn. `tree` are the trace's nodes as they are."""

    id: str
    path: str
    thread_id: str
    thread_href: str
    badge: Badge
    requested: When | None
    committed: When | None
    revision: JsonValue
    request: str | None
    result: str | None
    is_program: bool
    duration: str
    tree: tuple[Members, ...]
    comparison: tuple[Compared, ...]
    receipts: tuple[ReceiptLine, ...]
    asides: tuple[AsideLine, ...]
    events: tuple[EventLine, ...]


def turn_view(document: Document, trace: Members, now: datetime) -> TurnView:
    """Of `Conversations.turn` and its trace, masked or not."""
    thread_id, turn_id = text(document.get("threadId")) or "", text(document.get("turnId")) or ""
    status = text(document.get("status")) or text(document.get("state")) or ""
    duration = trace.get("durationMs")
    return TurnView(
        id=turn_id,
        path=turn_path(thread_id, turn_id),
        thread_id=thread_id,
        thread_href=thread_path(thread_id),
        badge=status_badge(status),
        requested=time_of(document.get("requestedAt"), now),
        committed=time_of(document.get("committedAt"), now),
        revision=document.get("revision"),
        request=_json_or_none(document.get("request")),
        result=_json_or_none(document.get("result")),
        is_program=trace.get("isProgram") is True,
        duration=milliseconds_words(duration),
        tree=tuple(map(members, listed(trace.get("tree")))),
        comparison=tuple(_compared(members(row)) for row in listed(trace.get("comparison"))),
        receipts=tuple(receipt_line(members(receipt)) for receipt in listed(document.get("receipts"))),
        asides=tuple(aside_line(members(aside), now) for aside in listed(document.get("setAside"))),
        events=tuple(event_line(members(event), now) for event in listed(document.get("events"))),
    )


def _compared(row: Members) -> Compared:
    proposal, plan, happened = row.get("proposal"), row.get("plan"), row.get("happened")
    decided, came = members(plan), members(happened)
    words = [text(decided.get("disposition")), text(decided.get("reasonCode"))]
    return Compared(
        badge=Badge(*_ROWS.get(text(row.get("state")) or "", ("•", str(row.get("state")), "quiet"))),
        capability=text(row.get("capabilityId")),
        proposal=None if proposal is None else pretty(members(proposal).get("input")),
        plan=None if plan is None else pretty(decided.get("input")),
        plan_words=", ".join(word for word in words if word),
        changes=tuple(str(members(change).get("path")) or "/" for change in listed(decided.get("changes"))),
        happened=None if happened is None else _happened(came),
        receipts=tuple(_effect_line(members(effect)) for effect in listed(came.get("effects"))),
    )


def _happened(came: Members) -> str:
    words = [text(came.get("status")) or "not ended", text(came.get("issueCode"))]
    return ", ".join([*(word for word in words if word), *filter(None, [milliseconds_words(came.get("durationMs"))])])


def _effect_line(effect: Members) -> ReceiptLine:
    known = members(effect.get("receipt"))
    return receipt_line(known or {**effect, "state": effect.get("status")})


def _json_or_none(value: JsonValue) -> str | None:
    return None if value is None else pretty(value)

"""Threads as their pages show them, out of the documents of the port, masked or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.ports.conversations import Document
from intention_kernel.reconciliation.trace_events import Members, listed, members, text

from receipt_reconciler.web.console.rendering import segment, url
from receipt_reconciler.web.console.views.queue import thread_path, turn_path
from receipt_reconciler.web.console.views.times import When, span, when
from receipt_reconciler.web.console.views.values import pretty
from receipt_reconciler.web.console.views.wording import Badge, Tone, receipt_badge

RECEIPT_STATES: tuple[ReceiptState, ...] = get_args(ReceiptState)

_STATUSES: Mapping[str, tuple[str, str, Tone]] = {
    "completed": ("✓", "completed", "good"),
    "waiting_user": ("…", "waits for the user", "quiet"),
    "blocked": ("?", "blocked", "wait"),
    "in_progress": ("▷", "in progress", "wait"),
    "set_aside": ("✗", "set aside", "bad"),
    "redriven": ("▷", "redriven", "quiet"),
    "dropped": ("✗", "dropped", "quiet"),
    "open": ("✗", "needs a person", "bad"),
}


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn in a list."""

    id: str
    href: str
    badge: Badge
    at: When | None
    revision: JsonValue
    events: JsonValue


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """A receipt in a list."""

    id: str
    href: str
    title: str
    key: str
    badge: Badge


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the memory."""

    name: str
    count: int | None
    json: str


@dataclass(frozen=True, slots=True)
class AsideLine:
    """A turn that was set aside, or a request that was rejected."""

    id: str
    href: str
    kind: str
    badge: Badge
    thread_id: str | None
    thread_href: str | None
    turn_id: str | None
    reason: str
    detail: str
    at: When | None


@dataclass(frozen=True, slots=True)
class Blocked:
    """A turn that waits for a receipt."""

    turn_id: str
    turn_href: str
    receipt: ReceiptLine


@dataclass(frozen=True, slots=True)
class ThreadView:
    """The page of a conversation."""

    id: str
    path: str
    agent_id: str | None
    tenant_id: str | None
    revision: JsonValue
    in_progress: TurnLine | None
    turns: tuple[TurnLine, ...]
    older: str | None
    receipts: tuple[ReceiptLine, ...]
    blocked: tuple[Blocked, ...]
    asides: tuple[AsideLine, ...]
    memory: tuple[Part, ...]
    next_sequence: JsonValue


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event."""

    sequence: JsonValue
    type: str
    at: When | None
    turn_id: str | None
    data: str


def thread_view(document: Document, now: datetime) -> ThreadView:
    """Of `Conversations.thread`, masked or not."""
    thread_id = text(document.get("threadId")) or ""
    running = document.get("turnInProgress")
    before = document.get("nextBefore")
    return ThreadView(
        id=thread_id,
        path=thread_path(thread_id),
        agent_id=text(document.get("agentId")),
        tenant_id=text(document.get("tenantId")),
        revision=document.get("revision"),
        in_progress=None if running is None else _turn(thread_id, {**members(running), "status": "in_progress"}, now),
        turns=tuple(_turn(thread_id, members(turn), now) for turn in listed(document.get("lastTurns"))),
        older=url(thread_path(thread_id), before=before) if isinstance(before, int) else None,
        receipts=tuple(receipt_line(members(receipt)) for receipt in listed(document.get("openReceipts"))),
        blocked=tuple(_blocked(thread_id, members(step)) for step in listed(document.get("blocked"))),
        asides=tuple(aside_line(members(aside), now) for aside in listed(document.get("setAside"))),
        memory=_memory(document.get("checkpoint")),
        next_sequence=document.get("nextSequence"),
    )


def event_line(event: Members, now: datetime) -> EventLine:
    """One event."""
    return EventLine(
        event.get("sequence"),
        text(event.get("type")) or "unknown",
        time_of(event.get("occurredAt"), now),
        text(event.get("turnId")),
        pretty(event.get("data")),
    )


def aside_line(aside: Members, now: datetime) -> AsideLine:
    """One line of what was given up."""
    record_id, thread_id = text(aside.get("id")) or "", text(aside.get("threadId"))
    detail = aside.get("detail")
    return AsideLine(
        id=record_id,
        href=f"/rejected/{segment(record_id)}",
        kind="rejected request" if aside.get("kind") == "rejected" else "set-aside turn",
        badge=status_badge(text(aside.get("state")) or ""),
        thread_id=thread_id,
        thread_href=None if thread_id is None else thread_path(thread_id),
        turn_id=text(aside.get("turnId")),
        reason=text(aside.get("reason")) or "",
        detail=detail if isinstance(detail, str) else "",
        at=time_of(aside.get("at"), now),
    )


def receipt_line(receipt: Members) -> ReceiptLine:
    """One receipt."""
    receipt_id, state = text(receipt.get("receiptId")) or "", receipt.get("state")
    badge = Badge("?", str(state), "quiet")
    for known in RECEIPT_STATES:
        if state == known:
            badge = receipt_badge(known, contradicted=receipt.get("contradicted") is True)
    key = text(receipt.get("effectKey")) or ""
    return ReceiptLine(receipt_id, f"/receipts/{segment(receipt_id)}", text(receipt.get("title")) or key, key, badge)


def status_badge(status: str) -> Badge:
    """A turn's status, or the state of what was given up."""
    return Badge(*_STATUSES.get(status, ("•", status.replace("_", " ") or "unknown", "quiet")))


def time_of(value: JsonValue, now: datetime) -> When | None:
    """A time of a document."""
    try:
        return when(datetime.fromisoformat(value), now) if isinstance(value, str) else None
    except (ValueError, TypeError):
        return None


def milliseconds_words(value: JsonValue) -> str:
    """A duration; empty where it is not known."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return ""
    return f"{value:g} ms" if value < 1_000 else f"{value / 1_000:.1f} s" if value < 60_000 else span(value / 1_000)


def _turn(thread_id: str, turn: Members, now: datetime) -> TurnLine:
    turn_id = text(turn.get("turnId")) or ""
    return TurnLine(
        turn_id,
        turn_path(thread_id, turn_id),
        status_badge(text(turn.get("status")) or ""),
        time_of(turn.get("committedAt"), now),
        turn.get("revision"),
        turn.get("events"),
    )


def _blocked(thread_id: str, step: Members) -> Blocked:
    turn_id = text(step.get("turnId")) or ""
    return Blocked(turn_id, turn_path(thread_id, turn_id), receipt_line(step))


def _memory(checkpoint: JsonValue) -> tuple[Part, ...]:
    return tuple(
        Part(name, len(value) if isinstance(value, (list, dict)) else None, pretty(value))
        for name, value in members(checkpoint).items()
    )

"""What is known of a receipt, in the order in which it came to be known, each line with who or what said it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.operator_queue import Decided, ReceiptCase, Seen
from intention_kernel.ports.queue_work import AuditLine, Written
from intention_kernel.reconciliation.trace_events import Members, listed, members

from receipt_reconciler.web.console.views.times import When, when
from receipt_reconciler.web.console.views.values import pretty
from receipt_reconciler.web.console.views.wording import cause_words, link_of, receipt_badge

_FINDINGS = {
    "found": "the provider has it",
    "absent": "the provider does not have it",
    "inconclusive": "the answer proves nothing",
    "error": "the look failed",
    "contested": "says that what is recorded is wrong",
}
_BY_CALL = "attempt "
"""What the source of an observation begins with that the attempt itself made: nobody looked for it."""
_NOTES = {
    "comment": "",
    "link": "evidence, a link",
    "ticket": "evidence, a ticket",
    "quotation": "evidence, quoted",
    "digest": "evidence, a file's hash",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `who` said it, `what` happened; `text` are words, `href` where a link leads, `value` is JSON."""

    at: When
    order: datetime
    who: str
    what: str
    text: str = ""
    href: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Audited:
    """One line of the audit log."""

    id: int
    at: When
    actor: str
    action: str
    thread_id: str | None
    effect_key: str | None
    detail: str


def story(case: ReceiptCase, document: Members, now: datetime) -> tuple[Line, ...]:
    """All lines, the oldest first. `document` is the receipt's, masked or not: what others said comes from there."""
    seen = zip(case.observations, map(members, listed(document.get("observations"))), strict=True)
    made = zip(case.decisions, map(members, listed(document.get("decisions"))), strict=True)
    lines = chain(
        _moves(case, now),
        (_observation(one, shown, now) for one, shown in seen),
        (_decision(one, shown, now) for one, shown in made),
        (_note(note, now) for note in case.notes),
    )
    return tuple(sorted(lines, key=lambda line: line.order))


def audited(line: AuditLine, now: datetime) -> Audited:
    """A line of the audit log."""
    detail = "" if line.detail is None else pretty(line.detail)
    return Audited(line.id, when(line.at, now), line.actor, line.action, line.thread_id, line.effect_key, detail)


def _moves(case: ReceiptCase, now: datetime) -> list[Line]:
    return [
        Line(
            when(move.at, now),
            move.at,
            "the kernel",
            f"{receipt_badge(move.state, contradicted=False).word}, attempt {move.attempt}, version {move.version}",
            cause_words(move.cause),
        )
        for move in case.transitions
    ]


def _observation(seen: Seen, shown: Members, now: datetime) -> Line:
    by_call = seen.source.startswith(_BY_CALL) and seen.finding == "error"
    found = "the call failed" if by_call else _FINDINGS.get(seen.finding, seen.finding)
    by_person = seen.finding == "contested"
    reference = f", reference {seen.reference}" if seen.reference and not by_person else ""
    value = shown.get("value")
    return Line(
        when(seen.at, now),
        seen.at,
        seen.source.removeprefix("contest:") if by_person else seen.source.replace("_", " "),
        f"{found}{reference}, of version {seen.receipt_version}",
        # What a person wrote into the queue is nobody's secret; what a provider said may be.
        seen.detail if by_person else _text(shown.get("detail")),
        value=None if value is None else pretty(value),
    )


def _decision(made: Decided, shown: Members, now: datetime) -> Line:
    reference = f", reference {made.reference}" if made.reference else ""
    code = f" ({made.reason_code})" if made.reason_code else ""
    evidence = f" Evidence: {made.evidence}" if made.evidence else ""
    return Line(
        when(made.at, now),
        made.at,
        made.actor,
        f"decided: {made.resolution.replace('_', ' ')}{reference}, settlement {made.settlement}",
        f"{_text(shown.get('reason'))}{code}{evidence}",
        href=link_of(made.evidence or ""),
    )


def _note(note: Written, now: datetime) -> Line:
    href = link_of(note.text) if note.kind == "link" else None
    kind = _NOTES.get(note.kind, note.kind) or "says"
    return Line(when(note.at, now), note.at, note.actor, kind, "" if href else note.text, href=href)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""

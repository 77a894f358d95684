"""A receipt as its page shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from intention_kernel.agent.effect import Effect, Manual
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.receipt import Receipt
from intention_kernel.identity.principal import Principal
from intention_kernel.ids import derived_id
from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.ports.queue_work import Work
from intention_kernel.reconciliation.document import shown_document
from intention_kernel.reconciliation.masking import masked
from intention_kernel.reconciliation.masking_documents import masked_shown
from intention_kernel.reconciliation.showing import Shown
from intention_kernel.reconciliation.trace_events import Members, listed, members

from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.views.deciding import (
    DecideView,
    Follows,
    ProposalView,
    decide_view,
    follows_view,
    proposal_view,
)
from receipt_reconciler.web.console.views.queue import thread_path, turn_path
from receipt_reconciler.web.console.views.story import Audited, Line, audited, story
from receipt_reconciler.web.console.views.times import KeyClock, When, key_clock, maybe, when
from receipt_reconciler.web.console.views.values import pretty
from receipt_reconciler.web.console.views.wording import (
    Badge,
    amount_words,
    counted,
    item_badge,
    reason_words,
    receipt_badge,
)


@dataclass(frozen=True, slots=True)
class WorkView:
    """Who works on it. `holder` None: nobody does."""

    version: int
    holder: str | None
    until: When | None
    mine: bool
    snoozed: str
    has_resolver: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the last decision: the decision itself is another fact."""

    badge: Badge
    text: str
    turn: str | None
    turn_href: str | None


@dataclass(frozen=True, slots=True)
class Said:
    """A value with who or what said it, and when."""

    json: str
    by: str
    at: When | None


@dataclass(frozen=True, slots=True)
class ReceiptView:
    """The whole page. `live` is where its changes are told, `mark` differs where anything about it does; `settling`: it is decided,
    and the conversation has not gone on yet."""

    id: str
    title: str
    amount: str
    badge: Badge
    since: When
    why: str
    version: int
    attempt: int
    clock: KeyClock
    clock_words: str
    effect_id: str
    effect_key: str
    provider: str | None
    agent_id: str
    tenant_id: str | None
    thread_id: str
    thread_href: str
    turn_id: str
    turn_href: str
    reference: str | None
    payload: str
    value: Said | None
    revealed: bool
    work: WorkView
    blocked: tuple[tuple[str, str], ...]
    blocks: str
    story: tuple[Line, ...]
    audit: tuple[Audited, ...]
    decide: DecideView
    if_applied: Follows
    if_not_applied: Follows
    outcome: Outcome | None
    proposal: ProposalView | None
    contestable: bool
    live: str
    mark: str
    settling: bool


def receipt_view(shown: Shown, effect: Effect | None, who: Principal, *, revealed: bool = False) -> ReceiptView:
    """Values that others said are shapes unless `revealed`; their words are for those who work on receipts."""
    reader, words = who.user, who.may("receipts:work")
    case, receipt, now = shown.case, shown.case.open.receipt, shown.case.open.looked_at
    whole = shown_document(shown)
    document = whole if revealed else masked_shown(whole, words=words)
    item = case.items[-1] if case.items else None
    badge = receipt_badge(receipt.state, contradicted=receipt.contradicted)
    if item is not None and item.kind == "orphaned" and item.phase == "open":
        badge = item_badge(item.phase, item.kind, receipt.state, contradicted=receipt.contradicted)
    window = key_clock(shown.key_window.closes_at, now)
    return ReceiptView(
        id=receipt.receipt_id,
        title=receipt.summary.title or "(no title)",
        amount=amount_words(receipt.summary),
        badge=badge,
        since=when(case.transitions[-1].at if case.transitions else receipt.prepared_at, now),
        why=_why(document),
        version=receipt.version,
        attempt=receipt.attempt,
        clock=window,
        clock_words=_clock_words(window),
        effect_id=receipt.effect_id,
        effect_key=receipt.effect_key,
        provider=receipt.summary.provider,
        agent_id=receipt.agent_id,
        tenant_id=receipt.tenant_id,
        thread_id=receipt.thread_id,
        thread_href=thread_path(receipt.thread_id),
        turn_id=receipt.turn_id,
        turn_href=turn_path(receipt.thread_id, receipt.turn_id),
        reference=receipt.reference,
        payload=pretty(document.get("payload")),
        value=None if receipt.state != "completed" else _value(case, document.get("value"), now),
        revealed=revealed,
        work=_work(case.work, effect, reader, now),
        blocked=tuple((turn, turn_path(receipt.thread_id, turn)) for turn in case.blocked_turns),
        blocks=counted(len(case.blocked_turns), "turn waits", "turns wait"),
        story=story(case, document, now),
        audit=tuple(audited(line, now) for line in case.audit),
        decide=decide_view(case, shown.choices, effect, reader),
        if_applied=follows_view(receipt.thread_id, shown.if_applied),
        if_not_applied=follows_view(receipt.thread_id, shown.if_not_applied),
        outcome=_outcome(case, receipt),
        proposal=_proposal(shown, reader, now, show=_same if revealed else masked),
        contestable=receipt.settlements > 0 and not receipt.contradicted and receipt.state in ("completed", "failed"),
        live=url("/live", receipt=receipt.receipt_id),
        mark=_mark(shown, badge),
        settling=item is not None and item.phase == "decided",
    )


def _mark(shown: Shown, badge: Badge) -> str:
    """A digest: what it is made of may be somebody's secret."""
    case, item, proposal = shown.case, shown.case.items[-1] if shown.case.items else None, shown.proposal
    counts = (len(case.observations), len(case.notes), len(case.decisions), len(case.blocked_turns))
    return derived_id(
        str(case.open.receipt.version),
        str(case.work.version),
        *map(str, counts),
        badge.word,
        *(("", "", "") if item is None else (item.kind, item.phase, item.reason)),
        *(("", "") if proposal is None else (proposal.proposal_id, proposal.state)),
    )


def _why(document: Members) -> str:
    items = listed(document.get("items"))
    reason = members(items[-1]).get("reason") if items else None
    return reason_words(reason) if isinstance(reason, str) else ""


def _clock_words(clock: KeyClock) -> str:
    match clock.kind:
        case "none":
            return "The provider keeps no key: the same call again is another effect."
        case "closed":
            return "The provider has forgotten the key: the same call again is another effect."
        case "closing" | "open":
            return "Until then the same call again is the same effect; afterwards it is another one."


def _work(work: Work, effect: Effect | None, reader: str, now: datetime) -> WorkView:
    held = work.claimed_by is not None and work.claimed_until is not None and work.claimed_until > now
    snoozed = ""
    if work.snoozed_until_change:
        snoozed = "until a resolver says something else"
    elif work.snoozed_until is not None and work.snoozed_until > now:
        snoozed = f"until {when(work.snoozed_until, now).exact}"
    return WorkView(
        version=work.version,
        holder=work.claimed_by if held else None,
        until=maybe(work.claimed_until, now) if held else None,
        mine=held and work.claimed_by == reader,
        snoozed=snoozed,
        has_resolver=effect is not None and not isinstance(effect.resolver, Manual),
    )


def _value(case: ReceiptCase, shown: JsonValue, now: datetime) -> Said:
    """Who said the value: the last settlement, else the provider's answer to the call."""
    settled = [made for made in case.decisions if made.settlement == case.open.receipt.settlements]
    if settled:
        return Said(pretty(shown), settled[-1].actor, when(settled[-1].at, now))
    answers = [move for move in case.transitions if move.state == "completed"]
    return Said(pretty(shown), "the provider's answer", when(answers[-1].at, now) if answers else None)


def _outcome(case: ReceiptCase, receipt: Receipt) -> Outcome | None:
    decided = [item for item in case.items if item.kind == "effect" and item.phase in ("decided", "done", "failed")]
    if not decided:
        return None
    last = decided[-1]
    words = {
        "decided": "The conversation has not gone on yet: it waits for this turn.",
        "done": "The conversation has gone on.",
        "failed": "The turn that should go on by it was set aside again and again; the decision stands.",
    }
    badge = item_badge(last.phase, last.kind, receipt.state, contradicted=receipt.contradicted)
    href = None if last.turn_id is None else turn_path(receipt.thread_id, last.turn_id)
    return Outcome(badge, words[last.phase], last.turn_id, href)


def _proposal(shown: Shown, reader: str, now: datetime, show: Callable[[JsonValue], JsonValue]) -> ProposalView | None:
    if shown.proposal is None:
        return None
    return proposal_view(shown.proposal, {"value": show(value_of(shown.proposal.settlement.value))}, reader, now)


def value_of(stored: bytes | None) -> JsonValue:
    """A settlement's value."""
    return None if stored is None else loads(stored)


def _same(value: JsonValue) -> JsonValue:
    return value

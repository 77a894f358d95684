"""What may be decided of a receipt, and what happens then, as a page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from intention_kernel.agent.effect import Effect
from intention_kernel.ports.approvals import Proposal
from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.reconciliation.admissible import Admitted, Verdict
from intention_kernel.reconciliation.consequences import Consequences
from intention_kernel.reconciliation.showing import Choices
from intention_kernel.reconciliation.trace_events import Members

from receipt_reconciler.web.console.views.queue import turn_path
from receipt_reconciler.web.console.views.times import When, maybe, when
from receipt_reconciler.web.console.views.values import Field, fields_of, pretty
from receipt_reconciler.web.console.views.wording import Badge, amount_words, counted, link_of, receipt_badge


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether something may be decided: `reason` says why or why not, `not_before` when that may change."""

    reason: str
    not_before: When | None
    rules: str
    admitted: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A value that a resolver or a late answer brought, which a decision may take over unseen."""

    id: str
    label: str
    at: When


@dataclass(frozen=True, slots=True)
class DecideView:
    """The form. `closed` says why there is none; `fields` None: the value is typed as JSON."""

    closed: str | None
    contested: bool
    applied: Choice
    not_applied: Choice
    with_workers_stopped: Choice
    fields: tuple[Field, ...] | None
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Follows:
    """What will happen."""

    badge: Badge
    sentences: tuple[str, ...]
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A decision that waits for a second person, or did. `mine`: the reader proposed it, and approves it never."""

    id: str
    receipt_id: str
    title: str
    amount: str
    effect: str
    resolution: str
    reference: str | None
    reason: str
    evidence: str | None
    evidence_href: str | None
    value: str | None
    hash: str
    rules: str
    proposer: str
    proposed: When
    expires: When
    state: str
    is_open: bool
    mine: bool
    closed_by: str | None
    closed: When | None
    closing_reason: str | None
    workers_stopped: bool


def decide_view(case: ReceiptCase, choices: Choices, effect: Effect | None, actor: str) -> DecideView:
    """The form of a receipt as it is now."""
    receipt, now = case.open.receipt, case.open.looked_at
    contested = receipt.contradicted and receipt.state != "prepared"
    closed = choices.applied
    if contested:
        closed = _contester_alone(case, actor)
    return DecideView(
        closed=closed,
        contested=contested,
        applied=Choice("", None, ", ".join(choices.applied_rules)),
        not_applied=_choice(choices.not_applied, choices.not_applied_rules, now),
        with_workers_stopped=_choice(choices.with_workers_stopped, choices.not_applied_rules, now),
        fields=None if effect is None else fields_of(effect.result),
        found=tuple(
            Found(
                seen.at.isoformat(), f"{seen.source.replace('_', ' ')}{_reference(seen.reference)}", when(seen.at, now)
            )
            for seen in case.observations
            if seen.finding == "found" and seen.value is not None
        ),
    )


def follows_view(thread_id: str, follows: Consequences) -> Follows:
    """Sentences of what a dry run, or the case, foretells."""
    turn = f"The continuation turn {follows.continuation} is asked for."
    waiting = (
        f"{counted(len(follows.turns), 'waiting turn goes', 'waiting turns go')} on by it."
        if follows.turns
        else "No turn waits for it."
    )
    again = (
        "The program may make another attempt, under the same key."
        if follows.may_try_again
        else "No other attempt is made; the value is what the program gets."
    )
    return Follows(
        receipt_badge(follows.state, contradicted=False),
        (f"The receipt gets version {follows.version}, by settlement {follows.settlement}.", turn, waiting, again),
        tuple((turn_id, turn_path(thread_id, turn_id)) for turn_id in follows.turns),
    )


def proposal_view(proposal: Proposal, shown: Members, reader: str, now: datetime) -> ProposalView:
    """A proposal; `shown` has its value, masked or not."""
    settlement = proposal.settlement
    value = shown.get("value")
    return ProposalView(
        id=proposal.proposal_id,
        receipt_id=proposal.receipt_id,
        title=proposal.summary.title or "(no title)",
        amount=amount_words(proposal.summary),
        effect=proposal.effect_id,
        resolution=settlement.resolution.replace("_", " "),
        reference=settlement.reference,
        reason=settlement.reason,
        evidence=settlement.evidence,
        evidence_href=link_of(settlement.evidence or ""),
        value=None if settlement.value is None else pretty(value),
        hash=proposal.decision_hash,
        rules=", ".join(proposal.rules),
        proposer=proposal.proposer,
        proposed=when(proposal.proposed_at, now),
        expires=when(proposal.expires_at, now),
        state=proposal.state,
        is_open=proposal.state == "proposed",
        mine=proposal.proposer == reader,
        closed_by=proposal.closed_by,
        closed=maybe(proposal.closed_at, now),
        closing_reason=proposal.closing_reason,
        workers_stopped=proposal.workers_stopped,
    )


def _choice(verdict: Verdict, rules: Sequence[str], now: datetime) -> Choice:
    if isinstance(verdict, Admitted):
        return Choice(verdict.reason, None, ", ".join(rules))
    return Choice(verdict.reason, maybe(verdict.not_before, now), "", admitted=False)


def _contester_alone(case: ReceiptCase, actor: str) -> str | None:
    """Nobody decides the contest that they alone opened (R25)."""
    number = case.open.receipt.settlements + 1
    contests = {seen.source for seen in case.observations if seen.finding == "contested" and seen.settlement == number}
    return "You opened this contest; another person decides it." if contests == {f"contest:{actor}"} else None


def _reference(reference: str | None) -> str:
    return f", reference {reference}" if reference else ""

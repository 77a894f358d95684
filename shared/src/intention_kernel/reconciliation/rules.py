"""Pure: which decisions need a second person, and whether there is one (design 7).

Rules are data: a decision that meets every condition of an enabled one is proposed instead of made. They are about what people
decide of an uncertain receipt: resolvers settle on what a provider proves, and what is contested has its second person by
protocol R25.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from math import isfinite

from intention_kernel.ports.approvals import ApprovalRule, EffectClass, Proposal
from intention_kernel.ports.identity import Permission, Scope, User
from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.ports.receipt_ledger import AttemptFacts, Resolution
from intention_kernel.reconciliation.admissible import Terms
from intention_kernel.reconciliation.key_window import key_window

LONGEST_EXPIRY_SECONDS = 30 * 86_400.0
"""What nobody approves in a month is decided anew."""

LONGEST_RULE_ID = 200
_MOST_DIGITS, _MOST_PLACES = 20, 10


@dataclass(frozen=True, slots=True)
class Question:
    """What rules look at, of one decision. What is not known (`tenant_id`, `amount`, `currency` None) meets no condition on it."""

    effect_id: str
    tenant_id: str | None
    effect_class: EffectClass
    resolution: Resolution
    amount: Decimal | None = None
    currency: str | None = None
    window_closed: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """The rules that ask for a second person at a look. Where none does, one may begin to after `free_until`, when the key's
    window closes; None: time alone changes nothing."""

    rules: tuple[ApprovalRule, ...]
    free_until: datetime | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the rules."""
        return tuple(rule.rule_id for rule in self.rules)

    @property
    def expires_seconds(self) -> float:
        """How long a decision waits: as long as the strictest of them lets it."""
        return min(rule.expires_seconds for rule in self.rules)


def asked(rules: Iterable[ApprovalRule], case: ReceiptCase, resolution: Resolution, terms: Terms) -> Asked:
    """Which rules ask about this decision of an uncertain receipt, by the store's clock at the look."""
    receipt, window = case.open.receipt, key_window(case.open, terms)
    question = Question(
        receipt.effect_id,
        receipt.tenant_id,
        class_of(case.open.attempts),
        resolution,
        receipt.summary.amount,
        receipt.summary.currency,
        window.is_over,
    )
    known = tuple(rules)
    asking = tuple(rule for rule in known if asks(rule, question))
    later = replace(question, window_closed=True)
    begins = window.state == "open" and any(asks(rule, later) for rule in known)
    return Asked(asking, window.relied_until if begins and not asking else None)


def class_of(facts: AttemptFacts) -> EffectClass:
    """What its provider certified when the receipt was first prepared, not what this build declares: that certificate is the one
    that the effect was sent under. A key that is kept for no stated time is none."""
    return "keyed" if facts.deduplicates and facts.key_window_seconds is not None else "single"


def asks(rule: ApprovalRule, question: Question) -> bool:
    """Whether the decision meets every condition of the rule, and the rule is enabled."""
    return (
        rule.enabled
        and _among(question.effect_id, rule.effects)
        and _among(question.tenant_id, rule.tenants)
        and _among(question.effect_class, rule.classes)
        and _among(question.resolution, rule.resolutions)
        and _reaches(rule, question)
        and (question.window_closed or not rule.window_closed)
    )


def _among(word: str | None, words: Collection[str] | None) -> bool:
    return words is None or word in words


def _reaches(rule: ApprovalRule, question: Question) -> bool:
    if rule.least_amount is None:
        return True
    amount = question.amount
    if amount is None or amount.is_nan() or question.currency != rule.currency:
        return False
    return amount >= rule.least_amount


def within(rules: Iterable[ApprovalRule], scope: Scope) -> tuple[ApprovalRule, ...]:
    """The rules that may ask about a receipt within this reach, and of their effects and tenants those that are within it."""
    return tuple(
        replace(rule, effects=_narrowed(rule.effects, scope.effects), tenants=_narrowed(rule.tenants, scope.tenants))
        for rule in rules
        if _meet(Scope(rule.tenants, rule.effects), scope)
    )


def _narrowed(words: frozenset[str] | None, reach: frozenset[str] | None) -> frozenset[str] | None:
    return words if words is None or reach is None else words & reach


def rule_problem(rule: ApprovalRule) -> str | None:
    """Why it can be no rule; None where it can."""
    if not rule.rule_id.strip() or len(rule.rule_id) > LONGEST_RULE_ID or not rule.rule_id.isprintable():
        return f"a rule has a name of at most {LONGEST_RULE_ID} printable characters"
    if (rule.least_amount is None) != (rule.currency is None):
        return "an amount is of a currency: say both or none"
    if rule.least_amount is not None and not _is_amount(rule.least_amount):
        return f"the least amount is a number of at most {_MOST_DIGITS} digits, and {_MOST_PLACES} after the point"
    if not (isfinite(rule.expires_seconds) and 1 <= rule.expires_seconds <= LONGEST_EXPIRY_SECONDS):
        return f"what a rule asks for waits from 1 second to {LONGEST_EXPIRY_SECONDS / 86_400:g} days"
    empty = [
        name
        for name, words in (
            ("effects", rule.effects),
            ("tenants", rule.tenants),
            ("classes", rule.classes),
            ("resolutions", rule.resolutions),
        )
        if words is not None and not words
    ]
    return f"{empty[0]}: say which, or leave it out for any" if empty else None


def _is_amount(amount: Decimal) -> bool:
    """One that every store and page holds: `1E+400000` is short."""
    exponent = amount.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -_MOST_PLACES and amount.adjusted() < _MOST_DIGITS


def unsatisfiable(rules: Iterable[ApprovalRule], users: Sequence[User]) -> tuple[ApprovalRule, ...]:
    """Enabled rules that nobody could satisfy: within their effects and tenants nobody may approve, or only the one person who may
    propose."""
    return tuple(rule for rule in rules if rule.enabled and not _satisfiable(rule, users))


def _satisfiable(rule: ApprovalRule, users: Sequence[User]) -> bool:
    reach = Scope(rule.tenants, rule.effects)
    for approver in _who_may("receipts:approve", users):
        if _meet(reach, approver.scope):
            proposers = {
                one.name for one in _who_may("receipts:resolve", users) if _meet(reach, approver.scope, one.scope)
            }
            if proposers != {approver.name}:
                return True
    return False


def approvers_of(proposal: Proposal, users: Iterable[User]) -> tuple[str, ...]:
    """Who may approve it now: its proposer never."""
    return tuple(
        user.name
        for user in _who_may("receipts:approve", users)
        if user.name != proposal.proposer and user.scope.covers(proposal.tenant_id, proposal.effect_id)
    )


def _who_may(permission: Permission, users: Iterable[User]) -> list[User]:
    return [user for user in users if not user.disabled and permission in user.permissions]


def _meet(*scopes: Scope) -> bool:
    """Whether one receipt can be within reach of all of them."""
    return _overlap([scope.tenants for scope in scopes]) and _overlap([scope.effects for scope in scopes])


def _overlap(sets: Iterable[frozenset[str] | None]) -> bool:
    named = [words for words in sets if words is not None]
    return not named or bool(frozenset.intersection(*named))

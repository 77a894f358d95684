"""Users, tokens and rules as their pages show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.ports.identity import Scope, Token, User
from intention_kernel.reconciliation.rules import unsatisfiable

from receipt_reconciler.web.console.views.times import When, maybe, span, when
from receipt_reconciler.web.console.views.wording import Badge


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token, never its secret."""

    id: str
    user: str
    label: str
    prefix: str
    allows: str
    created: When
    expires: When
    used: When | None
    badge: Badge
    is_live: bool


@dataclass(frozen=True, slots=True)
class UserView:
    """A user. `tenants` and `effects` are None where all are within reach."""

    name: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    tenants: str | None
    effects: str | None
    badge: Badge
    disabled: bool
    has_password: bool
    created: When


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule in words. `approvers` are those who may approve what it asks for; `nobody`: it cannot be satisfied."""

    id: str
    conditions: tuple[str, ...]
    expires: str
    enabled: bool
    approvers: str
    nobody: bool
    rule: ApprovalRule


def token_view(token: Token, now: datetime) -> TokenView:
    """One token, and whether it still answers."""
    badge = Badge("✓", "active", "good")
    if token.revoked_at is not None:
        badge = Badge("✗", "revoked", "quiet")
    elif token.expires_at <= now:
        badge = Badge("✗", "expired", "quiet")
    return TokenView(
        token.token_id,
        token.user,
        token.label,
        f"ik_{token.prefix}_…",
        "all that its user may" if token.permissions is None else ", ".join(sorted(token.permissions)) or "nothing",
        when(token.created_at, now),
        when(token.expires_at, now),
        maybe(token.last_used_at, now),
        badge,
        badge.tone == "good",
    )


def user_view(user: User, now: datetime) -> UserView:
    """One user."""
    return UserView(
        user.name,
        user.roles,
        tuple(sorted(user.permissions)),
        _words(user.scope.tenants),
        _words(user.scope.effects),
        Badge("✗", "disabled", "quiet") if user.disabled else Badge("✓", "active", "good"),
        user.disabled,
        user.has_password,
        when(user.created_at, now),
    )


def rule_views(rules: Iterable[ApprovalRule], users: tuple[User, ...] | None) -> tuple[RuleView, ...]:
    """All rules; who could approve is told where the reader may see users."""
    listed = tuple(rules)
    nobody = frozenset() if users is None else frozenset(rule.rule_id for rule in unsatisfiable(listed, users))
    return tuple(
        RuleView(
            rule.rule_id,
            _conditions(rule),
            span(rule.expires_seconds),
            rule.enabled,
            "" if users is None else _approvers_words(rule, users, nobody=rule.rule_id in nobody),
            rule.rule_id in nobody,
            rule,
        )
        for rule in listed
    )


def _approvers_words(rule: ApprovalRule, users: Iterable[User], *, nobody: bool) -> str:
    """Who is alone approves nothing: nobody approves their own proposal."""
    names = _approvers(rule, users)
    if nobody and names:
        return f"nobody: {', '.join(names)} alone may propose and approve"
    return ", ".join(names) or "nobody"


def _approvers(rule: ApprovalRule, users: Iterable[User]) -> list[str]:
    reach = Scope(rule.tenants, rule.effects)
    return [
        user.name
        for user in users
        if not user.disabled and "receipts:approve" in user.permissions and _meets(reach, user.scope)
    ]


def _meets(one: Scope, other: Scope) -> bool:
    pairs = ((one.tenants, other.tenants), (one.effects, other.effects))
    return all(mine is None or theirs is None or bool(mine & theirs) for mine, theirs in pairs)


def _conditions(rule: ApprovalRule) -> tuple[str, ...]:
    found = [
        f"{name}: {', '.join(sorted(words)).replace('_', ' ')}"
        for name, words in (
            ("effect", rule.effects),
            ("tenant", rule.tenants),
            ("class", rule.classes),
            ("decision", rule.resolutions),
        )
        if words is not None
    ]
    if rule.least_amount is not None:
        found.append(f"amount: {rule.least_amount:f} {rule.currency} or more")
    if rule.window_closed:
        found.append("the provider has forgotten the key")
    return tuple(found) or ("every decision",)


def _words(words: Collection[str] | None) -> str | None:
    return None if words is None else ", ".join(sorted(words))

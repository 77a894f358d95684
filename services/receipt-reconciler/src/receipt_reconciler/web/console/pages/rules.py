"""`/rules`: which decisions need a second person."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import TypeVar, get_args

from intention_kernel.ports.approvals import ApprovalRule, EffectClass
from intention_kernel.ports.receipt_ledger import Resolution
from intention_kernel.reconciliation.rules import rule_problem
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.pages.users import listed
from receipt_reconciler.web.console.views.people import rule_views

_CLASSES: tuple[EffectClass, ...] = get_args(EffectClass)
_RESOLUTIONS: tuple[Resolution, ...] = get_args(Resolution)
_HOUR = 3_600.0

Word = TypeVar("Word", bound=str)


async def rules(ask: Ask) -> Response:
    """All of them, with who could approve."""
    return await _page(ask)


async def set_rule(ask: Ask) -> Response:
    """Make one, or replace the one of that name."""
    form = ask.form
    amount = form.optional("least_amount")
    try:
        least = None if amount is None else Decimal(amount)
    except InvalidOperation:
        return await _page(ask, status=422, problem="Nothing was changed: the least amount is a number.")
    hours = form.number("hours")
    rule = ApprovalRule(
        rule_id=form.line("rule_id"),
        effects=listed(form.line("effects")),
        tenants=listed(form.line("tenants")),
        classes=_some(one for one in _CLASSES if one in form.every("class")),
        resolutions=_some(one for one in _RESOLUTIONS if one in form.every("resolution")),
        least_amount=least,
        currency=form.optional("currency"),
        window_closed=form.is_set("window_closed"),
        expires_seconds=24 * _HOUR if hours is None else hours * _HOUR,
        enabled=form.text("enabled") != "no",
    )
    problem = rule_problem(rule)
    if problem is not None:
        return await _page(ask, status=422, problem=f"Nothing was changed: {problem}.")
    await ask.desk.queue.set_rule(rule, ask.who.user)
    return ask.sent_on("/rules", "rule")


async def _page(ask: Ask, *, status: int = 200, problem: str | None = None) -> Response:
    found = await ask.desk.queue.rules()
    users = await ask.desk.identity.users() if ask.who.may("users:manage") else None
    return ask.page(
        "rules.html",
        status=status,
        rules=rule_views(found, users),
        problem=problem,
        form=ask.form,
        may_see=users is not None,
    )


def _some(words: Iterable[Word]) -> frozenset[Word] | None:
    return frozenset(words) or None

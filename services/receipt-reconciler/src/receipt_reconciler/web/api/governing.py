"""Routes of the rules that ask for a second person."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, TypeVar

from fastapi import APIRouter
from intention_kernel.ports.approvals import ApprovalRule, EffectClass
from intention_kernel.ports.receipt_ledger import Resolution
from intention_kernel.reconciliation.document import rule_document
from intention_kernel.reconciliation.rules import LONGEST_EXPIRY_SECONDS, rule_problem, unsatisfiable, within
from pydantic import Field
from starlette.responses import Response

from receipt_reconciler.web.api.answering import answer
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.outcomes import invalid
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, Rules, RuleShape

Word = TypeVar("Word", bound=str)

router: APIRouter = router_of("rules")
Words = Annotated[list[Annotated[str, Field(min_length=1, max_length=512)]], Field(max_length=1_000)]


class RuleBody(Body):
    """Its conditions; null: any. A decision that meets all of them needs a second person."""

    effects: Words | None = None
    tenants: Words | None = None
    classes: list[EffectClass] | None = None
    resolutions: list[Resolution] | None = None
    least_amount: Annotated[str | None, Field(pattern=r"^[0-9]{1,20}(\.[0-9]{1,10})?$", examples=["200"])] = None
    currency: Annotated[str | None, Field(min_length=1, max_length=16, examples=["EUR"])] = None
    window_closed: bool = False
    expires_seconds: Annotated[float, Field(ge=1, le=LONGEST_EXPIRY_SECONDS)] = 86_400.0
    enabled: bool = True


@router.get("/rules", operation_id="listRules", response_model=Rules)
async def rules(caller: Annotated[Caller, needs("receipts:read")]) -> Response:
    """Who decides may know when a second person is asked for: those that ask within your reach; all of them with `rules:manage`."""
    found = await caller.desk.queue.rules()
    shown = found if caller.who.may("rules:manage") else within(found, caller.who.scope)
    nobody = {rule.rule_id for rule in unsatisfiable(found, await caller.desk.identity.users())}
    return answer(
        {
            "items": [rule_document(rule) for rule in shown],
            "unsatisfiable": [rule.rule_id for rule in shown if rule.rule_id in nobody],
        }
    )


@router.put("/rules/{rule:id}", operation_id="setRule", response_model=RuleShape)
async def set_rule(
    rule: str, body: RuleBody, caller: Annotated[Caller, needs("rules:manage", changes=True)]
) -> Response:
    """Make it, or replace the one of that id. It is asked from the next decision on."""
    made = ApprovalRule(
        rule_id=rule,
        effects=_among(body.effects),
        tenants=_among(body.tenants),
        classes=_among(body.classes),
        resolutions=_among(body.resolutions),
        least_amount=None if body.least_amount is None else Decimal(body.least_amount),
        currency=body.currency,
        window_closed=body.window_closed,
        expires_seconds=body.expires_seconds,
        enabled=body.enabled,
    )
    problem = rule_problem(made)
    if problem is not None:
        raise invalid(problem)
    await caller.desk.queue.set_rule(made, caller.name)
    return answer(rule_document(made))


def _among(words: list[Word] | None) -> frozenset[Word] | None:
    return None if words is None else frozenset(words)

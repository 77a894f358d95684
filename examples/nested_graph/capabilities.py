"""Assessing and paying refunds. The capability is the authority: it checks what goes into a graph and what comes out, and
the money moves through its own effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from intention_kernel.agent import (
    Allow,
    CanonicalResponse,
    CapabilityContractError,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityIssue,
    CapabilityResult,
    Completed,
    Deny,
    EffectAuthority,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    FactRequirement,
    Failed,
    PolicyContext,
    PolicyDefinition,
    Ports,
    ResponseClaim,
    Summary,
    Verdict,
    fact_value,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError
from pydantic import BaseModel, ValidationError

from examples.nested_graph.refunds import Assessment, PaidOut, Question, Refund, RefundWork
from examples.nested_graph.shop import Shop, UnknownOrderError

OutputT = TypeVar("OutputT", bound=BaseModel)


async def assess(context: CapabilityExecutionContext, question: Question) -> CapabilityResult:
    """What is due. It is a read, so a retry of the turn gets the recorded result and the graph is not run again."""
    try:
        output = await work_of(context.ports).assess(question, context.events.emit)
    except UnknownOrderError:
        return Failed(CapabilityIssue("ORDER_NOT_FOUND", f"There is no order {question.order_id}."))
    found = _completed(context, Assessment, output)
    due = f"{_money(found.amount_cents)} is due" if found.amount_cents else "Nothing is due"
    return _told(found, "assessment", f"{due} for order {found.order_id}: {found.reason}.")


async def pay(context: CapabilityExecutionContext, refund: Refund) -> CapabilityResult:
    """Pay what was assessed and confirmed. The graph pays through the effect of this step: its key is the order, and its
    payload is all that the call depends on."""
    shop = shop_of(context.ports)

    async def pay_parts(parts: Mapping[str, int]) -> JsonValue:
        async def call(authority: EffectAuthority) -> JsonValue:
            return await shop.pay(authority.scoped("refunds"), dict(parts))

        payload: JsonValue = {"orderId": refund.order_id, "parts": dict(parts)}
        return (await context.run_effect(str(refund.order_id), call, payload=payload)).value

    output = await work_of(context.ports).pay_out(refund, pay_parts, context.events.emit)
    paid = _completed(context, PaidOut, output)
    return _told(paid, "refund", f"{paid.note} The reference is {paid.reference}.")


def as_assessed(context: PolicyContext) -> Verdict:
    """Only what was assessed may be paid. This is a policy, not a check inside the capability: a policy decides before
    anything happens, and a step that waits for a receipt goes on without it, whatever was assessed in between."""
    if context.capability_id != "refund.pay":
        return Allow()
    known = cast("dict[str, JsonValue] | None", fact_value(context.facts, "assessment"))
    wanted = cast("dict[str, JsonValue]", context.input)
    if known is None or all(known[name] == wanted[name] for name in ("order_id", "amount_cents")):
        return Allow()  # without an assessment the step waits for one, as it requires the fact
    return Deny("I can only pay back what was assessed for that order.")


def work_of(ports: Ports) -> RefundWork:
    """The port `refunds`. Raises ConfigurationError."""
    work = ports.get("refunds")
    if not isinstance(work, RefundWork):
        raise ConfigurationError("port refunds: assesses and pays out refunds")
    return work


def shop_of(ports: Ports) -> Shop:
    """The port `shop`. Raises ConfigurationError."""
    shop = ports.get("shop")
    if not isinstance(shop, Shop):
        raise ConfigurationError("port shop: is a Shop")
    return shop


def _completed(context: CapabilityExecutionContext, output: type[OutputT], found: JsonValue) -> OutputT:
    """What the graph made, checked. Raises CapabilityContractError: it is a mistake in the graph, not the user's affair."""
    try:
        return output.model_validate(found)
    except ValidationError as error:
        problems = "; ".join(f"{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        capability_id = context.execution.capability_id
        raise CapabilityContractError("INVALID_GRAPH_OUTPUT", capability_id, problems) from error


def _told(output: BaseModel, fact_type: str, message: str) -> Completed:
    """The output as a fact, and the words for it as its evidence."""
    value = cast("JsonValue", output.model_dump(mode="json"))
    evidence = EvidenceRecord(id=fact_type, source="capability", content=message, data=value)
    return Completed(
        output=output,
        facts=(FactCandidate(type=fact_type, value=value, evidence_ids=(evidence.id,)),),
        evidence=(evidence,),
        canonical_response=CanonicalResponse(message, (ResponseClaim(message, (evidence.id,)),)),
    )


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _describe(payload: JsonValue) -> Summary:
    refund = cast("dict[str, JsonValue]", payload)
    return Summary(title=f"the refund for order {refund['orderId']}")


ASSESS = CapabilityDefinition(
    id="refund.assess",
    description="Find out how much is paid back for an order",
    effect="read",
    input=Question,
    output=Assessment,
    execute=assess,
    provides=(FactDeclaration("assessment"),),
)

PAY = CapabilityDefinition(
    id="refund.pay",
    description="Pay back what was assessed for an order",
    effect="write",
    confirmation="required",
    input=Refund,
    output=PaidOut,
    execute=pay,
    requires=(FactRequirement("assessment", "what is due for the order"),),
    provides=(FactDeclaration("refund"),),
    result=dict,
    describe=_describe,
    call_timeout_seconds=5.0,
)

AS_ASSESSED = PolicyDefinition("refund-as-assessed", as_assessed)

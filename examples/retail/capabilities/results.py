"""What all capabilities of the shop share: results in their own words, and refusals as issues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from intention_kernel.agent import (
    KEEP,
    CanonicalResponse,
    CapabilityExecutionContext,
    CapabilityResult,
    Completed,
    EvidenceRecord,
    FactCandidate,
    FactReference,
    Failed,
    Interaction,
    ResponseClaim,
)
from intention_kernel.contracts.json_codec import JsonValue
from pydantic import BaseModel

from examples.retail.customer import Customer, RefusedError

CUSTOMER = FactReference(type="customer")
"""The customer's own record, as it was last read. A change of it takes the fact away until it is read again."""
ORDER = FactReference(type="order")
"""The order that was looked at last, gone when an order was changed. One, not all of them: a checkpoint stays small, and a model reads the
order that the conversation is about."""

_Wanted = TypeVar("_Wanted", bound=BaseModel)
Act = Callable[[CapabilityExecutionContext, Customer, _Wanted], Awaitable[CapabilityResult]]


def for_customer(
    act: Act[_Wanted],
) -> Callable[[CapabilityExecutionContext, _Wanted], Awaitable[CapabilityResult]]:
    """The capability that acts for the customer of the turn, after a check that the input reaches nobody else's records."""

    async def execute(context: CapabilityExecutionContext, wanted: _Wanted) -> CapabilityResult:
        try:
            customer = Customer.of(context)
            await customer.must_reach(wanted)
            return await act(context, customer, wanted)
        except RefusedError as refused:
            return Failed(refused.issue)

    return execute


def completed(
    output: object,
    evidence_id: str,
    message: str,
    fact: FactReference | None = None,
    value: object = None,
    interaction: Interaction | None = None,
) -> Completed:
    """A result whose words are its evidence; `value` is published as the fact, and `interaction` asks what comes next."""
    facts = (
        (FactCandidate(type=fact.type, value=cast("JsonValue", value), evidence_ids=(evidence_id,)),) if fact else ()
    )
    return Completed(
        output=output,
        facts=facts,
        evidence=(EvidenceRecord(id=evidence_id, source="external", content=message),),
        canonical_response=CanonicalResponse(message, (ResponseClaim(message, (evidence_id,)),)),
        interaction=KEEP if interaction is None else interaction,
    )

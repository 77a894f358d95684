"""What FAN-7's compiled agent can do: look at the stock, reserve what the user has approved, write the work order.

The reservation is the approved action: the kernel asks, and a yes resumes exactly the operation that was shown. The work order
depends on it through a fact. It waits in the agenda until there is a reservation, be that now, after the confirmation, or
after an outcome that had to be found out, and then follows by itself.
"""

from __future__ import annotations

from typing import Annotated, cast

from intention_kernel.agent import (
    CanonicalResponse,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityGuidance,
    CapabilityIssue,
    CapabilityResult,
    Completed,
    EffectConflictError,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    FactReference,
    FactRequirement,
    Failed,
    IdempotentRetry,
    Lookup,
    Manual,
    NeedsDependency,
    ResponseClaim,
    fact_value,
)
from intention_kernel.contracts.json_codec import JsonValue
from pydantic import BaseModel, ConfigDict, Field

from examples.fan7.effects import (
    CALL_TIMEOUT_SECONDS,
    JOB,
    KEYS_KEPT_SECONDS,
    TASK,
    client_of,
    describe_reservation,
    describe_work_order,
    find_reservation,
    find_work_order,
    reserve,
    reserve_again,
    write_work_order,
)
from examples.fan7.inventory_client import ReservationReceipt, WorkOrderReceipt

RESERVATION = FactReference(type="reservation")
WORK_ORDER = FactReference(type="workOrder")
CONFIRMATION_SECONDS = 86_400.0

_FOLLOWS = f"A reservation for {JOB} is followed by its work order: propose both, the reservation first"


class Wanted(BaseModel):
    """What is to be reserved."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sku: Annotated[str, Field(min_length=1, description="The part, such as FILTER-A")]
    quantity: Annotated[int, Field(ge=1, strict=True)]


class Part(BaseModel):
    """Which part the question is about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sku: Annotated[str, Field(min_length=1, description="The part; FILTER-A where the user names none")] = "FILTER-A"


class Available(BaseModel):
    """Units that nobody reserved; null where the inventory has no such part."""

    sku: str
    available: int | None


class Nothing(BaseModel):
    """A work order needs no details: the job and its reservation say all."""

    model_config = ConfigDict(frozen=True, extra="forbid")


async def tell_stock(context: CapabilityExecutionContext, part: Part) -> CapabilityResult:
    """A question that writes nothing."""
    available = await client_of(context.ports).stock(part.sku)
    told = f"no part {part.sku}" if available is None else f"{available} {part.sku} in stock"
    message = f"There is {told}." if available is None else f"There are {told}."
    return _completed(Available(sku=part.sku, available=available), f"stock:{part.sku}", message)


async def reserve_parts(context: CapabilityExecutionContext, wanted: Wanted) -> CapabilityResult:
    """The approved reservation, once for the job. Another content under the job's key is told and changes nothing."""
    client = client_of(context.ports)
    try:
        effect = await context.run_effect(
            JOB, lambda authority: reserve(client, authority, wanted.sku, wanted.quantity)
        )
    except EffectConflictError:
        message = f"{JOB} already has a reservation with another content. Nothing was changed."
        return Failed(CapabilityIssue("EFFECT_CONFLICT", message))
    receipt = cast("ReservationReceipt", effect.value)
    message = f"Reserved {receipt['quantity']} {receipt['sku']} ({receipt['reference']})."
    return _completed(effect.value, effect.receipt.receipt_id, message, RESERVATION)


async def order_work(context: CapabilityExecutionContext, _: Nothing) -> CapabilityResult:
    """The work order for the job's reservation.

    Consent: `reservation` is published by the confirmed step alone, and its approval is that of the job. Where there is
    none the step waits for one, which is asked for if nobody has yet.
    """
    reservation = cast("ReservationReceipt | None", fact_value(context.facts, RESERVATION.type))
    if reservation is None:
        return NeedsDependency(RESERVATION, "inventory.reserve", {})
    client, key = client_of(context.ports), reservation["key"]
    payload: JsonValue = {"reservation": key, "task": TASK}
    effect = await context.run_effect(JOB, lambda authority: write_work_order(client, authority, key), payload=payload)
    order = cast("WorkOrderReceipt", effect.value)
    known = WORK_ORDER.key in context.facts
    message = f"{JOB} has its work order, {order['reference']}." if known else f"Wrote work order {order['reference']}."
    return _completed(effect.value, effect.receipt.receipt_id, message, WORK_ORDER, depends_on=(RESERVATION,))


def _completed(
    output: object,
    evidence_id: str,
    message: str,
    publishes: FactReference | None = None,
    depends_on: tuple[FactReference, ...] = (),
) -> Completed:
    """A result in its own words, which are its evidence; the fact it publishes is the output."""
    facts = (
        (
            FactCandidate(
                type=publishes.type,
                version=publishes.version,
                value=cast("JsonValue", output),
                evidence_ids=(evidence_id,),
                depends_on=depends_on,
            ),
        )
        if publishes is not None
        else ()
    )
    return Completed(
        output=output,
        facts=facts,
        evidence=(EvidenceRecord(id=evidence_id, source="external", content=message),),
        canonical_response=CanonicalResponse(message, (ResponseClaim(message, (evidence_id,)),)),
    )


STOCK = CapabilityDefinition(
    id="inventory.stock",
    description="Tell how many units of a part are in stock",
    effect="read",
    input=Part,
    output=Available,
    execute=tell_stock,
    guidance=CapabilityGuidance(when_to_use=("The user asks how many there are or are left",)),
)

ORDER_WORK = CapabilityDefinition(
    id="inventory.work_order",
    description=f"Write the work order of {JOB} for the parts that are reserved",
    effect="write",
    confirmation="capability",
    input=Nothing,
    output=WorkOrderReceipt,
    execute=order_work,
    requires=(FactRequirement("reservation", f"the parts reserved for {JOB}", resolution="runtime"),),
    provides=(FactDeclaration("workOrder"),),
    guidance=CapabilityGuidance(when_to_use=(_FOLLOWS, "The user asks for the work order")),
    describe=describe_work_order,
    resolver=Lookup(find_work_order),
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    provider_deduplicates=True,
    key_window_seconds=KEYS_KEPT_SECONDS,
)


def reservation_capability(resolver: Lookup | IdempotentRetry | Manual | None = None) -> CapabilityDefinition:
    """Reserving, with a way to find out an unknown outcome: by default the inventory is asked by key."""
    return CapabilityDefinition(
        id="inventory.reserve",
        description=f"Reserve parts for {JOB}",
        effect="write",
        confirmation="required",
        expires_seconds=CONFIRMATION_SECONDS,
        input=Wanted,
        output=ReservationReceipt,
        execute=reserve_parts,
        provides=(FactDeclaration("reservation"),),
        guidance=CapabilityGuidance(
            when_to_use=(f"The user wants parts reserved for {JOB}", _FOLLOWS),
            when_not_to_use=("The user only asks what is in stock",),
            examples=(f"reserve 2 FILTER-A for {JOB}",),
        ),
        describe=describe_reservation,
        resolver=resolver or Lookup(find_reservation),
        call=reserve_again,
        call_timeout_seconds=CALL_TIMEOUT_SECONDS,
        provider_deduplicates=True,
        key_window_seconds=KEYS_KEPT_SECONDS,
    )

"""FAN-7 as a plain Program: reserve two FILTER-A, lose the reply, settle, then write the work order.

The host says in `hostContext.settledBy` how an unknown reservation is to be found out: `lookup` (the default), `retry` or
`operator`. The three effects differ in nothing else.
"""

from __future__ import annotations

import re
from typing import cast

from intention_kernel.agent import (
    Agent,
    Effect,
    EffectConflictError,
    EffectNotAppliedError,
    IdempotentRetry,
    Lookup,
    Manual,
    Response,
    TurnContext,
    TurnResult,
)
from intention_kernel.contracts.json_codec import JsonValue

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

_RESERVE = re.compile(r"reserve (?P<quantity>\d+) (?P<sku>[A-Z0-9-]+) for FAN-7", re.IGNORECASE)
_EFFECTS = {"lookup": "inventory.reserve", "retry": "inventory.reserve_again", "operator": "inventory.reserve_manual"}


async def program(context: TurnContext) -> TurnResult:
    """Reserve and write the work order, or tell the stock."""
    wanted = _RESERVE.search(context.input.text)
    if wanted is None:
        return await tell_stock(context)
    try:
        return await reserve_and_order(context, wanted["sku"].upper(), int(wanted["quantity"]))
    except EffectConflictError:
        message = f"{JOB} already has a reservation with another content. Nothing was changed."
    except EffectNotAppliedError as error:
        message = f"That was not possible, and nothing was changed: {error.detail}"
    return TurnResult(Response(message, status="refused"))


async def reserve_and_order(context: TurnContext, sku: str, quantity: int) -> TurnResult:
    """Both effects, in order. An unknown outcome of either leaves the turn blocked on its receipt."""
    client = client_of(context.ports)
    effect = _EFFECTS[str(context.host_context.get("settledBy", "lookup"))]
    reserved = await context.run_effect(
        JOB,
        lambda authority: reserve(client, authority, sku, quantity),
        payload={"sku": sku, "quantity": quantity},
        effect=effect,
    )
    reservation = cast("ReservationReceipt", reserved.value)
    ordered = await context.run_effect(
        JOB,
        lambda authority: write_work_order(client, authority, reservation["key"]),
        payload={"reservation": reservation["key"], "task": TASK},
        effect="inventory.work_order",
    )
    order = cast("WorkOrderReceipt", ordered.value)
    message = f"Reserved {quantity} {sku} ({reservation['reference']}) and wrote work order {order['reference']}."
    facts: dict[str, JsonValue] = {
        "reservation": reserved.value,
        "workOrder": ordered.value,
    }
    return TurnResult(Response(message), facts)


async def tell_stock(context: TurnContext) -> TurnResult:
    """A question that writes nothing."""
    available = await client_of(context.ports).stock("FILTER-A")
    return TurnResult(Response(f"There are {available} FILTER-A in stock."))


def _reservation_effect(effect_id: str, resolver: Lookup | IdempotentRetry | Manual) -> Effect:
    return Effect(
        id=effect_id,
        result=ReservationReceipt,
        describe=describe_reservation,
        resolver=resolver,
        call=reserve_again,
        call_timeout_seconds=CALL_TIMEOUT_SECONDS,
        provider_deduplicates=True,
        key_window_seconds=KEYS_KEPT_SECONDS,
    )


agent = Agent(
    id="fan7",
    program=program,
    effects=(
        _reservation_effect("inventory.reserve", Lookup(find_reservation)),
        _reservation_effect("inventory.reserve_again", IdempotentRetry()),
        _reservation_effect("inventory.reserve_manual", Manual()),
        Effect(
            id="inventory.work_order",
            result=WorkOrderReceipt,
            describe=describe_work_order,
            resolver=Lookup(find_work_order),
            call_timeout_seconds=CALL_TIMEOUT_SECONDS,
            provider_deduplicates=True,
            key_window_seconds=KEYS_KEPT_SECONDS,
        ),
    ),
)

"""FAN-7, the worked example: reserve two FILTER-A, lose the reply, settle, then write the work order.

The host says in `hostContext.settledBy` how an unknown reservation is to be found out: `lookup` (the default), `retry` or
`operator`. The three effects differ in nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import cast

from intention_kernel.agent import (
    Absent,
    Agent,
    Effect,
    EffectAuthority,
    EffectConflictError,
    EffectNotAppliedError,
    Found,
    IdempotentRetry,
    Lookup,
    Manual,
    Ports,
    ReceiptView,
    Response,
    Summary,
    TurnContext,
    TurnResult,
)
from intention_kernel.application import Application
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError

from examples.fan7.inventory_client import (
    InventoryClient,
    InventoryConflict,
    InventoryRefused,
    ReservationReceipt,
    WorkOrderReceipt,
)

JOB = "FAN-7"
TASK = "Replace the filters of FAN-7"
CALL_TIMEOUT_SECONDS = 5.0
KEYS_KEPT_SECONDS = 86_400.0
"""The inventory keeps its keys for good; a day is more than any retry takes."""

_RESERVE = re.compile(r"reserve (?P<quantity>\d+) (?P<sku>[A-Z0-9-]+) for FAN-7", re.IGNORECASE)
_EFFECTS = {"lookup": "inventory.reserve", "retry": "inventory.reserve_again", "operator": "inventory.reserve_manual"}


@asynccontextmanager
async def inventory() -> AsyncIterator[InventoryClient]:
    """The inventory that FAN7_INVENTORY_URL names."""
    url = os.environ.get("FAN7_INVENTORY_URL")
    if not url:
        raise ConfigurationError(
            "FAN7_INVENTORY_URL: is not set; start `python -m examples.fan7.inventory` and give the address it prints"
        )
    async with InventoryClient(url, timeout_seconds=CALL_TIMEOUT_SECONDS) as client:
        yield client


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
    client = _client(context.ports)
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
    available = await _client(context.ports).stock("FILTER-A")
    return TurnResult(Response(f"There are {available} FILTER-A in stock."))


async def reserve(client: InventoryClient, authority: EffectAuthority, sku: str, quantity: int) -> JsonValue:
    """The external write. Only the inventory's own refusal proves that nothing was written."""
    try:
        return cast("JsonValue", await client.reserve(authority.idempotency_key, sku, quantity))
    except (InventoryRefused, InventoryConflict) as refusal:
        raise EffectNotAppliedError(str(refusal)) from refusal


async def write_work_order(client: InventoryClient, authority: EffectAuthority, reservation: str) -> JsonValue:
    """The second write, under a key of its own."""
    try:
        return cast("JsonValue", await client.write_work_order(authority.idempotency_key, reservation, TASK))
    except (InventoryRefused, InventoryConflict) as refusal:
        raise EffectNotAppliedError(str(refusal)) from refusal


async def reserve_again(payload: JsonValue, authority: EffectAuthority, ports: Ports) -> JsonValue:
    """The identical call, as the reconciler repeats it."""
    wanted = cast("dict[str, JsonValue]", payload)
    return await reserve(_client(ports), authority, str(wanted["sku"]), cast("int", wanted["quantity"]))


async def find_reservation(receipt: ReceiptView, ports: Ports) -> Found | Absent:
    """Ask the inventory by key."""
    found = await _client(ports).find_reservation(receipt.idempotency_key)
    return Absent() if found is None else Found(cast("JsonValue", found), found["reference"])


async def find_work_order(receipt: ReceiptView, ports: Ports) -> Found | Absent:
    """Ask the inventory by key."""
    found = await _client(ports).find_work_order(receipt.idempotency_key)
    return Absent() if found is None else Found(cast("JsonValue", found), found["reference"])


def describe_reservation(payload: JsonValue) -> Summary:
    """A reservation in people's words."""
    wanted = cast("dict[str, JsonValue]", payload)
    quantity = cast("int", wanted["quantity"])
    return Summary(f"the reservation of {quantity} {wanted['sku']}", "inventory", Decimal(quantity), "pieces")


def describe_work_order(payload: JsonValue) -> Summary:
    """A work order in people's words."""
    return Summary(f"the work order of {JOB}", "inventory")


def _client(ports: Ports) -> InventoryClient:
    return cast("InventoryClient", ports["inventory"])


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

application = Application(agents=(agent,), ports={"inventory": inventory})

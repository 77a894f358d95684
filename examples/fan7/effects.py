"""What FAN-7 does to the inventory, and how an unknown outcome is found out: shared by the Program and the compiled agent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import cast

from intention_kernel.agent import Absent, EffectAuthority, EffectNotAppliedError, Found, Ports, ReceiptView, Summary
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError

from examples.fan7.inventory_client import InventoryClient, InventoryConflict, InventoryRefused

JOB = "FAN-7"
TASK = "Replace the filters of FAN-7"
CALL_TIMEOUT_SECONDS = 5.0
KEYS_KEPT_SECONDS = 86_400.0
"""The inventory keeps its keys for good; a day is more than any retry takes."""


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
    return await reserve(client_of(ports), authority, str(wanted["sku"]), cast("int", wanted["quantity"]))


async def find_reservation(receipt: ReceiptView, ports: Ports) -> Found | Absent:
    """Ask the inventory by key."""
    found = await client_of(ports).find_reservation(receipt.idempotency_key)
    return Absent() if found is None else Found(cast("JsonValue", found), found["reference"])


async def find_work_order(receipt: ReceiptView, ports: Ports) -> Found | Absent:
    """Ask the inventory by key."""
    found = await client_of(ports).find_work_order(receipt.idempotency_key)
    return Absent() if found is None else Found(cast("JsonValue", found), found["reference"])


def describe_reservation(payload: JsonValue) -> Summary:
    """A reservation in people's words."""
    wanted = cast("dict[str, JsonValue]", payload)
    quantity = cast("int", wanted["quantity"])
    return Summary(f"the reservation of {quantity} {wanted['sku']}", "inventory", Decimal(quantity), "pieces")


def describe_work_order(payload: JsonValue) -> Summary:
    """A work order in people's words."""
    return Summary(f"the work order of {JOB}", "inventory")


def client_of(ports: Ports) -> InventoryClient:
    """The inventory that the application opened."""
    return cast("InventoryClient", ports["inventory"])

"""How a write reaches the shop, and how an unknown outcome is found out.

The key is the id of the confirmed intention, which the checkpoint keeps: the same on every attempt, another for every
request of the customer. The shop keeps the outcome of a key for good and answers a repeat with it, so an absent key may be
tried again at once: whichever request arrives first is the effect, and the other one gets its outcome. A refusal is not
kept, but every attempt is judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from intention_kernel.agent import (
    Absent,
    CapabilityIssue,
    EffectAuthority,
    EffectNotAppliedError,
    Found,
    Inconclusive,
    Ports,
    ReceiptView,
)
from intention_kernel.contracts.json_codec import JsonValue
from pydantic import BaseModel

from examples.retail.customer import Customer, shop_of, signed_in
from examples.retail.shop_client import ShopConflict, ShopRefused, ShopUnavailable
from examples.retail.shop_store import fingerprint_of

CALL_TIMEOUT_SECONDS = 5.0
KEYS_KEPT_SECONDS = 86_400.0
"""The shop keeps its keys for good; a day is more than any retry takes."""

UNAVAILABLE = "unavailable"
"""The code of an issue after which the customer may just say it again."""

_FIRST_ATTEMPT = 1


def write_at_shop(
    customer: Customer, operation: str, wanted: BaseModel
) -> Callable[[EffectAuthority], Awaitable[JsonValue]]:
    """The external write. Only an answer of the shop that says so proves that nothing was changed."""

    async def write(authority: EffectAuthority) -> JsonValue:
        key, kwargs = authority.idempotency_key, wanted.model_dump()
        try:
            return cast("JsonValue", await customer.shop.write(customer.world, key, operation, kwargs))
        except (ShopRefused, ShopConflict) as refusal:
            raise EffectNotAppliedError(str(refusal)) from refusal
        except ShopUnavailable as away:
            # It answers for this request alone: one of an earlier attempt may still be on its way, and only the key tells.
            if authority.attempt > _FIRST_ATTEMPT:
                raise
            raise EffectNotAppliedError(str(away)) from away

    return write


def issue_of(error: EffectNotAppliedError) -> CapabilityIssue:
    """The shop's refusal as it was recorded: its code and its words."""
    code, _, message = error.detail.partition(": ")
    return CapabilityIssue(code, message, retryable=code == UNAVAILABLE)


async def find_at_shop(receipt: ReceiptView, ports: Ports) -> Found | Absent | Inconclusive:
    """Ask the shop by key, in the world of the turn that wrote."""
    found = signed_in(receipt.host_context)
    if found is None:
        return Inconclusive("the turn's host context names no world")
    outcome = await shop_of(ports).find(found[1], receipt.idempotency_key)
    if outcome is None:
        return Absent()
    operation, kwargs = receipt.idempotency_key.partition(":")[0], cast("dict[str, JsonValue]", receipt.payload)
    if outcome["fingerprint"] != fingerprint_of(operation, kwargs):
        return Inconclusive("the shop has another payload under this key")
    return Found(cast("JsonValue", outcome), outcome["reference"])

"""A shop in this process for tests of the agent: the shop's own endpoints, and what the agent has asked them."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
from intention_kernel.agent import Absent, Found, Lookup, ReceiptView
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.testing import MemoryDurability, SpokenTurn, Talk

from examples.retail.agent import retail_agent
from examples.retail.customer import SHOP
from examples.retail.records import EXTRACT, Records, load_records
from examples.retail.shop_app import shop_app
from examples.retail.shop_client import ShopClient, ShopOutcome
from examples.retail.shop_store import IN_MEMORY, ShopStore

AGENT = retail_agent()
RECORDS = load_records(EXTRACT)
WORLD = "world-1"


class WatchedShop(ShopClient):
    """The shop's endpoints without a network; `asked` are the operations and their arguments, `keys` those of writes."""

    def __init__(self, records: Records = RECORDS) -> None:
        super().__init__("http://shop")
        transport = httpx.ASGITransport(app=shop_app(ShopStore(IN_MEMORY, records)))
        self._http = httpx.AsyncClient(transport=transport, base_url="http://shop")
        self.asked: list[tuple[str, dict[str, JsonValue]]] = []
        self.keys: list[str] = []

    async def read(self, world: str, operation: str, kwargs: Mapping[str, JsonValue]) -> JsonValue:
        self.asked.append((operation, dict(kwargs)))
        return await super().read(world, operation, kwargs)

    async def write(self, world: str, key: str, operation: str, kwargs: Mapping[str, JsonValue]) -> ShopOutcome:
        self.asked.append((operation, dict(kwargs)))
        self.keys.append(key)
        return await super().write(world, key, operation, kwargs)


def talk_with(
    model: ModelGateway, shop: ShopClient, user_id: str, world: str = WORLD, thread_id: str = "thread-1"
) -> Talk:
    """A thread of that customer."""
    durability = MemoryDurability(model, ports={SHOP: shop})
    host = {"userId": user_id, "world": world}
    return Talk(AGENT, durability=durability, thread_id=thread_id, host_context=host)


async def settled_by_lookup(talk: Talk, effect_key: str, shop: ShopClient) -> SpokenTurn:
    """Settle as the reconciler does: on what the effect's own resolver finds. The shop deduplicates, so absent settles."""
    receipt = talk.effect(effect_key)
    effect = AGENT.capabilities[effect_key.partition(":")[0]].effect
    assert effect is not None
    assert isinstance(effect.resolver, Lookup)
    assert effect.provider_deduplicates
    now = talk.durability.clock.now()
    view = ReceiptView(
        receipt_id=receipt.receipt_id,
        thread_id=talk.thread_id,
        turn_id=receipt.turn_id,
        agent_id=AGENT.id,
        tenant_id=None,
        key=effect_key,
        payload=receipt.payload,
        state=receipt.state,
        version=receipt.version,
        attempt=receipt.attempt,
        prepared_at=now,
        call_deadline=now,
        host_context=_stored_host_context(talk, effect_key),
    )
    match await effect.resolver.find(view, {SHOP: shop}):
        case Found(value=value):
            return await talk.settles_as_applied(effect_key, value)
        case Absent():
            return await talk.settles_as_not_applied(effect_key)
        case other:
            raise AssertionError(f"the shop's answer proves nothing: {other}")


def _stored_host_context(talk: Talk, effect_key: str) -> JsonValue:
    rows = talk.durability.store.tables.receipts_of(talk.thread_id)
    return loads(next(row.host_context for row in rows if row.effect_key == effect_key))

"""A customer reaches nobody else's records, whatever a model proposes: it is refused before the shop is asked."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script import ConversationScript
from intention_kernel.testing import SpokenTurn, Talk

from examples.retail.rules.operations import OPERATIONS
from tests.retail.agent_play import issue_codes
from tests.retail.agent_shop import AGENT, RECORDS, WORLD, WatchedShop, talk_with

ME, OTHER = "evelyn_kovacs_6742", next(id for id in RECORDS.users if id != "evelyn_kovacs_6742")
THEIR = RECORDS.users[OTHER]
THEIR_ORDER = THEIR["orders"][0]
THEIR_METHOD = next(iter(THEIR["payment_methods"]))
THEIR_ITEM = RECORDS.orders[THEIR_ORDER]["items"][0]["item_id"]
ADDRESS = {name: "Elsewhere 1" for name in ("address1", "address2", "city", "state", "country", "zip")}
ITEMS: dict[str, JsonValue] = {
    "order_id": THEIR_ORDER,
    "item_ids": [THEIR_ITEM],
    "new_item_ids": [THEIR_ITEM],
    "payment_method_id": THEIR_METHOD,
}

REACHES: Mapping[str, Mapping[str, JsonValue]] = {
    "get_user_details": {"user_id": OTHER},
    "get_order_details": {"order_id": THEIR_ORDER},
    "find_user_id_by_email": {"email": THEIR["email"]},
    "find_user_id_by_name_zip": {
        "first_name": THEIR["name"]["first_name"],
        "last_name": THEIR["name"]["last_name"],
        "zip": THEIR["address"]["zip"],
    },
    "cancel_pending_order": {"order_id": THEIR_ORDER, "reason": "no longer needed"},
    "modify_pending_order_address": {"order_id": THEIR_ORDER, **ADDRESS},
    "modify_pending_order_payment": {"order_id": THEIR_ORDER, "payment_method_id": THEIR_METHOD},
    "modify_pending_order_items": ITEMS,
    "exchange_delivered_order_items": ITEMS,
    "return_delivered_order_items": {name: value for name, value in ITEMS.items() if name != "new_item_ids"},
    "modify_user_address": {"user_id": OTHER, **ADDRESS},
    "choose_item": {"order_id": THEIR_ORDER, "operation": "return_delivered_order_items"},
    "choose_variant": {
        "order_id": THEIR_ORDER,
        "item_id": THEIR_ITEM,
        "operation": "exchange_delivered_order_items",
    },
}
ABOUT_NOBODY = {
    "get_product_details",
    "list_all_product_types",
    "calculate",
    "transfer_to_human_agents",
    "choose_order",
}


def a_talk(shop: WatchedShop, name: str, user_id: str) -> Talk:
    script = ConversationScript()
    script.when("Please do it").proposes(name, dict(REACHES[name]))
    return talk_with(script, shop, user_id)


async def said(talk: Talk) -> SpokenTurn:
    turn = await talk.says("Please do it")
    asked = turn.interaction
    return await talk.clicks("yes") if asked is not None and asked.kind == "confirmation" else turn


def test_every_capability_is_in_the_table_or_names_no_record() -> None:
    assert set(AGENT.capabilities) == set(REACHES) | ABOUT_NOBODY
    assert set(OPERATIONS) <= set(AGENT.capabilities)


@pytest.mark.parametrize("name", REACHES)
async def test_the_shop_is_never_asked_for_a_record_of_another_customer(name: str) -> None:
    async with WatchedShop() as shop:
        turn = await said(a_talk(shop, name, ME))
        assert issue_codes(turn) in (["order_not_found"], ["user_not_found"])
        assert all(asked == ("get_user_details", {"user_id": ME}) for asked in shop.asked)
        assert await shop.ledger() == []
        told = str([event.data for event in turn.events if event.type == "capability.failed"]) + (turn.message or "")
        assert not [secret for secret in (THEIR["address"]["address1"], THEIR["email"], THEIR_METHOD) if secret in told]


@pytest.mark.parametrize("name", REACHES)
async def test_the_owner_is_not_refused_by_the_same_check(name: str) -> None:
    """The table proposes what would work for somebody."""
    async with WatchedShop() as shop:
        turn = await said(a_talk(shop, name, OTHER))
        assert not {"order_not_found", "user_not_found"} & set(issue_codes(turn))


async def test_an_order_of_another_and_one_that_does_not_exist_are_told_alike() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        script.when("Theirs").proposes("get_order_details", {"order_id": THEIR_ORDER})
        script.when("Nobody's").proposes("get_order_details", {"order_id": "#W0000000"})
        talk = talk_with(script, shop, ME)
        theirs, nobodys = await talk.says("Theirs"), await talk.says("Nobody's")
        assert (theirs.message or "").replace(THEIR_ORDER, "#W0000000") == nobodys.message


@pytest.mark.parametrize("host", [{}, {"userId": ME}, {"world": WORLD}, {"userId": "", "world": WORLD}, {"userId": 7}])
async def test_nothing_is_done_for_somebody_whom_the_host_has_not_signed_in(host: dict[str, JsonValue]) -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "get_user_details", OTHER)
        turn = await talk.says("Please do it", host_context=host)
        turn.plans("get_user_details", "POLICY_DENIED")
        turn.says("Please sign in first")
        assert shop.asked == []


async def test_a_thread_that_knows_one_customer_is_closed_to_another() -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "get_order_details", OTHER)
        await said(talk)
        shop.asked.clear()
        turn = await talk.says("Please do it", host_context={"userId": ME, "world": WORLD})
        turn.plans("get_order_details", "POLICY_DENIED")
        assert shop.asked == []


async def test_a_confirmation_is_of_no_use_to_another_customer() -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "cancel_pending_order", OTHER)
        await talk.says("Please do it")
        turn = await talk.clicks("yes", host_context={"userId": ME, "world": WORLD})
        turn.tells_issue("cancel_pending_order", "order_not_found")
        assert await shop.ledger() == []


async def test_models_are_not_told_who_the_customer_is_nor_which_world_it_is() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        script.when("What do you sell?").proposes("list_all_product_types", {})
        await talk_with(script, shop, ME, world="world-of-a-secret").says("What do you sell?")
        requests = str([request.to_json() for request in script.requests])
        assert ME not in requests
        assert "world-of-a-secret" not in requests

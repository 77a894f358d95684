"""Where several orders, items or variants match, the customer is asked; the answer leads to the write, which is confirmed."""

from __future__ import annotations

from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script import ConversationScript
from intention_kernel.testing import Talk

from tests.retail.agent_shop import RECORDS, WORLD, WatchedShop, talk_with

CUSTOMER_ID = "evelyn_kovacs_6742"
CAMERA, DELIVERED = "#W9651773", "#W2768683"
MISTAKE = "ordered by mistake"


def examples_of(asked: Interaction) -> list[str]:
    return [example for option in asked.options for example in option.reference_examples or ()]


async def test_an_order_that_is_not_named_is_chosen_among_those_that_the_operation_fits() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        script.when("Cancel my order").proposes("choose_order", {"operation": "cancel_pending_order"})
        cancel: dict[str, JsonValue] = {"order_id": CAMERA, "reason": MISTAKE}
        script.when("The camera, it was a mistake").answers(CAMERA).proposes("cancel_pending_order", cancel)
        talk = talk_with(script, shop, CUSTOMER_ID)
        asked = (await talk.says("Cancel my order")).asks("choice", "Which of your orders do you mean")
        pending = [
            id
            for id, order in RECORDS.orders.items()
            if (order["user_id"], order["status"]) == (CUSTOMER_ID, "pending")
        ]
        assert {option.id for option in asked.options} == set(pending)
        assert {option.target_capability_id for option in asked.options} == {"cancel_pending_order"}

        turn = await talk.says("The camera, it was a mistake")
        turn.asks("confirmation")
        assert await shop.ledger() == []
        (await talk.clicks("yes")).says(f"Order {CAMERA} is cancelled.")
        assert set((await shop.changes(WORLD))["orders"]) == {CAMERA}
        assert (talk.agenda, talk.interaction) == ((), None)


async def test_a_clicked_order_leads_to_the_operation_too() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        script.when("Cancel my order").proposes("choose_order", {"operation": "cancel_pending_order"})
        talk = talk_with(script, shop, CUSTOMER_ID)
        asked = (await talk.says("Cancel my order")).asks("choice")
        label = next(option.label for option in asked.options if option.id == CAMERA)
        script.when(label).proposes("cancel_pending_order", {"order_id": CAMERA, "reason": MISTAKE})
        (await talk.clicks(CAMERA)).asks("confirmation")
        (await talk.clicks("yes")).says(f"Order {CAMERA} is cancelled.")


async def test_one_order_that_fits_is_told_and_none_is_an_issue() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        script.when("Send it back").proposes("choose_order", {"operation": "return_delivered_order_items"})
        talk = talk_with(script, shop, CUSTOMER_ID)
        turn = await talk.says("Send it back")
        turn.asks_nothing()
        turn.says(f"You have one: Order {DELIVERED} is delivered.")

        nobody = next(
            id
            for id, user in RECORDS.users.items()
            if all(RECORDS.orders[order]["status"] != "delivered" for order in user["orders"])
        )
        turn = await talk_with(script, shop, nobody).says("Send it back")
        turn.tells_issue("choose_order", "order_not_found")


async def test_items_are_told_apart_by_their_names_colours_and_sizes() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        wanted: dict[str, JsonValue] = {"order_id": DELIVERED, "operation": "return_delivered_order_items"}
        script.when("I want to return something").proposes("choose_item", wanted)
        talk = talk_with(script, shop, CUSTOMER_ID)
        asked = (await talk.says("I want to return something")).asks("choice")
        items = RECORDS.orders[DELIVERED]["items"]
        assert [option.value for option in asked.options] == [item["item_id"] for item in items]
        examples = examples_of(asked)
        assert "Bookshelf" in examples
        assert len(examples) == len({example.casefold() for example in examples})


async def test_variants_are_those_that_can_be_had_with_their_options_as_examples() -> None:
    async with WatchedShop() as shop:
        item = RECORDS.orders[DELIVERED]["items"][0]
        script = ConversationScript()
        wanted: dict[str, JsonValue] = {
            "order_id": DELIVERED,
            "item_id": item["item_id"],
            "operation": "exchange_delivered_order_items",
        }
        script.when("Another one").proposes("choose_variant", wanted)
        talk = talk_with(script, shop, CUSTOMER_ID)
        asked = (await talk.says("Another one")).asks("choice", item["name"])
        variants = RECORDS.products[item["product_id"]]["variants"].values()
        had = [one for one in variants if one["available"] and one["item_id"] != item["item_id"]]
        assert [option.id for option in asked.options] == [one["item_id"] for one in had]
        values = [value for one in had for value in one["options"].values()]
        assert set(examples_of(asked)) == {value for value in values if values.count(value) == 1}

        exchange: dict[str, JsonValue] = {
            "order_id": DELIVERED,
            "item_ids": [item["item_id"]],
            "new_item_ids": [had[0]["item_id"]],
            "payment_method_id": RECORDS.orders[DELIVERED]["payment_history"][0]["payment_method_id"],
        }
        await exchanged(talk, script, had[0]["item_id"], exchange)
        assert (await shop.changes(WORLD))["orders"][DELIVERED]["status"] == "exchange requested"


async def exchanged(talk: Talk, script: ConversationScript, chosen: str, exchange: dict[str, JsonValue]) -> None:
    script.when("The first").answers(chosen).proposes("exchange_delivered_order_items", exchange)
    (await talk.says("The first")).asks("confirmation")
    (await talk.clicks("yes")).says(f"Order {DELIVERED} is exchange requested.")

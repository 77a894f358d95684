"""The retail agent: consent, keys, facts, refusals, and outcomes that have to be found out."""

from __future__ import annotations

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script import ConversationScript
from intention_kernel.testing import SpokenTurn, Talk

from examples.retail.capabilities.writes import WRITES
from examples.retail.rules.operations import OPERATIONS, Write
from tests.retail.agent_play import issue_codes
from tests.retail.agent_shop import AGENT, RECORDS, WORLD, WatchedShop, settled_by_lookup, talk_with

CUSTOMER_ID = "evelyn_kovacs_6742"
CAMERA, KETTLE = "#W9651773", "#W5694685"
CANCEL: dict[str, JsonValue] = {"order_id": CAMERA, "reason": "ordered by mistake"}


def a_talk(shop: WatchedShop, operation: str, kwargs: dict[str, JsonValue]) -> Talk:
    script = ConversationScript()
    script.when("Please do it").proposes(operation, kwargs)
    script.when("Yes").answers(True)
    return talk_with(script, shop, CUSTOMER_ID)


async def confirmed(talk: Talk) -> SpokenTurn:
    asked = await talk.says("Please do it")
    asked.asks("confirmation")
    asked.applied_nothing()
    return await talk.clicks("yes")


def the_key(talk: Talk) -> str:
    (key,) = talk.effects
    return key


def test_every_operation_of_the_shop_is_a_capability_and_every_write_needs_a_confirmation() -> None:
    assert set(AGENT.capabilities) >= set(OPERATIONS)
    for name, operation in OPERATIONS.items():
        definition = AGENT.capabilities[name].definition
        is_write = isinstance(operation, Write)
        assert (definition.effect, definition.confirmation) == (("write", "required") if is_write else ("read", "none"))
    assert len(WRITES) == 7


async def test_a_write_waits_for_a_yes_and_its_key_is_the_id_of_the_confirmed_intention() -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        asked = await talk.says("Please do it")
        asked.asks("confirmation")
        assert shop.keys == []
        intention_id = talk.unfinished("cancel_pending_order").intention.id

        done = await talk.clicks("yes")
        done.applied(f"cancel_pending_order:{intention_id}")
        done.says(f"Order {CAMERA} is cancelled.")
        assert done.models == ()
        (entry,) = await shop.ledger()
        assert (entry["key"], entry["world"], entry["kwargs"]) == (the_key(talk), WORLD, CANCEL)


async def test_the_same_operation_asked_for_twice_has_two_keys() -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        await confirmed(talk)
        again = await confirmed(talk)
        assert issue_codes(again) == ["order_not_pending"]
        assert len(set(shop.keys)) == 2
        assert len(await shop.ledger()) == 1


async def test_a_refusal_of_the_shop_is_told_in_its_words_and_changes_nothing() -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "cancel_pending_order", CANCEL | {"reason": "found it cheaper"})
        turn = await confirmed(talk)
        turn.tells_issue("cancel_pending_order", "reason_not_allowed")
        turn.says("The reason must be one of: no longer needed, ordered by mistake.")
        assert await shop.changes(WORLD) == {}


async def test_orders_and_the_account_are_facts_with_evidence_until_they_change() -> None:
    async with WatchedShop() as shop:
        script = ConversationScript()
        script.when("My order").proposes("get_order_details", {"order_id": CAMERA})
        script.when("My account").proposes("get_user_details", {"user_id": CUSTOMER_ID})
        script.when("Cancel it").proposes("cancel_pending_order", CANCEL)
        talk = talk_with(script, shop, CUSTOMER_ID)
        await talk.says("My order")
        await talk.says("My account")
        order, customer = talk.fact("order"), talk.fact("customer")
        assert order.value == RECORDS.orders[CAMERA]
        assert f"Order {CAMERA} is pending." in order.evidence[0].content
        assert customer.value == {"user_id": CUSTOMER_ID, **RECORDS.users[CUSTOMER_ID]}
        assert customer.evidence[0].source == "external"

        await talk.says("Cancel it")
        await talk.clicks("yes")
        assert talk.facts == {}


async def test_a_lost_reply_blocks_the_step_and_a_lookup_by_key_lets_it_go_on() -> None:
    async with WatchedShop() as shop:
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        talk.loses_reply("cancel_pending_order")
        turn = await confirmed(talk)
        turn.waits_for(the_key(talk))
        turn.says(f"I could not confirm whether the cancellation of order {CAMERA} went through.")

        turn = await settled_by_lookup(talk, the_key(talk), shop)
        turn.says(f"Order {CAMERA} is cancelled.")
        assert (len(shop.keys), len(await shop.ledger()), talk.effect(the_key(talk)).attempt) == (1, 1, 1)
        assert talk.agenda == ()


async def test_a_request_that_never_arrived_is_sent_again_under_the_same_key() -> None:
    async with WatchedShop() as shop:
        await shop.turn_faults({"failBeforeCommit": {"count": 1}})
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        (await confirmed(talk)).waits_for(the_key(talk))
        assert await shop.ledger() == []

        turn = await settled_by_lookup(talk, the_key(talk), shop)
        turn.says(f"Order {CAMERA} is cancelled.")
        assert talk.effect(the_key(talk)).attempt == 2
        assert shop.keys == [the_key(talk)] * 2
        assert len(await shop.ledger()) == 1


async def test_a_shop_that_is_closed_changes_nothing_and_the_customer_may_say_it_again() -> None:
    async with WatchedShop() as shop:
        await shop.turn_faults({"refuse": {"count": 1}})
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        turn = await confirmed(talk)
        turn.tells_issue("cancel_pending_order", "unavailable")
        assert talk.effect(the_key(talk)).state == "failed"
        (await confirmed(talk)).says(f"Order {CAMERA} is cancelled.")
        assert len(await shop.ledger()) == 1


async def test_a_closed_shop_proves_nothing_about_an_earlier_attempt() -> None:
    """The earlier request may still be on its way: its receipt stays uncertain until the key tells."""
    async with WatchedShop() as shop:
        await shop.turn_faults({"failBeforeCommit": {"count": 1}})
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        await confirmed(talk)
        key = the_key(talk)
        await shop.turn_faults({"refuse": {"count": 1}})
        (await settled_by_lookup(talk, key, shop)).waits_for(key)
        # What was sent first arrives late.
        await shop.write(WORLD, key, "cancel_pending_order", CANCEL)
        (await settled_by_lookup(talk, key, shop)).says(f"Order {CAMERA} is cancelled.")
        assert len(await shop.ledger()) == 1


async def test_what_the_shop_has_under_a_key_is_no_answer_for_another_payload() -> None:
    """R23: a find with another payload settles nothing."""
    async with WatchedShop() as shop:
        await shop.turn_faults({"failBeforeCommit": {"count": 1}})
        talk = a_talk(shop, "cancel_pending_order", CANCEL)
        await confirmed(talk)
        await shop.write(WORLD, the_key(talk), "cancel_pending_order", CANCEL | {"order_id": KETTLE})
        with pytest.raises(AssertionError, match="another payload"):
            await settled_by_lookup(talk, the_key(talk), shop)

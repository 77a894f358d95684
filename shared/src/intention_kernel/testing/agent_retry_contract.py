"""Retries of compiled agents over any store: a retry repeats the turn. Subclass it beside a fixture `boundary`."""

from __future__ import annotations

from intention_kernel.durability.outcome import TurnReplayed
from intention_kernel.models.script import ConversationScript
from intention_kernel.testing.agent_continuation_contract import message_of
from intention_kernel.testing.agent_world import Shop, shop_agent, shop_script, shopping
from intention_kernel.testing.boundary_harness import BoundaryHarness, receipt_of
from intention_kernel.testing.program_world import die_after_the_call, result_of


class AgentRetryContract:
    """What an earlier attempt of the turn asked, read and wrote is what the next one sees (protocol 3)."""

    async def test_a_retry_asks_no_model_again_and_blocks_on_what_it_cannot_know(
        self, boundary: BoundaryHarness
    ) -> None:
        """R14, R16: the journal rode on the prepare, so the plan is the same even if a model would say otherwise now."""
        shop, script = Shop(), shop_script()
        conversation = shopping(boundary, shop)
        conversation.gateway = script
        await die_after_the_call(conversation, "send tea", "t1")
        asked = len(script.requests)
        conversation.gateway = ConversationScript()
        blocked = result_of(await conversation.send("send tea", "t1"))
        assert blocked["status"] == "blocked"
        assert shop.provider.calls == ["shop.send:pack-tea"]
        assert len(script.requests) == asked > 0
        receipt = await receipt_of(boundary, conversation.thread_id, "shop.send:pack-tea")
        assert blocked["blockedOn"] == [receipt.receipt_id]

    async def test_a_retry_sees_what_a_read_saw_and_tells_its_events_again(self, boundary: BoundaryHarness) -> None:
        """R16: a read that was finished when an effect began is not made again."""
        shop = Shop()
        conversation = shopping(boundary, shop)
        await die_after_the_call(conversation, "find tea and send jam", "t1")
        await conversation.send("find tea and send jam", "t1")
        assert shop.looked == ["tea"]
        memory = await conversation.checkpoint()
        assert memory.fact("shelf@1") == "tea no. 1"
        told = [event for event in await conversation.events() if event["type"] == "capability.event"]
        assert [event["data"] for event in told] == [
            {"capabilityId": "shop.find", "name": "shop.looked", "data": {"name": "tea"}}
        ]

    async def test_a_repeated_turn_gets_the_stored_result_and_asks_nobody(self, boundary: BoundaryHarness) -> None:
        """R7: E8 of the contract."""
        shop, script = Shop(), shop_script()
        conversation = shopping(boundary, shop)
        conversation.gateway = script
        await conversation.send("buy tea", "t1")
        first = await conversation.send("yes", "t2")
        asked = len(script.requests)
        again = await conversation.send("yes", "t2")
        assert isinstance(again, TurnReplayed)
        assert result_of(again) == result_of(first)
        assert shop.provider.calls == ["shop.buy:tea"]
        assert len(script.requests) == asked

    async def test_consent_survives_a_deploy_that_changes_nothing_of_the_contract(
        self, boundary: BoundaryHarness
    ) -> None:
        """A new process of the same definition goes on with the pending confirmation."""
        shop = Shop()
        conversation = shopping(boundary, shop)
        await conversation.send("buy tea", "t1")
        conversation.agent, conversation.gateway = shop_agent(shop), shop_script()
        assert message_of(await conversation.send("yes", "t2")) == "Bought tea."

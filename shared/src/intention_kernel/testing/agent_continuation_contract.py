"""Blocked steps of compiled agents over any store: settlement resumes them. Subclass it beside a fixture `boundary`."""

from __future__ import annotations

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.outcome import BeginAgain, TurnCommitted
from intention_kernel.testing.agent_world import Shop, shop_agent, shopping
from intention_kernel.testing.boundary_harness import BoundaryHarness, receipt_of
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import result_of, settle


async def block(conversation: Conversation, *messages: str) -> dict[str, JsonValue]:
    """Say these in turns of their own, and return the last one's result, which is blocked."""
    results = [result_of(await conversation.send(text, f"{text} {n}")) for n, text in enumerate(messages)]
    assert results[-1]["status"] == "blocked"
    return results[-1]


def message_of(outcome: object) -> str:
    """What the user was told."""
    response = result_of(outcome)["response"]
    assert isinstance(response, dict)
    return str(response["message"])


class AgentContinuationContract:
    """A step that does not know waits, the conversation goes on, and what was settled is told (protocol 5)."""

    async def test_a_step_that_does_not_know_waits_and_is_told_when_it_is_settled(
        self, boundary: BoundaryHarness
    ) -> None:
        """R32, R30: blocked, then resumed with the settled value; nobody is called twice."""
        shop = Shop()
        shop.provider.lose_reply("shop.buy:tea")
        conversation = shopping(boundary, shop)
        blocked = await block(conversation, "buy tea", "yes")
        receipt = await receipt_of(boundary, conversation.thread_id, "shop.buy:tea")
        assert blocked["blockedOn"] == [receipt.receipt_id]
        assert receipt.receipt_id in str(blocked["response"])
        assert message_of(await conversation.send("hello", "t3")) == "Hello."
        await settle(boundary, conversation.thread_id, "shop.buy:tea", "completed", b'{"reference":"found"}')
        (resumed,) = await conversation.deliver_continuations()
        assert message_of(resumed) == "Bought tea."
        memory = await conversation.checkpoint()
        assert memory.agenda == ()
        assert memory.fact("purchase@1") == {"reference": "found"}
        assert shop.provider.calls == ["shop.buy:tea"]
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()

    async def test_not_applied_is_the_next_attempt_on_the_same_receipt(self, boundary: BoundaryHarness) -> None:
        """Interface 2; the consent of the user was for this operation, and still is."""
        shop = Shop()
        shop.provider.lose_reply("shop.buy:tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "buy tea", "yes")
        await settle(boundary, conversation.thread_id, "shop.buy:tea", "failed", None)
        (resumed,) = await conversation.deliver_continuations()
        assert message_of(resumed) == "Bought tea."
        receipt = await receipt_of(boundary, conversation.thread_id, "shop.buy:tea")
        assert (receipt.state, receipt.attempt) == ("completed", 2)

    async def test_steps_of_several_turns_are_settled_in_any_order(self, boundary: BoundaryHarness) -> None:
        """Each item waits for its own receipt; the later one is settled first."""
        shop = Shop()
        shop.provider.lose_reply("shop.buy:tea")
        shop.provider.lose_reply("shop.buy:jam")
        conversation = shopping(boundary, shop)
        await block(conversation, "buy tea", "yes", "buy jam", "yes")
        assert len((await conversation.checkpoint()).agenda) == 2
        for name, left in (("jam", 1), ("tea", 0)):
            await settle(boundary, conversation.thread_id, f"shop.buy:{name}", "completed", b"{}")
            (resumed,) = await conversation.deliver_continuations()
            assert message_of(resumed) == f"Bought {name}."
            assert len((await conversation.checkpoint()).agenda) == left

    async def test_a_step_with_two_effects_meets_the_first_and_waits_for_the_second(
        self, boundary: BoundaryHarness
    ) -> None:
        """R15, R16: what the turn had done is met in the journal, whatever comes after it may wait again."""
        shop = Shop()
        shop.provider.lose_reply("shop.send:pack-tea")
        shop.provider.lose_reply("shop.send:send-tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "send tea")
        await settle(boundary, conversation.thread_id, "shop.send:pack-tea", "completed", b"{}")
        (again,) = await conversation.deliver_continuations()
        assert result_of(again)["status"] == "blocked"
        await settle(boundary, conversation.thread_id, "shop.send:send-tea", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert message_of(resumed) == "Sent tea."
        assert shop.provider.calls == ["shop.send:pack-tea", "shop.send:send-tea"]

    async def test_writes_that_were_finished_before_are_met_again_and_not_repeated(
        self, boundary: BoundaryHarness
    ) -> None:
        """R15: the second write of a turn waits; its continuation claims the first one's effects without a call."""
        shop = Shop()
        shop.provider.lose_reply("shop.mail:mail-tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "send tea and mail")
        calls = list(shop.provider.calls)
        await settle(boundary, conversation.thread_id, "shop.mail:mail-tea", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert message_of(resumed) == "Mailed tea."
        assert shop.provider.calls == calls == ["shop.send:pack-tea", "shop.send:send-tea", "shop.mail:mail-tea"]
        facts = (await conversation.checkpoint()).facts
        assert sorted(facts) == ["mail@1", "parcel@1"]

    async def test_what_waited_for_a_blocked_step_goes_on_with_it(self, boundary: BoundaryHarness) -> None:
        """The consumer of a fact waits with its provider, and runs in the continuation."""
        shop = Shop()
        shop.provider.lose_reply("shop.send:send-tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "send tea and mail")
        statuses = [item["status"] for item in (await conversation.checkpoint()).agenda]
        assert sorted(map(str, statuses)) == ["blocked", "waiting_facts"]
        await settle(boundary, conversation.thread_id, "shop.send:send-tea", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert "Sent tea." in message_of(resumed)
        assert "Mailed tea." in message_of(resumed)
        assert shop.provider.calls[-1] == "shop.mail:mail-tea"
        assert (await conversation.checkpoint()).agenda == ()

    async def test_the_same_capability_may_be_used_while_one_step_waits(self, boundary: BoundaryHarness) -> None:
        """A thread that moved on: new work neither replaces nor settles what is blocked."""
        shop = Shop()
        shop.provider.lose_reply("shop.buy:tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "buy tea", "yes")
        await conversation.send("buy jam", "t3")
        assert message_of(await conversation.send("yes", "t4")) == "Bought jam."
        await settle(boundary, conversation.thread_id, "shop.buy:tea", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert message_of(resumed) == "Bought tea."

    async def test_a_blocked_step_cannot_be_given_up(self, boundary: BoundaryHarness) -> None:
        """The money may have moved: the item stays until it is settled, whatever the user says."""
        shop = Shop()
        shop.provider.lose_reply("shop.buy:tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "buy tea", "yes")
        await conversation.send("forget the tea", "t3")
        (item,) = (await conversation.checkpoint()).agenda
        assert item["status"] == "blocked"
        await settle(boundary, conversation.thread_id, "shop.buy:tea", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert message_of(resumed) == "Bought tea."

    async def test_a_build_with_another_version_of_the_capability_does_not_resume(
        self, boundary: BoundaryHarness
    ) -> None:
        """R8: the effect could not be met as it was; the lane waits for a build that fits."""
        shop = Shop()
        shop.provider.lose_reply("shop.buy:tea")
        conversation = shopping(boundary, shop)
        await block(conversation, "buy tea", "yes")
        await settle(boundary, conversation.thread_id, "shop.buy:tea", "completed", b"{}")
        older, conversation.agent = conversation.agent, shop_agent(shop, version=2)
        (held,) = await conversation.deliver_continuations()
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        conversation.agent = older
        assert isinstance(await conversation.send("hello", "t3"), TurnCommitted)

"""What the founding documents say of confirmation, the checkpoint and domain ports, over any store. Subclass it beside a
fixture `boundary`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from intention_kernel.contracts.checkpoint import encode_checkpoint
from intention_kernel.contracts.event import KernelEvent
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.testing.agent_continuation_contract import message_of
from intention_kernel.testing.agent_machine_actor import Actor, Click, Fault
from intention_kernel.testing.agent_machine_checks import assert_without, check_requests
from intention_kernel.testing.agent_machine_model import Message
from intention_kernel.testing.agent_machine_world import CONTINUATION, HOST, PORT, Fate
from intention_kernel.testing.boundary_calls import new_thread
from intention_kernel.testing.boundary_harness import BoundaryHarness
from intention_kernel.testing.conversation import REQUESTED_AT_MS

BUY = Message(asks=(("shop.buy", "tea"),))
SEND = Message(asks=(("shop.send", "tea"),))
FIND = Message(asks=(("shop.find", "jam"),))
YES, NO = Message(answer="yes"), Message(answer="no")

MEMBERS = {"schemaRevision", "agentId", "fingerprint", "messages", "facts", "agenda", "interaction", "receipts"}


class FailingSink:
    """A sink that fails with every event."""

    seen = 0

    async def emit(self, event: KernelEvent) -> None:
        self.seen += 1
        raise RuntimeError("the sink is broken")


@dataclass(slots=True)
class Said:
    """Turns of one thread, one after the other."""

    actor: Actor
    turns: int = 0

    async def say(
        self,
        message: Message,
        *,
        text: str | None = None,
        click: Click | None = None,
        fault: Fault = "none",
        fates: tuple[Fate, ...] = (),
    ) -> dict[str, JsonValue]:
        """Returns the turn's result."""
        self.turns += 1
        said = message.text if text is None else text
        result = await self.actor.say(f"turn-{self.turns}", message, said, click, REQUESTED_AT_MS, fault, list(fates))
        return cast("dict[str, JsonValue]", loads(result))


def talk(boundary: BoundaryHarness) -> Said:
    """A new thread."""
    return Said(Actor(boundary, new_thread()))


class AgentSeedContract:
    """One statement of the documents each."""

    async def test_a_write_that_needs_confirmation_is_not_executed_in_the_turn_that_proposes_it(
        self, boundary: BoundaryHarness
    ) -> None:
        """ "… is not executed in the proposing turn. The kernel creates a durable confirmation interaction.\""""
        said = talk(boundary)
        result = await said.say(BUY)
        memory = await said.actor.conversation.checkpoint()
        assert said.actor.ledger.calls == []
        assert await boundary.receipts(said.actor.conversation.thread_id) == ()
        assert isinstance(memory.interaction, dict)
        assert memory.interaction["kind"] == "confirmation"
        assert cast("dict[str, JsonValue]", result["response"])["interaction"] == memory.interaction

    async def test_a_later_yes_resumes_the_planned_operation_and_no_other(self, boundary: BoundaryHarness) -> None:
        """ "A later accepted answer resumes the planned operation." Turns in between change nothing of it."""
        said = talk(boundary)
        await said.say(BUY)
        await said.say(Message())
        await said.say(YES)
        assert [call.what for call in said.actor.ledger.calls] == [("shop.buy", "tea")]
        assert (await said.actor.conversation.checkpoint()).agenda == ()

    async def test_an_unrelated_question_is_answered_and_the_checkpoint_holds_both(
        self, boundary: BoundaryHarness
    ) -> None:
        """ "The checkpoint retains both the active interaction and the additional completed work.\""""
        said = talk(boundary)
        await said.say(BUY)
        asked = (await said.actor.conversation.checkpoint()).interaction
        await said.say(FIND)
        memory = await said.actor.conversation.checkpoint()
        assert memory.interaction == asked
        assert [item["status"] for item in memory.agenda] == ["waiting_confirmation"]
        assert sorted(memory.facts) == ["cellar@1", "shelf@1"]

    async def test_a_capability_that_asks_itself_runs_before_consent_and_writes_after_its_own_check(
        self, boundary: BoundaryHarness
    ) -> None:
        """ "… execution may start before confirmation … must return its own needs_confirmation interaction and validate the
        resumed answer before calling runEffect.\""""
        said = talk(boundary)
        await said.say(SEND)
        memory = await said.actor.conversation.checkpoint()
        assert said.actor.ledger.calls == []
        assert isinstance(memory.interaction, dict)
        assert memory.interaction["goal"] == "Shall I send tea?"
        assert CONTINUATION.encode() in encode_checkpoint(memory)
        await said.say(YES)
        assert [call.what for call in said.actor.ledger.calls] == [("shop.send", "tea")]

    async def test_a_no_to_a_capabilitys_own_question_never_reaches_it(self, boundary: BoundaryHarness) -> None:
        """It is not asked again, and nothing is written."""
        said = talk(boundary)
        await said.say(SEND)
        await said.say(NO)
        memory = await said.actor.conversation.checkpoint()
        assert (said.actor.ledger.calls, memory.agenda, memory.interaction) == ([], (), None)

    async def test_a_late_click_on_an_earlier_question_is_no_consent_to_an_equal_one(
        self, boundary: BoundaryHarness
    ) -> None:
        """A capability may ask under the same id every time; the kernel shows each question under one of its own."""
        said = talk(boundary)
        await said.say(SEND)
        first = cast("dict[str, JsonValue]", (await said.actor.conversation.checkpoint()).interaction)
        click: Click = {"interactionId": first["id"], "optionId": "yes"}
        await said.say(YES, text="Yes", click=click)
        await said.say(SEND)
        await said.say(Message(), text="Yes", click=click)
        memory = await said.actor.conversation.checkpoint()
        assert len(said.actor.ledger.calls) == 1
        assert [item["status"] for item in memory.agenda] == ["waiting_confirmation"]

    async def test_a_build_that_goes_on_with_the_thread_holds_what_another_version_of_a_capability_began(
        self, boundary: BoundaryHarness
    ) -> None:
        """R8: it accepts the thread and cannot meet that effect; the continuation waits and uses up no attempt."""
        said = talk(boundary)
        await said.say(BUY)
        await said.say(YES, fates=("lost",))
        (call,) = said.actor.ledger.calls
        await said.actor.settle(call.key)
        await said.actor.deploy(2)
        for _ in range(said.actor.conversation.limits.attempts + 1):
            assert await said.actor.go_on(REQUESTED_AT_MS, []) == []
        assert (await said.say(Message()))["status"] == "completed"
        await said.actor.deploy(1)
        assert len(await said.actor.go_on(REQUESTED_AT_MS, [])) == 1
        assert (await said.actor.conversation.checkpoint()).agenda == ()
        assert len(said.actor.ledger.calls) == 1

    async def test_the_checkpoint_stores_canonical_state_and_nothing_else(self, boundary: BoundaryHarness) -> None:
        """Messages, facts with evidence and lineage, agenda, interaction, receipts, fingerprint, schema revision."""
        said = talk(boundary)
        await said.say(FIND)
        await said.say(BUY)
        await said.say(YES)
        await said.say(SEND)
        memory = await said.actor.conversation.checkpoint()
        assert set(cast("dict[str, JsonValue]", loads(encode_checkpoint(memory)))) == MEMBERS
        assert memory.fingerprint == said.actor.conversation.agent.fingerprint
        shelf = memory.facts["shelf@1"]
        evidence = cast("list[dict[str, JsonValue]]", shelf["evidence"])
        producer = cast("dict[str, JsonValue]", shelf["producedBy"])
        assert [one["id"] for one in evidence] == shelf["evidenceIds"] == ["shelf:jam"]
        assert (producer["capabilityId"], producer["turnId"]) == ("shop.find", "turn-1")
        assert [receipt["state"] for receipt in memory.receipts] == ["completed"]

    async def test_what_is_private_on_the_agenda_survives_turns_that_do_not_touch_it(
        self, boundary: BoundaryHarness
    ) -> None:
        """ "Do not reconstruct agenda records from a public-field allowlist": an item is the same, members and bytes."""
        said = talk(boundary)
        await said.say(SEND)
        before = (await said.actor.conversation.checkpoint()).agenda
        assert CONTINUATION.encode() in dumps(dict(before[0]))
        await said.say(FIND)
        await said.say(Message())
        after = (await said.actor.conversation.checkpoint()).agenda
        assert [dumps(dict(item)) for item in after] == [dumps(dict(item)) for item in before]

    async def test_ports_and_host_context_reach_capabilities_and_nothing_that_is_kept_or_asked(
        self, boundary: BoundaryHarness
    ) -> None:
        """ "… never place them in prompts, facts or checkpoints": no model request, no memory, no event."""
        said = talk(boundary)
        for message in (FIND, BUY, YES, SEND, YES):
            await said.say(message)
        assert len(said.actor.ledger.calls) == 2
        check_requests(said.actor.gateway.requests)
        stored = encode_checkpoint(await said.actor.conversation.checkpoint())
        assert_without(stored, (HOST, PORT))
        assert_without(dumps(cast("JsonValue", await said.actor.events_after(0))), (HOST, PORT))

    async def test_what_a_capability_emits_stands_under_its_step_in_causal_order(
        self, boundary: BoundaryHarness
    ) -> None:
        """ "… the kernel associates each publication with the parent capability step … and preserves causal order.\""""
        said = talk(boundary)
        await said.say(FIND)
        events = {str(event["id"]): event for event in await said.actor.events_after(0)}
        (node,) = [event for event in events.values() if event["type"] == "capability.event"]
        invoked = events[str(node["causationId"])]
        (done,) = [event for event in events.values() if event["type"] == "capability.completed"]
        assert invoked["type"] == "capability.invoked"
        assert node["stepId"] == invoked["stepId"] == done["stepId"]
        assert done["causationId"] == node["id"]
        assert node["data"] == {"capabilityId": "shop.find", "name": "graph.node-done", "data": {"node": "jam"}}

    async def test_a_sink_that_raises_fails_no_turn_of_a_compiled_agent(self, boundary: BoundaryHarness) -> None:
        """The sink sees every event, the turn commits all of them."""
        said, sink = talk(boundary), FailingSink()
        said.actor.conversation.sinks = (sink,)
        await said.say(BUY)
        result = await said.say(YES)
        assert result["status"] == "completed"
        assert sink.seen == len(await said.actor.events_after(0))

    async def test_a_repeated_turn_asks_no_model_and_no_provider(self, boundary: BoundaryHarness) -> None:
        """ "No interpretation, capability, model response, or external effect runs again.\""""
        said = talk(boundary)
        await said.say(BUY)
        await said.say(YES)
        asked, calls = len(said.actor.gateway.requests), list(said.actor.ledger.calls)
        again = await said.actor.redeliver("turn-2", REQUESTED_AT_MS)
        assert message_of(again) == "Done: shop.buy tea."
        assert (len(said.actor.gateway.requests), said.actor.ledger.calls) == (asked, calls)

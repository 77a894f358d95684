"""Blocked steps of Programs over any store: settling one resumes its turn (protocol 5). Subclass it beside a fixture `boundary`."""

from __future__ import annotations

from contextlib import suppress

from intention_kernel.agent import EffectUncertainError, Response, Settled, TurnContext, TurnResult
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.outcome import BeginAgain, TurnCommitted
from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.boundary_harness import BoundaryHarness, receipt_of
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import DyingStore, Provider, charging, result_of, said, settle, talking
from intention_kernel.testing.raising import raising


class ProgramContinuationContract:
    """A turn that does not know waits, and is resumed with what was settled."""

    async def test_an_unknown_outcome_blocks_the_step_and_not_the_conversation(self, boundary: BoundaryHarness) -> None:
        """R32, design 4: the truth is told, later turns go on, settlement resumes the step."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        conversation = Conversation(boundary, charging(provider))
        blocked = result_of(await conversation.send("charge", "t1"))
        assert blocked["status"] == "blocked"
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert blocked["blockedOn"] == [receipt.receipt_id]
        assert receipt.state == "uncertain"
        (item,) = (await conversation.checkpoint()).agenda
        assert (item["status"], item["receiptId"], item["turnId"]) == ("blocked", receipt.receipt_id, "t1")
        assert isinstance(await conversation.send("hello", "t2"), TurnCommitted)
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b'{"reference":"found"}')
        (resumed,) = await conversation.deliver_continuations()
        assert result_of(resumed)["facts"] == ["charge"]
        memory = await conversation.checkpoint()
        assert memory.agenda == ()
        assert memory.fact("charge") == {"reference": "found"}
        assert provider.calls == ["charge:order-1"]
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()
        assert [event["sequence"] for event in await conversation.events()] == list(
            range(1, 1 + len(await conversation.events()))
        )

    async def test_a_settlement_as_not_applied_makes_the_next_attempt(self, boundary: BoundaryHarness) -> None:
        """Interface 2: run_effect makes the next attempt on the same receipt."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        conversation = Conversation(boundary, charging(provider))
        await conversation.send("charge", "t1")
        await settle(boundary, conversation.thread_id, "charge:order-1", "failed", None)
        (resumed,) = await conversation.deliver_continuations()
        assert result_of(resumed)["status"] == "completed"
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert (receipt.state, receipt.attempt) == ("completed", 2)
        assert provider.calls == ["charge:order-1"] * 2

    async def test_a_continuation_that_is_blocked_again_is_resumed_again(self, boundary: BoundaryHarness) -> None:
        """R28, R30: the second settlement has a number, and a turn id, of its own."""
        provider = Provider()
        provider.lose_reply("charge:order-1", times=2)
        conversation = Conversation(boundary, charging(provider))
        await conversation.send("charge", "t1")
        for _ in range(2):
            await settle(boundary, conversation.thread_id, "charge:order-1", "failed", None)
            await conversation.deliver_continuations()
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert (receipt.state, receipt.attempt, receipt.settlements) == ("completed", 3, 2)
        assert (await conversation.checkpoint()).agenda == ()

    async def test_a_continuation_replays_what_the_turn_saw_and_goes_on(self, boundary: BoundaryHarness) -> None:
        """R16: blocked on the second effect, all that came before comes from the journal; both waits resolve."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        provider.lose_reply("notify:order-1")
        seen: list[str] = []
        asked: list[str] = []

        async def ask() -> JsonValue:
            asked.append("whom?")
            return "you"

        async def then(context: TurnContext) -> TurnResult:
            seen.append(type(context.trigger).__name__)
            whom = await context.recorded("model", "whom?", ask)
            await context.run_effect("order-1", provider.write, payload={"to": whom}, effect="notify")
            return said("both")

        conversation = Conversation(boundary, charging(provider, then=then))
        await conversation.send("charge", "t1")
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b'{"found":1}')
        (second,) = await conversation.deliver_continuations()
        assert result_of(second)["status"] == "blocked"
        assert await boundary.blocked_steps(conversation.thread_id) == {("notify:order-1", "t1")}
        await settle(boundary, conversation.thread_id, "notify:order-1", "completed", b'{"found":2}')
        (third,) = await conversation.deliver_continuations()
        assert result_of(third)["response"] == Response("both").to_json()
        assert seen == [Settled.__name__] * 2
        assert provider.calls == ["charge:order-1", "notify:order-1"]
        assert asked == ["whom?"]
        assert not await boundary.journal(conversation.thread_id, "t1")

    async def test_a_continuation_need_not_repeat_what_followed_from_not_knowing(
        self, boundary: BoundaryHarness
    ) -> None:
        """R15: the turn went on with a notice while it did not know; with the value there, another effect follows."""
        provider = Provider()
        provider.lose_reply("charge:order-1")

        async def program(context: TurnContext) -> TurnResult:
            run = context.run_effect
            await run("before", provider.write, payload={"n": 0}, effect="notify")
            try:
                await run("order-1", provider.write, payload={}, effect="charge")
            except EffectUncertainError:
                await run("unclear", provider.write, payload={"n": 1}, effect="notify")
                return TurnResult(Response("unclear"), status="blocked")
            await run("charged", provider.write, payload={"n": 2}, effect="notify")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert result_of(resumed)["response"] == Response("charged").to_json()
        assert provider.calls == ["notify:before", "charge:order-1", "notify:unclear", "notify:charged"]

    async def test_a_turn_waits_no_more_for_what_its_continuation_did_without(self, boundary: BoundaryHarness) -> None:
        """R30: a notice that followed from not knowing is unknown too; once the charge is known, nobody waits for it."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        provider.lose_reply("notify:unclear")

        async def program(context: TurnContext) -> TurnResult:
            try:
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            except EffectUncertainError:
                with suppress(EffectUncertainError):
                    await context.run_effect("unclear", provider.write, payload={}, effect="notify")
                return TurnResult(Response("unclear"), status="blocked")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        blocked_on = result_of(await conversation.send("go", "t1"))["blockedOn"]
        assert isinstance(blocked_on, list)
        assert len(blocked_on) == 2
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        (resumed,) = await conversation.deliver_continuations()
        assert result_of(resumed)["status"] == "completed"
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()
        await settle(boundary, conversation.thread_id, "notify:unclear", "completed", b"{}")
        (nobody,) = await conversation.deliver_continuations()
        assert result_of(nobody)["response"] is None

    async def test_a_continuation_that_plans_another_beginning_is_held(self, boundary: BoundaryHarness) -> None:
        """R15: what the turn did before it met the settled key is done; another effect in its place would be a second one."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        first = ["a", "b"]

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect(first.pop(0), provider.write, payload={"n": len(first)}, effect="notify")
            await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            return said("done")

        conversation = Conversation(boundary, talking(program))
        await conversation.send("go", "t1")
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        (held,) = await conversation.deliver_continuations()
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        assert provider.calls == ["notify:a", "charge:order-1"]

    async def test_every_turn_that_waits_for_a_receipt_is_resumed(self, boundary: BoundaryHarness) -> None:
        """R30: two turns blocked on one receipt; the first continuation asks for the next issue."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        conversation = Conversation(boundary, charging(provider))
        for number in (1, 2):
            assert result_of(await conversation.send("charge", f"t{number}"))["status"] == "blocked"
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b'{"found":1}')
        assert len(await conversation.deliver_continuations()) == 1
        assert len(await conversation.deliver_continuations()) == 1
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()
        assert (await conversation.checkpoint()).agenda == ()

    async def test_a_continuation_that_finds_nobody_commits_and_says_nothing(self, boundary: BoundaryHarness) -> None:
        """R29, R30: the program answered for itself; settlement still asks, and the turn has no response."""
        provider = Provider()
        provider.lose_reply("charge:order-1")

        async def program(context: TurnContext) -> TurnResult:
            try:
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            except EffectUncertainError:
                return said("it may have gone through")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "completed"
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        (nothing,) = await conversation.deliver_continuations()
        assert result_of(nothing)["response"] is None

    async def test_a_continuation_asks_its_model_again_with_what_was_settled(self, boundary: BoundaryHarness) -> None:
        """R16: what was recorded after an unknown outcome does not hold the continuation that knows it; a retry is held."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        asked: list[JsonValue] = []
        doubt: list[str] = []

        async def program(context: TurnContext) -> TurnResult:
            try:
                result = await context.run_effect("order-1", provider.write, payload={}, effect="charge")
                seen: JsonValue = {"value": result.value, "doubt": list(doubt)}
            except EffectUncertainError:
                seen = "unknown"

            async def model() -> JsonValue:
                asked.append(seen)
                return f"the charge: {seen}"

            text = await context.recorded("next", seen, model)
            if seen != "unknown":
                await context.run_effect("order-1", provider.write, payload={}, effect="notify")
            return TurnResult(Response(str(text)), status="blocked" if seen == "unknown" else "completed")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b'{"found":1}')
        known: JsonValue = {"value": {"found": 1}, "doubt": []}
        conversation.store = DyingStore(conversation.boundary.store)  # type: ignore[assignment]  # delegates the rest
        with raising(InfrastructureError):
            await conversation.deliver_continuations()
        conversation.store = None
        assert asked == ["unknown", known]
        await conversation.boundary.expire_lease(conversation.thread_id)
        (row,) = [row for row in await boundary.outbox(conversation.thread_id) if row.topic == "turns.requests"]
        request = row.records[0].value or b""
        doubt.append("a request that is not the one of the attempt before")
        held = await conversation.deliver(conversation.delivery(request))
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        doubt.clear()
        assert isinstance(await conversation.deliver(conversation.delivery(request)), TurnCommitted)
        assert asked == ["unknown", known]

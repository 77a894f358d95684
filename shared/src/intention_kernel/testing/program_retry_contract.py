"""Later attempts of a Program's turn, over any store: what the journal promises (protocol 3). Subclass it beside a fixture `boundary`."""

from __future__ import annotations

from intention_kernel.agent import EffectUncertainError, TurnContext, TurnResult
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.outcome import BeginAgain
from intention_kernel.errors import InfrastructureError
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt
from intention_kernel.ports.turn_store import Contended
from intention_kernel.testing.boundary_harness import BoundaryHarness, BoundaryStore
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import (
    DyingStore,
    Provider,
    charging,
    die_after_the_call,
    result_of,
    said,
    settle,
    talking,
)
from intention_kernel.testing.raising import raising


class ProgramRetryContract:
    """An attempt meets what the attempts before it did and saw."""

    async def test_an_attempt_that_died_after_its_call_is_not_repeated(self, boundary: BoundaryHarness) -> None:
        """R3, design 4: found prepared by another attempt, the receipt is uncertain and nobody is called."""
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        await die_after_the_call(conversation, "charge", "t1")
        assert result_of(await conversation.send("charge", "t1"))["status"] == "blocked"
        assert provider.calls == ["charge:order-1"]

    async def test_a_retry_that_plans_another_effect_is_held(self, boundary: BoundaryHarness) -> None:
        """R15: attempt 1 applied order-1 and died; attempt 2 may not start order-2 before it has met order-1."""
        provider = Provider()
        keys = ["order-1", "order-2", "order-1"]

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect(keys.pop(0), provider.write, payload={"cents": 1}, effect="charge")
            return said("done")

        conversation = Conversation(boundary, talking(program))
        await die_after_the_call(conversation, "go", "t1")
        held = await conversation.send("go", "t1")
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"
        assert provider.calls == ["charge:order-1"]

    async def test_a_retry_that_forgets_an_effect_cannot_commit(self, boundary: BoundaryHarness) -> None:
        """R15: a commit with an unclaimed key is refused."""
        provider = Provider()
        plans = [True, False, True]

        async def program(context: TurnContext) -> TurnResult:
            if plans.pop(0):
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            return said("done")

        conversation = Conversation(boundary, talking(program))
        await die_after_the_call(conversation, "go", "t1")
        held = await conversation.send("go", "t1")
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        assert not await boundary.turns(conversation.thread_id)

    async def test_what_the_program_saw_is_replayed_whatever_the_receipt_says_now(
        self, boundary: BoundaryHarness
    ) -> None:
        """R16: uncertain seen, the next effect prepared, killed; settled meanwhile; the retry still sees uncertain."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        seen: list[str] = []

        async def program(context: TurnContext) -> TurnResult:
            try:
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
                seen.append("value")
            except EffectUncertainError:
                seen.append("uncertain")
            await context.run_effect("order-1", provider.write, payload={}, effect="notify")
            return said("done")

        conversation = Conversation(boundary, talking(program))
        conversation.store = _DiesAtSecondEnd(boundary.store)  # type: ignore[assignment]  # delegates the rest
        with raising(InfrastructureError):
            await conversation.send("go", "t1")
        conversation.store = None
        await boundary.expire_lease(conversation.thread_id)
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"
        assert seen == ["uncertain", "uncertain"]
        assert provider.calls == ["charge:order-1", "notify:order-1"]

    async def test_clock_and_ids_are_the_same_on_every_attempt(self, boundary: BoundaryHarness) -> None:
        """R17: a retry and a continuation repeat the first attempt's clock, whenever they are delivered."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        seen: list[tuple[str, str]] = []

        async def program(context: TurnContext) -> TurnResult:
            seen.append((context.now().isoformat(), context.new_id("order")))
            await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            return said("done")

        conversation = Conversation(boundary, talking(program))
        await die_after_the_call(conversation, "go", "t1")
        await conversation.send("go", "t1", at_ms=1_800_000_000_000)
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        await conversation.deliver_continuations(at_ms=1_900_000_000_000)
        assert len(seen) == 3
        assert len(set(seen)) == 1

    async def test_a_recorded_result_is_replayed_and_a_changed_request_is_held(self, boundary: BoundaryHarness) -> None:
        """R8, R16: matched by name, ordinal and request digest."""
        provider = Provider()
        asked: list[JsonValue] = []
        requests: list[JsonValue] = ["plan", "plan", "another plan"]

        async def program(context: TurnContext) -> TurnResult:
            request = requests.pop(0)

            async def model() -> JsonValue:
                asked.append(request)
                return {"key": "order-1"}

            plan = await context.recorded("plan", request, model)
            assert isinstance(plan, dict)
            await context.run_effect(str(plan["key"]), provider.write, payload={}, effect="charge")
            return said("done")

        conversation = Conversation(boundary, talking(program))
        await die_after_the_call(conversation, "go", "t1")
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"
        assert asked == ["plan"]
        await settle(boundary, conversation.thread_id, "charge:order-1", "completed", b"{}")
        (held,) = await conversation.deliver_continuations()
        assert isinstance(held, BeginAgain)
        assert held.why == "held"


class _DiesAtSecondEnd(DyingStore):
    """The process dies when its second effect has been called."""

    def __init__(self, store: BoundaryStore) -> None:
        super().__init__(store)
        self._ends = 0

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        self._ends += 1
        if self._ends == 1:
            return await self._store.end(end)
        return await super().end(end)

"""Durable turns of Programs over any store: begin, run, commit and replay (protocol 1). Subclass it beside a fixture `boundary`."""

from __future__ import annotations

import asyncio

from intention_kernel.agent import (
    Agent,
    Response,
    TurnContext,
    TurnResult,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.durability import TurnLimits
from intention_kernel.durability.outcome import (
    BeginAgain,
    TurnCommitted,
    TurnConflict,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.errors import EffectClosedError, IntentionKernelError
from intention_kernel.ports.turn_body import Delivery
from intention_kernel.ports.turn_store import Begun
from intention_kernel.testing.boundary_harness import BoundaryHarness
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import Provider, begin_like, charging, result_of, said, talking


class ProgramTurnContract:
    """Begin, run, commit, replay and the ways in which a turn does not commit."""

    async def test_a_turn_commits_its_result_memory_and_events_together(self, boundary: BoundaryHarness) -> None:
        conversation = Conversation(boundary, charging(Provider()))
        outcome = await conversation.send("hello", "t1")
        assert result_of(outcome)["response"] == Response("echo hello").to_json()
        events = await conversation.events()
        assert [event["sequence"] for event in events] == [1, 2]
        assert [event["type"] for event in events] == ["turn.started", "turn.completed"]
        memory = await conversation.checkpoint()
        assert [(m["role"], m["text"]) for m in memory.messages] == [("user", "hello"), ("assistant", "echo hello")]

    async def test_a_redelivered_turn_gets_the_stored_result_and_runs_nothing(self, boundary: BoundaryHarness) -> None:
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        first = await conversation.send("charge", "t1")
        again = await conversation.send("charge", "t1")
        assert isinstance(again, TurnReplayed)
        assert result_of(again) == result_of(first)
        assert provider.calls == ["charge:order-1"]

    async def test_the_same_turn_id_with_other_content_is_a_conflict(self, boundary: BoundaryHarness) -> None:
        conversation = Conversation(boundary, charging(Provider()))
        await conversation.send("hello", "t1")
        assert isinstance(await conversation.send("other", "t1"), TurnConflict)
        assert len(await boundary.turns(conversation.thread_id)) == 1

    async def test_host_context_is_not_part_of_the_content(self, boundary: BoundaryHarness) -> None:
        conversation = Conversation(boundary, charging(Provider()))
        await conversation.send("hello", "t1", host_context={"token": "a"})
        assert isinstance(await conversation.send("hello", "t1", host_context={"token": "b"}), TurnReplayed)

    async def test_facts_are_versioned_and_seen_by_the_next_turn(self, boundary: BoundaryHarness) -> None:
        async def program(context: TurnContext) -> TurnResult:
            seen = context.checkpoint.fact("count")
            count = seen + 1 if isinstance(seen, int) else 1
            return TurnResult(Response(str(count)), {"count": count})

        conversation = Conversation(boundary, talking(program))
        for number in ("1", "2", "3"):
            await conversation.send("again", f"t{number}")
        fact = (await conversation.checkpoint()).facts["count"]
        assert (fact["value"], fact["version"], fact["turnId"]) == (3, 3, "t3")

    async def test_a_failing_program_uses_up_its_attempts_and_is_set_aside(self, boundary: BoundaryHarness) -> None:
        """R5, R6: the turn is given up by a fenced commit with a turn.failed event; the next turn goes on."""

        async def program(context: TurnContext) -> TurnResult:
            if context.input.text == "break":
                raise RuntimeError(f"attempt {context.attempt}")
            return said("fine")

        conversation = Conversation(boundary, talking(program))
        for attempt in (1, 2):
            again = await conversation.send("break", "t1")
            assert again == BeginAgain("attempt_failed", f"RuntimeError: attempt {attempt}", attempt)
        failed = await conversation.send("break", "t1")
        assert failed == TurnFailed("attempts_used_up", "RuntimeError: attempt 3")
        (event,) = await conversation.events()
        assert event["type"] == "turn.failed"
        assert [turn for turn, _ in await boundary.set_aside(conversation.thread_id)] == ["t1"]
        assert isinstance(await conversation.send("break", "t1"), TurnFailed)
        assert isinstance(await conversation.send("fine", "t2"), TurnCommitted)

    async def test_a_turn_beyond_its_deadline_fails_its_attempt(self, boundary: BoundaryHarness) -> None:
        """Whatever its program says once it is cancelled."""

        async def program(context: TurnContext) -> TurnResult:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if context.input.text == "obey":
                    raise
            return said("too late")

        conversation = Conversation(boundary, talking(program))
        for text in ("obey", "answer"):
            async with asyncio.timeout(10.0):
                again = await conversation.send(text, text, deadline_seconds=0.2)
            assert isinstance(again, BeginAgain)
            assert (again.why, again.attempt) == ("attempt_failed", 1)
        assert not await boundary.turns(conversation.thread_id)

    async def test_a_program_that_ignores_its_cancellation_cannot_commit(self, boundary: BoundaryHarness) -> None:
        """Nor start an effect."""
        provider, released, over = Provider(), asyncio.Event(), asyncio.Event()
        refusals: list[type[IntentionKernelError]] = []

        async def program(context: TurnContext) -> TurnResult:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            try:
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            except IntentionKernelError as error:
                refusals.append(type(error))
            finally:
                over.set()
            return said("too late")

        conversation = Conversation(boundary, talking(program))
        try:
            async with asyncio.timeout(10.0):
                again = await conversation.send("wait", "t1", deadline_seconds=0.2)
        finally:
            released.set()
        assert isinstance(again, BeginAgain)
        async with asyncio.timeout(10.0):
            await over.wait()
        assert refusals == [EffectClosedError]
        assert provider.calls == []
        assert not await boundary.turns(conversation.thread_id)

    async def test_a_build_that_does_not_fit_is_held_and_consumes_no_attempt(self, boundary: BoundaryHarness) -> None:
        """R8: held until a build fits; after the limit the turn is set aside with both digests."""
        agent = charging(Provider())
        conversation = Conversation(boundary, agent)
        await conversation.send("hello", "t1")
        other = Conversation(boundary, Agent("agent", agent.program), thread_id=conversation.thread_id)
        held = await other.send("hello", "t2")
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        assert conversation.agent.fingerprint in held.detail
        assert other.agent.fingerprint in held.detail
        assert isinstance(await conversation.send("hello", "t2"), TurnCommitted)
        failed = await other.send("hello", "t3", held_too_long=held.detail)
        assert failed == TurnFailed("held_too_long", held.detail)

    async def test_an_accepted_fingerprint_goes_on_through_migrate(self, boundary: BoundaryHarness) -> None:
        agent = charging(Provider())
        conversation = Conversation(boundary, agent)
        await conversation.send("hello", "t1")
        newer = Agent(
            "agent",
            agent.program,
            accepts_fingerprints=(agent.fingerprint,),
            migrate=lambda checkpoint: checkpoint,
        )
        upgraded = Conversation(boundary, newer, thread_id=conversation.thread_id)
        assert isinstance(await upgraded.send("hello", "t2"), TurnCommitted)
        assert (await upgraded.checkpoint()).fingerprint == newer.fingerprint

    async def test_a_turn_with_two_crashes_runs_alone(self, boundary: BoundaryHarness) -> None:
        """R6: two attempts that never let go; the third one asks to run alone and is not counted until it does."""
        conversation = Conversation(boundary, charging(Provider()), limits=TurnLimits(10.0, attempts=5))
        for _ in range(2):
            begun = await boundary.store.begin(begin_like(conversation, "hello", "t1"))
            assert isinstance(begun, Begun)
            await boundary.expire_lease(conversation.thread_id)
        again = await conversation.send("hello", "t1")
        assert isinstance(again, BeginAgain)
        assert again.why == "alone"
        assert isinstance(await conversation.send("hello", "t1", alone=True), TurnCommitted)

    async def test_requests_that_can_never_run_are_rejected_under_the_fence(self, boundary: BoundaryHarness) -> None:
        """R5: an unknown agent, another tenant or agent, a forged continuation (R28)."""
        conversation = Conversation(boundary, charging(Provider()), tenant_id="shop")
        await conversation.send("hello", "t1")
        unknown = await Conversation(boundary, conversation.agent).send("hello", "t1", agent_id="nobody")
        assert isinstance(unknown, TurnRejected)
        assert unknown.reason == "unknown_agent"
        conversation.tenant_id = "other"
        mismatch = await conversation.send("hello", "t2")
        assert isinstance(mismatch, TurnRejected)
        assert mismatch.reason == "tenant_mismatch"
        conversation.tenant_id = "shop"
        forged = await conversation.deliver(_forged(conversation))
        assert isinstance(forged, TurnRejected)
        assert forged.reason == "forged_continuation"
        assert isinstance(await conversation.send("hello", "t2"), TurnCommitted)

    async def test_event_data_is_redacted_before_anything_sees_it(self, boundary: BoundaryHarness) -> None:
        async def program(context: TurnContext) -> TurnResult:
            await context.events.emit("note", {"card": "4242"})
            return said("4242")

        conversation = Conversation(boundary, talking(program), redact=lambda data: None)
        await conversation.send("hello", "t1")
        assert all(event["data"] is None for event in await conversation.events())
        assert all(trace["data"] is None for trace in conversation.traces.published)

    async def test_a_redact_that_raises_fails_the_attempt(self, boundary: BoundaryHarness) -> None:
        def redact(data: JsonValue) -> JsonValue:
            raise ValueError("cannot tell")

        conversation = Conversation(boundary, charging(Provider()), redact=redact, limits=TurnLimits(10.0, attempts=1))
        failed = await conversation.send("hello", "t1")
        assert failed == TurnFailed("attempts_used_up", "ValueError: cannot tell")

    async def test_an_event_that_the_broker_would_refuse_fails_at_commit(self, boundary: BoundaryHarness) -> None:
        async def program(context: TurnContext) -> TurnResult:
            await context.events.emit("big", "x" * 1_000_000)
            return said("done")

        conversation = Conversation(boundary, talking(program))
        again = await conversation.send("hello", "t1")
        assert isinstance(again, BeginAgain)
        assert again.why == "attempt_failed"
        assert not await conversation.events()

    async def test_a_value_that_is_not_json_fails_the_attempt_with_its_path(self, boundary: BoundaryHarness) -> None:
        async def program(context: TurnContext) -> TurnResult:
            return TurnResult(Response("x"), {"bad": {"deep": [float("nan")]}})

        again = await Conversation(boundary, talking(program)).send("hello", "t1")
        assert isinstance(again, BeginAgain)
        assert "/deep/0" in again.detail


def _forged(conversation: Conversation) -> Delivery:
    receipt_id = "0" * 32
    value = (
        f'{{"schemaVersion":1,"threadId":"{conversation.thread_id}","turnId":"reconciliation:{receipt_id}:1:1",'
        f'"agentId":"agent","tenantId":"shop",'
        f'"trigger":{{"kind":"reconciliation","receiptId":"{receipt_id}","settlement":1}}}}'
    )
    return conversation.delivery(value.encode())

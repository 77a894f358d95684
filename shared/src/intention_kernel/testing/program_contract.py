"""Durable turns of plain Programs over any store: what `with_turn`, `run_effect` and the journal promise (protocol 1, 3, 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import pytest

from intention_kernel.agent import (
    Agent,
    Effect,
    EffectAuthority,
    EffectConflictError,
    EffectNotAppliedError,
    EffectUncertainError,
    Response,
    Settled,
    Summary,
    TurnContext,
    TurnResult,
)
from intention_kernel.contracts.checkpoint import SCHEMA_REVISION
from intention_kernel.contracts.event import pack_records
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.durability.durability import TurnLimits
from intention_kernel.durability.outcome import (
    BeginAgain,
    TurnCommitted,
    TurnConflict,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.errors import EffectClosedError, InfrastructureError
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt
from intention_kernel.ports.turn_body import Delivery
from intention_kernel.ports.turn_store import Begin, Begun, Contended, SetAside
from intention_kernel.testing.boundary_harness import BoundaryHarness, BoundaryStore, receipt_of
from intention_kernel.testing.conversation import Conversation

CHARGE = Effect("charge", dict, lambda payload: Summary(f"the charge of {payload}"), call_timeout_seconds=5.0)
FIND = Effect("notify", dict, lambda payload: Summary(f"the notice of {payload}"), call_timeout_seconds=5.0)


@dataclass(slots=True)
class Provider:
    """What really happened outside, and how it answers: by key, a reply to give, or an error to raise after the write."""

    calls: list[str] = field(default_factory=list)
    errors: dict[str, list[BaseException]] = field(default_factory=dict)

    async def write(self, authority: EffectAuthority) -> JsonValue:
        self.calls.append(authority.idempotency_key)
        failing = self.errors.get(authority.idempotency_key)
        if failing:
            raise failing.pop(0)
        return {"reference": authority.idempotency_key, "attempt": authority.attempt}

    def lose_reply(self, key: str, times: int = 1) -> None:
        """The write of that key happens and its reply is lost."""
        self.errors[key] = [ConnectionError("reply lost") for _ in range(times)]


def talking(program: Callable[[TurnContext], Awaitable[TurnResult]]) -> Agent:
    """An agent with both effects."""
    return Agent("agent", program, effects=(CHARGE, FIND))


def said(text: str) -> TurnResult:
    """A plain answer."""
    return TurnResult(Response(text))


def charging(provider: Provider, *, then: Callable[[TurnContext], Awaitable[TurnResult]] | None = None) -> Agent:
    """An agent that charges `order-1` for "charge…" and echoes anything else."""

    async def program(context: TurnContext) -> TurnResult:
        if not context.input.text.startswith("charge"):
            return said(f"echo {context.input.text}")
        result = await context.run_effect("order-1", provider.write, payload={"cents": 500}, effect="charge")
        if then is not None:
            return await then(context)
        return TurnResult(Response("charged"), {"charge": result.value})

    return talking(program)


class _DyingStore:
    """A store whose process dies: from `from_end` on nothing of this attempt arrives any more."""

    def __init__(self, store: BoundaryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        raise InfrastructureError("the connection is gone")

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        raise InfrastructureError("the connection is gone")


async def die_after_the_call(conversation: Conversation, text: str, turn_id: str) -> None:
    """An attempt that calls the provider and then dies, leaving its receipt prepared and its lease over."""
    conversation.store = _DyingStore(conversation.boundary.store)  # type: ignore[assignment]  # delegates the rest
    with pytest.raises(InfrastructureError):
        await conversation.send(text, turn_id)
    conversation.store = None
    await conversation.boundary.expire_lease(conversation.thread_id)


async def settle(
    boundary: BoundaryHarness,
    thread_id: str,
    key: str,
    outcome: Literal["completed", "failed"],
    value: bytes | None,
) -> None:
    """Settle the receipt on evidence."""
    receipt = await receipt_of(boundary, thread_id, key)
    assert await boundary.settle(receipt.receipt_id, receipt.version, outcome, value)


def result_of(outcome: object) -> dict[str, JsonValue]:
    """The stored result of a committed or replayed turn."""
    assert isinstance(outcome, TurnCommitted | TurnReplayed), outcome
    document = loads(outcome.result)
    assert isinstance(document, dict)
    return document


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
        async def program(context: TurnContext) -> TurnResult:
            await asyncio.Event().wait()
            return said("never")

        conversation = Conversation(boundary, talking(program))
        again = await conversation.send("wait", "t1", deadline_seconds=0.2)
        assert isinstance(again, BeginAgain)
        assert (again.why, again.attempt) == ("attempt_failed", 1)

    async def test_a_program_that_ignores_its_cancellation_cannot_commit(self, boundary: BoundaryHarness) -> None:
        released = asyncio.Event()

        async def program(context: TurnContext) -> TurnResult:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            return said("too late")

        conversation = Conversation(boundary, talking(program))
        again = await conversation.send("wait", "t1", deadline_seconds=0.2)
        released.set()
        assert isinstance(again, BeginAgain)
        assert not await boundary.turns(conversation.thread_id)

    async def test_a_build_that_does_not_fit_is_held_and_consumes_no_attempt(self, boundary: BoundaryHarness) -> None:
        """R8: held until a build fits; after the limit the turn is set aside with both digests."""
        conversation = Conversation(boundary, charging(Provider()))
        await conversation.send("hello", "t1")
        other = Conversation(boundary, Agent("agent", conversation.agent.program), thread_id=conversation.thread_id)
        held = await other.send("hello", "t2")
        assert isinstance(held, BeginAgain)
        assert held.why == "held"
        assert conversation.agent.fingerprint in held.detail
        assert other.agent.fingerprint in held.detail
        assert isinstance(await conversation.send("hello", "t2"), TurnCommitted)
        failed = await other.send("hello", "t3", held_too_long=held.detail)
        assert failed == TurnFailed("held_too_long", held.detail)

    async def test_an_accepted_fingerprint_goes_on_through_migrate(self, boundary: BoundaryHarness) -> None:
        conversation = Conversation(boundary, charging(Provider()))
        await conversation.send("hello", "t1")
        newer = Agent(
            "agent",
            conversation.agent.program,
            accepts_fingerprints=(conversation.agent.fingerprint,),
            migrate=lambda checkpoint: checkpoint,
        )
        upgraded = Conversation(boundary, newer, thread_id=conversation.thread_id)
        assert isinstance(await upgraded.send("hello", "t2"), TurnCommitted)
        assert (await upgraded.checkpoint()).fingerprint == newer.fingerprint

    async def test_a_turn_with_two_crashes_runs_alone(self, boundary: BoundaryHarness) -> None:
        """R6: two attempts that never let go; the third one asks to run alone and is not counted until it does."""
        conversation = Conversation(boundary, charging(Provider()), limits=TurnLimits(10.0, attempts=5))
        for _ in range(2):
            begun = await boundary.store.begin(_begin_like(conversation, "hello", "t1"))
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


class ProgramEffectContract:
    """Effects, the journal, blocked steps and continuations."""

    async def test_an_effect_is_called_once_for_its_key_across_turns(self, boundary: BoundaryHarness) -> None:
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        first = await conversation.send("charge", "t1")
        second = await conversation.send("charge again", "t2")
        assert result_of(first)["facts"] == result_of(second)["facts"] == ["charge"]
        assert provider.calls == ["charge:order-1"]

    async def test_another_payload_under_the_key_is_a_conflict_in_every_state(self, boundary: BoundaryHarness) -> None:
        provider = Provider()
        cents = [500, 900, 500, 900]

        async def program(context: TurnContext) -> TurnResult:
            payload: JsonValue = {"cents": cents.pop(0)}
            try:
                await context.run_effect("order-1", provider.write, payload=payload, effect="charge")
            except EffectConflictError:
                return said("conflict")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        provider.lose_reply("charge:order-1")
        messages = [result_of(await conversation.send("go", f"t{n}"))["response"] for n in range(2)]
        assert isinstance(messages[0], dict)
        assert isinstance(messages[1], dict)
        assert messages[0]["status"] == "blocked"
        assert messages[1]["message"] == "conflict"
        assert provider.calls == ["charge:order-1"]

    async def test_calls_with_one_key_in_one_turn_are_one_call(self, boundary: BoundaryHarness) -> None:
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            run = context.run_effect
            values = await asyncio.gather(
                *(run("order-1", provider.write, payload={"cents": 500}, effect="charge") for _ in range(3))
            )
            await run("order-1", provider.write, payload={"cents": 500}, effect="charge")
            return said(str(len({value.receipt.receipt_id for value in values})))

        outcome = await Conversation(boundary, talking(program)).send("go", "t1")
        assert result_of(outcome)["response"] == Response("1").to_json()
        assert provider.calls == ["charge:order-1"]

    async def test_an_effect_that_asks_for_itself_raises_instead_of_waiting(self, boundary: BoundaryHarness) -> None:
        """R18."""

        async def program(context: TurnContext) -> TurnResult:
            async def inner(authority: EffectAuthority) -> JsonValue:
                with pytest.raises(EffectClosedError):
                    await context.run_effect("a", inner, payload={}, effect="charge")
                return "done"

            await context.run_effect("a", inner, payload={}, effect="charge")
            return said("done")

        assert isinstance(await Conversation(boundary, talking(program)).send("go", "t1"), TurnCommitted)

    async def test_a_closed_scope_raises(self, boundary: BoundaryHarness) -> None:
        """R18."""
        kept: list[TurnContext] = []

        async def program(context: TurnContext) -> TurnResult:
            kept.append(context)
            return said("done")

        await Conversation(boundary, talking(program)).send("go", "t1")
        with pytest.raises(EffectClosedError):
            await kept[0].run_effect("late", Provider().write, payload={}, effect="charge")

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
        """R16: blocked on the second effect, the first one's value comes from the journal; both waits resolve."""
        provider = Provider()
        provider.lose_reply("charge:order-1")
        provider.lose_reply("notify:order-1")
        seen: list[str] = []

        async def then(context: TurnContext) -> TurnResult:
            seen.append(type(context.trigger).__name__)
            await context.run_effect("order-1", provider.write, payload={"to": "you"}, effect="notify")
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
        with pytest.raises(InfrastructureError):
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
        conversation.store = _DyingStore(conversation.boundary.store)  # type: ignore[assignment]  # delegates the rest
        with pytest.raises(InfrastructureError):
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

    async def test_proof_that_nothing_was_written_permits_the_next_attempt(self, boundary: BoundaryHarness) -> None:
        provider = Provider()
        provider.errors["charge:order-1"] = [EffectNotAppliedError("no funds")]

        async def program(context: TurnContext) -> TurnResult:
            try:
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            except EffectNotAppliedError as error:
                return said(error.detail)
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        first = result_of(await conversation.send("go", "t1"))["response"]
        second = result_of(await conversation.send("go", "t2"))["response"]
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        assert (first["message"], second["message"]) == ("no funds", "charged")

    async def test_a_returned_value_that_json_cannot_hold_is_uncertain(self, boundary: BoundaryHarness) -> None:
        """R18: "returned, not storable"."""

        async def write(authority: EffectAuthority) -> JsonValue:
            return float("nan")

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", write, payload={}, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"

    async def test_an_operation_that_the_program_gave_up_on_blocks_the_turn(self, boundary: BoundaryHarness) -> None:
        """R18: whatever the program answers, its abandoned effect is uncertain and its step waits."""
        called = asyncio.Event()

        async def hang(authority: EffectAuthority) -> JsonValue:
            called.set()
            await asyncio.Event().wait()
            return None

        async def program(context: TurnContext) -> TurnResult:
            waiting = asyncio.ensure_future(context.run_effect("order-1", hang, payload={}, effect="charge"))
            await called.wait()
            waiting.cancel()
            return said("slow")

        conversation = Conversation(boundary, talking(program))
        result = result_of(await conversation.send("go", "t1"))
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert receipt.state == "uncertain"
        assert result["blockedOn"] == [receipt.receipt_id]
        assert await boundary.blocked_steps(conversation.thread_id) == {("charge:order-1", "t1")}

    async def test_a_late_answer_is_a_settlement(self, boundary: BoundaryHarness) -> None:
        """R24: an operation that ignored its cancellation answers after its turn; the step is resumed with its value."""
        answer = asyncio.Event()

        async def stubborn(authority: EffectAuthority) -> JsonValue:
            while not answer.is_set():
                try:
                    await answer.wait()
                except asyncio.CancelledError:
                    continue
            return {"reference": "late"}

        slow = Effect("charge", dict, lambda payload: Summary("the charge"), call_timeout_seconds=0.1)

        async def program(context: TurnContext) -> TurnResult:
            result = await context.run_effect("order-1", stubborn, payload={}, effect="charge")
            return TurnResult(Response("charged"), {"charge": result.value})

        conversation = Conversation(boundary, Agent("agent", program, effects=(slow,)))
        durability = conversation.durability()
        delivery = conversation.delivery_of("go", "t1")
        assert result_of(await durability.with_turn(delivery, conversation.body()))["status"] == "blocked"
        running = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert not running.returned, "it may still send (R22 c)"
        answer.set()
        await durability.abandoned.drain(10.0)
        assert (await receipt_of(boundary, conversation.thread_id, "charge:order-1")).state == "completed"
        (resumed,) = await conversation.deliver_continuations()
        assert result_of(resumed)["status"] == "completed"
        assert (await conversation.checkpoint()).fact("charge") == {"reference": "late"}

    async def test_an_equal_payload_under_another_key_is_refused_while_one_is_open(
        self, boundary: BoundaryHarness
    ) -> None:
        """R20: the twin waits for the open receipt, and goes on once that is settled."""
        provider = Provider()
        provider.lose_reply("charge:a")

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect(context.input.text, provider.write, payload={"cents": 5}, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        await conversation.send("a", "t1")
        twin = result_of(await conversation.send("b", "t2"))
        open_receipt = await receipt_of(boundary, conversation.thread_id, "charge:a")
        assert twin["blockedOn"] == [open_receipt.receipt_id]
        assert provider.calls == ["charge:a"]
        await settle(boundary, conversation.thread_id, "charge:a", "failed", None)
        while await conversation.deliver_continuations():
            pass
        assert provider.calls == ["charge:a", "charge:a", "charge:b"]
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()

    async def test_a_twin_in_the_same_turn_waits_for_the_call_that_is_under_way(
        self, boundary: BoundaryHarness
    ) -> None:
        """R20: its outcome decides, not a settlement that never comes."""
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            run = context.run_effect
            keys = ("a", "b", "c")
            await asyncio.gather(*(run(key, provider.write, payload={"cents": 5}, effect="charge") for key in keys))
            return said("all")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "completed"
        assert sorted(provider.calls) == ["charge:a", "charge:b", "charge:c"]

    async def test_a_twin_whose_attempt_is_over_is_settled_like_any_other(self, boundary: BoundaryHarness) -> None:
        """R20, R24: a dead attempt's prepared receipt becomes uncertain, so that whoever waits for it is resumed."""
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect(context.input.text, provider.write, payload={"cents": 5}, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        await die_after_the_call(conversation, "a", "t1")
        await boundary.store.set_aside(await _give_up(conversation, "a", "t1"))
        twin = result_of(await conversation.send("b", "t2"))
        open_receipt = await receipt_of(boundary, conversation.thread_id, "charge:a")
        assert (open_receipt.state, twin["blockedOn"]) == ("uncertain", [open_receipt.receipt_id])
        await settle(boundary, conversation.thread_id, "charge:a", "completed", b"{}")
        while await conversation.deliver_continuations():
            pass
        assert provider.calls == ["charge:a", "charge:b"]
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()

    async def test_no_effect_is_started_close_to_the_deadline(self, boundary: BoundaryHarness) -> None:
        """R19."""
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            return said("charged")

        again = await Conversation(boundary, talking(program)).send("go", "t1", deadline_seconds=0.05)
        assert isinstance(again, BeginAgain)
        assert "DeadlineError" in again.detail
        assert provider.calls == []


class _DiesAtSecondEnd(_DyingStore):
    """The process dies when its second effect has been called."""

    def __init__(self, store: BoundaryStore) -> None:
        super().__init__(store)
        self._ends = 0

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        self._ends += 1
        if self._ends == 1:
            return await self._store.end(end)
        return await super().end(end)


def _forged(conversation: Conversation) -> Delivery:
    receipt_id = "0" * 32
    value = (
        f'{{"schemaVersion":1,"threadId":"{conversation.thread_id}","turnId":"reconciliation:{receipt_id}:1:1",'
        f'"agentId":"agent","tenantId":"shop",'
        f'"trigger":{{"kind":"reconciliation","receiptId":"{receipt_id}","settlement":1}}}}'
    )
    return conversation.delivery(value.encode())


async def _give_up(conversation: Conversation, text: str, turn_id: str) -> SetAside:
    """Begin the turn and give it up at once."""
    delivery = conversation.delivery_of(text, turn_id)
    begun = await conversation.boundary.store.begin(_begin_like(conversation, text, turn_id))
    assert isinstance(begun, Begun), begun
    return SetAside(
        thread_id=conversation.thread_id,
        turn_id=turn_id,
        digest=delivery.request.content_digest(),
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=begun.next_sequence,
        reason="held_too_long",
        detail="",
        attempts=begun.attempt,
        origin=delivery.origin,
        events=pack_records(()),
        event_count=0,
    )


def _begin_like(conversation: Conversation, text: str, turn_id: str) -> Begin:
    """What an attempt of that turn begins with."""
    request = conversation.delivery_of(text, turn_id).request
    return Begin(
        thread_id=request.thread_id,
        turn_id=request.turn_id,
        digest=request.content_digest(),
        nonce=random_id(),
        agent_id=request.agent_id,
        tenant_id=request.tenant_id,
        accepts=(conversation.agent.fingerprint,),
        schema_revision=SCHEMA_REVISION,
        attempts_limit=conversation.limits.attempts,
        lease_seconds=10.0,
    )

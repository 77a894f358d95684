"""Applications that misbehave, over any store: each harms its own turn and nothing else (design 3; protocol R4, R6, R13)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from intention_kernel.agent import (
    Agent,
    Effect,
    EffectAuthority,
    EffectUncertainError,
    Summary,
    TurnContext,
    TurnResult,
)
from intention_kernel.clock import ManualClock
from intention_kernel.contracts.event import KernelEvent
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.durability import TurnLimits
from intention_kernel.durability.outcome import BeginAgain, TurnCommitted, TurnFailed
from intention_kernel.errors import (
    LONGEST_DETAIL,
    EffectClosedError,
    EffectNotAppliedError,
    InfrastructureError,
    LeaseLostError,
    TurnHeldError,
)
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt, Prepare, PrepareAnswer, Prepared
from intention_kernel.ports.turn_store import Begun, Contended
from intention_kernel.testing.boundary_calls import begin_of
from intention_kernel.testing.boundary_harness import BoundaryHarness, BoundaryStore, receipt_of
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import CHARGE, FIND, Provider, charging, said, talking

ONE_ATTEMPT = TurnLimits(10.0, attempts=1)


class _Unusual(BaseException):
    """No Exception, as some libraries have them."""


class _Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


RAISED: dict[str, tuple[BaseException, str]] = {
    "an exit": (SystemExit(0), "ProgramError: raised SystemExit: 0"),
    "no Exception": (_Unusual("x"), "ProgramError: raised _Unusual: x"),
    "a group of none": (BaseExceptionGroup("all", [_Unusual()]), "ProgramError: raised BaseExceptionGroup"),
    "the end of a generator": (GeneratorExit(), "ProgramError: raised GeneratorExit"),
    "its own cancellation": (asyncio.CancelledError(), "ProgramError: cancelled itself"),
    "the kernel's word for an outage": (InfrastructureError("mine"), "ProgramError: raised InfrastructureError: mine"),
    "the kernel's word for a lost lease": (LeaseLostError("mine"), "ProgramError: raised LeaseLostError: mine"),
    "the kernel's word for another build": (
        TurnHeldError("mine", expected="a", found="b"),
        "ProgramError: raised TurnHeldError: mine",
    ),
    "an error without words": (_Speechless(), "_Speechless: (its message cannot be told)"),
    "an error of a million words": (ValueError("x " * 1_000_000), "ValueError: x x"),
}


class MisbehaviourContract:
    """What a program, an operation, `describe` or `redact` may do wrong."""

    @pytest.mark.parametrize("what", RAISED)
    async def test_whatever_a_program_raises_uses_up_its_attempt(self, boundary: BoundaryHarness, what: str) -> None:
        """R4, R6: it is this turn's failure, never an outage, a lost lease or the end of the process."""
        error, detail = RAISED[what]

        async def program(context: TurnContext) -> TurnResult:
            if context.input.text == "break":
                raise error
            return said("fine")

        conversation = Conversation(boundary, talking(program), limits=TurnLimits(10.0, attempts=2))
        again = await conversation.send("break", "t1")
        assert isinstance(again, BeginAgain)
        assert (again.why, again.attempt) == ("attempt_failed", 1)
        failed = await conversation.send("break", "t1")
        assert isinstance(failed, TurnFailed)
        assert failed.detail.startswith(detail)
        assert len(failed.detail) <= LONGEST_DETAIL
        assert isinstance(await conversation.send("fine", "t2"), TurnCommitted)

    @pytest.mark.parametrize("what", RAISED)
    async def test_whatever_an_operation_raises_is_uncertain(self, boundary: BoundaryHarness, what: str) -> None:
        """R18: nothing of it proves that the provider was not reached."""

        async def operation(authority: EffectAuthority) -> JsonValue:
            raise RAISED[what][0]

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", operation, payload=None, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        assert isinstance(await conversation.send("charge", "t1"), TurnCommitted)
        assert (await receipt_of(boundary, conversation.thread_id, "charge:order-1")).state == "uncertain"

    async def test_an_unknown_outcome_inside_of_a_task_group_blocks_the_step(self, boundary: BoundaryHarness) -> None:
        """R32: a task group wraps what escapes it; it is the same answer."""
        provider = Provider()
        provider.lose_reply("charge:order-1")

        async def program(context: TurnContext) -> TurnResult:
            async with asyncio.TaskGroup() as group:
                for effect in ("charge", "notify"):
                    group.create_task(context.run_effect("order-1", provider.write, payload=effect, effect=effect))
            return said("both")

        conversation = Conversation(boundary, talking(program))
        outcome = await conversation.send("charge", "t1")
        assert isinstance(outcome, TurnCommitted)
        assert b'"status":"blocked"' in outcome.result

    async def test_another_error_beside_an_unknown_outcome_fails_the_attempt(self, boundary: BoundaryHarness) -> None:
        async def program(context: TurnContext) -> TurnResult:
            unknown = EffectUncertainError("lost", effect_key="charge:order-1", receipt_id="0" * 32)
            raise ExceptionGroup("both", [unknown, ValueError("a bug")])

        again = await Conversation(boundary, talking(program)).send("charge", "t1")
        assert isinstance(again, BeginAgain)
        assert again.why == "attempt_failed"

    @pytest.mark.parametrize("redacted", [{"a set"}, "x" * 1_000_000], ids=["no JSON", "too large"])
    async def test_a_turn_is_given_up_whatever_redact_makes_of_its_event(
        self, boundary: BoundaryHarness, redacted: object
    ) -> None:
        """R5: or its lane would stand for ever."""
        conversation = Conversation(
            boundary,
            charging(Provider()),
            redact=lambda data: cast("JsonValue", redacted),
            limits=ONE_ATTEMPT,
        )
        assert isinstance(await conversation.send("hello", "t1"), TurnFailed)
        (event,) = await conversation.events()
        assert event["type"] == "turn.failed"

    @pytest.mark.parametrize("summary", [None, Summary(cast("str", 5))], ids=["none", "a title of another type"])
    async def test_a_summary_that_is_none_fails_its_own_turn_alone(
        self, boundary: BoundaryHarness, summary: Summary
    ) -> None:
        """R11, R13: the neighbours whose prepare goes out in the same statement do not notice."""
        provider = Provider()
        bad = Effect("charge", dict, lambda payload: summary)

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", provider.write, payload=None, effect="charge")
            return said("charged")

        broken = Conversation(boundary, Agent("agent", program, effects=(bad, FIND)))
        neighbours = [Conversation(boundary, charging(provider)) for _ in range(4)]
        first, *others = await asyncio.gather(*(one.send("charge", "t1") for one in (broken, *neighbours)))
        assert isinstance(first, BeginAgain)
        assert all(isinstance(outcome, TurnCommitted) for outcome in others)

    async def test_a_proof_with_an_odd_detail_is_a_proof(self, boundary: BoundaryHarness) -> None:
        """R13: what is told of it is text, and bounded."""

        async def operation(authority: EffectAuthority) -> JsonValue:
            raise EffectNotAppliedError(cast("str", {"status": 409}))

        async def program(context: TurnContext) -> TurnResult:
            with pytest.raises(EffectNotAppliedError):
                await context.run_effect("order-1", operation, payload=None, effect="charge")
            return said("no stock")

        conversation = Conversation(boundary, talking(program))
        assert isinstance(await conversation.send("charge", "t1"), TurnCommitted)
        assert (await receipt_of(boundary, conversation.thread_id, "charge:order-1")).state == "failed"

    async def test_a_call_whose_time_is_over_before_it_begins_uses_up_the_attempt(
        self, boundary: BoundaryHarness
    ) -> None:
        """R19: an effect that declares less time than a prepare takes must not begin again for ever."""
        provider = Provider()
        hasty = Effect("charge", dict, lambda payload: Summary("a charge"), call_timeout_seconds=1e-9)

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", provider.write, payload=None, effect="charge")
            return said("charged")

        agent = Agent("agent", program, effects=(hasty, FIND))
        failed = await Conversation(boundary, agent, limits=ONE_ATTEMPT).send("charge", "t1")
        assert isinstance(failed, TurnFailed)
        assert failed.detail.startswith("DeadlineError: charge:order-1")
        assert not provider.calls

    async def test_a_call_whose_time_the_store_used_up_is_made_by_the_same_attempt_later(
        self, boundary: BoundaryHarness
    ) -> None:
        """R6: a database that is away for longer than a call may take is no attempt's failure."""
        provider, clock = Provider(), ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        conversation = Conversation(boundary, charging(provider), limits=ONE_ATTEMPT, clock=clock)
        slow = _SlowPrepare(boundary.store)
        conversation.store = slow  # type: ignore[assignment]  # delegates the rest
        turn = asyncio.create_task(conversation.send("charge", "t1"))
        await slow.asked.wait()
        clock.advance(CHARGE.call_timeout_seconds + 1.0)
        slow.go_on.set()
        with pytest.raises(InfrastructureError, match="before the call"):
            await turn
        assert not provider.calls
        assert isinstance(await conversation.send("charge", "t1"), TurnCommitted)
        assert provider.calls == ["charge:order-1"]

    @pytest.mark.parametrize("call", ["prepare", "end"])
    async def test_what_a_process_alone_knows_of_an_effect_is_recorded_once_the_store_is_back(
        self, boundary: BoundaryHarness, call: str
    ) -> None:
        """R22 c: else an attempt that is over was never seen to end, and a person has to settle it."""
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        conversation.store = _LostReplies(boundary.store, call, 2)  # type: ignore[assignment]  # delegates the rest
        durability = conversation.durability()
        with pytest.raises(InfrastructureError):
            await durability.with_turn(conversation.delivery_of("charge", "t1"), conversation.body())
        await durability.abandoned.drain(10.0)
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert receipt.state == ("failed" if call == "prepare" else "completed")
        assert receipt.returned
        assert isinstance(await conversation.send("charge", "t1"), TurnCommitted)
        assert provider.calls == ["charge:order-1"]

    @pytest.mark.parametrize("how", ["refused", "late"])
    async def test_an_attempt_that_is_prepared_behind_its_back_is_said_to_be_over(
        self, boundary: BoundaryHarness, how: str
    ) -> None:
        """R11, R22 c: a copy of the statement was executed before its repeat was refused, or is after the attempt's end."""
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        conversation.store = _CopiedPrepares(boundary, how)  # type: ignore[assignment]  # delegates the rest
        durability = conversation.durability()
        with suppress(InfrastructureError):
            await durability.with_turn(conversation.delivery_of("charge", "t1"), conversation.body())
        await durability.abandoned.drain(10.0)
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert (receipt.state, receipt.returned) == ("failed", True)
        await boundary.expire_lease(conversation.thread_id)
        assert isinstance(await conversation.send("charge", "t1"), TurnCommitted)
        assert provider.calls == ["charge:order-1"]

    async def test_a_task_that_outlives_its_program_tells_nothing_behind_the_end(
        self, boundary: BoundaryHarness
    ) -> None:
        """Interface 3: `turn.completed` is a turn's last event."""
        refused = asyncio.Event()

        class Sink:
            async def emit(self, event: KernelEvent) -> None:
                await asyncio.sleep(0)  # where a stray task gets its turn

        async def stray(context: TurnContext) -> None:
            while not refused.is_set():
                try:
                    await context.events.emit("stray", None)
                except EffectClosedError:
                    refused.set()
                await asyncio.sleep(0)

        tasks: list[asyncio.Task[None]] = []

        async def program(context: TurnContext) -> TurnResult:
            tasks.append(asyncio.get_running_loop().create_task(stray(context)))
            return said("done")

        conversation = Conversation(boundary, talking(program), sinks=(Sink(),))
        assert isinstance(await conversation.send("hello", "t1"), TurnCommitted)
        await refused.wait()
        assert [event["type"] for event in await conversation.events()][-1] == "turn.completed"

    async def test_a_turn_whose_attempts_all_died_is_told_with_their_number(self, boundary: BoundaryHarness) -> None:
        """R6: the begin that finds none left is no attempt."""
        limits = TurnLimits(10.0, attempts=2)
        conversation = Conversation(boundary, charging(Provider()), limits=limits)
        delivery = conversation.delivery_of("hello", "t1")
        for _ in range(2):
            ask = begin_of(conversation.thread_id, "t1")
            ask = replace(ask, digest=delivery.request.content_digest(), agent_id="agent", accepts=None)
            assert isinstance(await boundary.store.begin(ask), Begun)
            await boundary.expire_lease(conversation.thread_id)
        failed = await conversation.send("hello", "t1", alone=True)
        assert failed == TurnFailed("attempts_used_up", "2 attempts ended without an outcome")
        (event,) = await conversation.events()
        data = event["data"]
        assert isinstance(data, dict)
        assert data["attempts"] == 2

    async def test_an_effect_that_was_cancelled_before_its_call_is_made_by_the_next_attempt(
        self, boundary: BoundaryHarness
    ) -> None:
        """R16: only what the program saw is replayed; of a turn that was stopped while it prepared it saw nothing."""
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        slow = _SlowPrepare(boundary.store)
        conversation.store = slow  # type: ignore[assignment]  # delegates the rest
        turn = asyncio.create_task(conversation.send("charge", "t1"))
        await slow.asked.wait()
        turn.cancel()
        await asyncio.sleep(0)
        slow.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert not provider.calls
        conversation.store = None
        assert isinstance(await conversation.send("charge", "t1"), TurnCommitted)
        assert provider.calls == ["charge:order-1"]


class _SlowPrepare:
    """A store that answers a prepare when it is told to."""

    def __init__(self, store: BoundaryStore) -> None:
        self._store = store
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        self.asked.set()
        await self.go_on.wait()
        return await self._store.prepare(prepare)


class _LostReplies:
    """A store that does not take `times` ends, and before them does one prepare whose reply is lost, where that is the call."""

    def __init__(self, store: BoundaryStore, call: str, times: int) -> None:
        self._store = store
        self._left = {"prepare": int(call == "prepare"), "end": times}

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        answer = await self._store.prepare(prepare)
        self._lose("prepare")
        return answer

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        self._lose("end")
        return await self._store.end(end)

    def _lose(self, call: str) -> None:
        if self._left[call]:
            self._left[call] -= 1
            raise InfrastructureError("away")


class _CopiedPrepares:
    """A store whose first prepare comes twice, or after the attempt has asked what became of it."""

    def __init__(self, boundary: BoundaryHarness, how: str) -> None:
        self._boundary = boundary
        self._how: str | None = how
        self._late: Prepare | None = None
        self._asked = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._boundary.store, name)

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        how, self._how = self._how, None
        if how == "refused":
            assert isinstance(await self._boundary.store.prepare(prepare), Prepared)
            await self._boundary.expire_lease(prepare.thread_id)
        if how == "late":
            self._late = prepare
            raise InfrastructureError("away")
        return await self._boundary.store.prepare(prepare)

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        if self._late is not None:
            raise InfrastructureError("away")
        await self._boundary.store.release(thread_id, fence, count_attempt=count_attempt)

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        self._asked += 1
        if self._late is not None and self._asked > 1:
            late, self._late = self._late, None
            assert isinstance(await self._boundary.store.prepare(late), Prepared)
        return await self._boundary.store.end(end)

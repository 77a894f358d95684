"""A plain Program as a turn's body: run it, and draft what the turn leaves behind (design 2 and 8, protocol 5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.context import ReceiptReference, Settled, Trigger, User
from intention_kernel.agent.effect import Ports
from intention_kernel.clock import Clock
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.result import TurnResult
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.errors import EffectUncertainError
from intention_kernel.ports.turn_body import Draft, Failure, Opened, Render, TurnScope, UncertainStep
from intention_kernel.runtime.context import ProgramContext
from intention_kernel.runtime.events import EventRecorder, Observers
from intention_kernel.runtime.stages.composing.blocked import blocked_response
from intention_kernel.runtime.stages.memory import (
    BlockedOn,
    with_blocked_steps,
    with_facts,
    with_message,
    with_receipts,
)
from intention_kernel.runtime.turn_ends import (
    draft_of,
    failed_event,
    identity_of,
    mark_of,
    memory_of,
    nothing_waits,
    receipt_record,
    request_to_run,
    stored_result,
)


@dataclass(frozen=True, slots=True)
class ProgramBody:
    """One agent of this build, ready to run turns (ports.turn_body.TurnBody)."""

    agent: Agent
    fingerprint: str
    ports: Ports
    observers: Observers
    clock: Clock
    timeout_seconds: float

    @property
    def accepts(self) -> tuple[str, ...]:
        """This build's fingerprint, and those it declares."""
        return (self.fingerprint, *self.agent.accepts_fingerprints)

    async def run(self, opened: Opened, scope: TurnScope) -> Draft:
        """Run the program once and draft the turn's end."""
        recorder = EventRecorder(identity_of(opened), scope.attempt.number, self.observers, self.clock)
        before = memory_of(opened, self.agent.id, self.fingerprint, self.agent.migrate)
        request = request_to_run(opened)
        if request is None or request.input is None:
            return await nothing_waits(opened, before, recorder)
        await recorder.emit("turn.started", {"attempt": scope.attempt.number, "resumes": opened.resumed_turn_id})
        context = self._context(opened, scope, request, request.input, before, recorder)
        result, blocked = await self._result(context, scope)
        after = _remember(opened, request.input, before, result, scope, blocked)
        waiting = [step.receipt_id for step in blocked]
        stored = stored_result(opened, result.status, result.response, waiting, result.facts)
        return await draft_of(stored, after, [step.waits_for for step in blocked], recorder)

    def failed(self, opened: Opened, failure: Failure) -> Render:
        """`turn.failed`; see `failed_event`."""
        return failed_event(opened, failure, self.observers, self.clock)

    async def _result(self, context: ProgramContext, scope: TurnScope) -> tuple[TurnResult, tuple[UncertainStep, ...]]:
        """The program's answer, and the steps that wait; an escaping EffectUncertainError is an answer too (R32)."""
        try:
            result = await self.agent.program(context)
        except (EffectUncertainError, ExceptionGroup) as raised:
            error = _uncertain_in(raised)
            if error is None:
                raise
            await scope.close()
            step = scope.uncertain[error.effect_key]
            result = TurnResult(blocked_response(step.title, step.receipt_id), status="blocked")
            return result, (step, *_cancelled_steps(scope, step))
        await scope.close()
        if not isinstance(result, TurnResult):
            raise TypeError(
                f"the program of agent {self.agent.id!r} returned {type(result).__name__}, not a TurnResult"
            )
        if result.status == "blocked":
            return result, tuple(scope.uncertain.values())
        return result, _cancelled_steps(scope, None)

    def _context(
        self,
        opened: Opened,
        scope: TurnScope,
        request: TurnRequest,
        turn_input: TurnInput,
        checkpoint: Checkpoint,
        recorder: EventRecorder,
    ) -> ProgramContext:
        left_seconds = scope.attempt.end_seconds - self.clock.monotonic_seconds()
        return ProgramContext(
            agent=self.agent,
            scope=scope,
            input=turn_input,
            host_context=request.host_context,
            trigger=_trigger(opened),
            checkpoint=checkpoint,
            ports=self.ports,
            events=recorder,
            deadline=self.clock.now() + timedelta(seconds=left_seconds),
            correlation_id=opened.delivery.request.correlation(),
            clock_turn_id=opened.resumed_turn_id or opened.delivery.request.turn_id,
        )


def _trigger(opened: Opened) -> Trigger:
    continuation = opened.continuation
    if continuation is None:
        return User()
    return Settled(
        ReceiptReference(continuation.receipt_id, continuation.effect_key, continuation.state, continuation.attempt)
    )


def _uncertain_in(error: Exception) -> EffectUncertainError | None:
    """The first one of a task group that ended by nothing else; None where another error is in it."""
    if isinstance(error, ExceptionGroup):
        found = [_uncertain_in(inner) for inner in error.exceptions]
        return found[0] if all(found) else None
    return error if isinstance(error, EffectUncertainError) else None


def _cancelled_steps(scope: TurnScope, beside: UncertainStep | None) -> tuple[UncertainStep, ...]:
    """Steps whose outcome the program never saw, since it gave up waiting: they wait whatever it answered (R18)."""
    return tuple(step for step in scope.uncertain.values() if not step.told and step is not beside)


def _remember(
    opened: Opened,
    turn_input: TurnInput,
    before: Checkpoint,
    result: TurnResult,
    scope: TurnScope,
    blocked: tuple[UncertainStep, ...],
) -> Checkpoint:
    mark, after = mark_of(opened, scope), before
    if opened.continuation is None:
        after = with_message(after, mark, "user", turn_input.text)
    if result.response is not None:
        after = with_message(after, mark, "assistant", result.response.message)
    evidence = [receipt.receipt_id for receipt in scope.receipts.values() if receipt.state == "completed"]
    after = with_facts(after, mark, result.facts, evidence)
    steps = {step.waits_for: BlockedOn(step.waits_for, step.receipt_id, step.title) for step in blocked}
    after = with_blocked_steps(after, mark, opened.resumed_turn_id or mark.turn_id, steps.values())
    return with_receipts(after, mark, (receipt_record(receipt) for receipt in scope.receipts.values()))

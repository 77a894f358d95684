"""A plain Program as a turn's body: run it, and draft what the turn leaves behind (design 2 and 8, protocol 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.context import ReceiptReference, Settled, Trigger, User
from intention_kernel.agent.effect import Ports
from intention_kernel.clock import Clock
from intention_kernel.contracts.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.result import StoredResult, TurnResult
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.errors import EffectUncertainError, TurnLimitError
from intention_kernel.ports.turn_body import Draft, Failure, Opened, Render, TurnScope, UncertainStep
from intention_kernel.runtime.context import ProgramContext, time_of
from intention_kernel.runtime.events import MAX_AUDIT_BYTES, EventIdentity, EventRecorder, Observers, render_events
from intention_kernel.runtime.stages.blocked import blocked_response
from intention_kernel.runtime.stages.memory import (
    BlockedOn,
    TurnMark,
    with_blocked_steps,
    with_facts,
    with_message,
    with_receipts,
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
        recorder = EventRecorder(_identity(opened), scope.attempt.number, self.observers, self.clock)
        before = self._checkpoint(opened)
        request = _request_to_run(opened)
        if request is None or request.input is None:
            return await _nothing_waits(opened, before, recorder)
        await recorder.emit("turn.started", {"attempt": scope.attempt.number, "resumes": opened.resumed_turn_id})
        context = self._context(opened, scope, request, request.input, before, recorder)
        result, blocked = await self._result(context, scope)
        after = _remember(opened, request.input, before, result, scope, blocked)
        return await _draft(opened, after, result, blocked, recorder)

    def failed(self, opened: Opened, failure: Failure) -> Render:
        """`turn.failed`, with the receipts that the turn holds. Its detail is left out where it cannot be redacted."""
        data: dict[str, JsonValue] = {
            "reason": failure.reason,
            "detail": failure.detail,
            "attempts": failure.attempts,
            "receipts": [
                {"receiptId": held.receipt_id, "state": "uncertain" if held.state == "prepared" else held.state}
                for held in failure.receipts
            ],
        }
        try:
            shown = self.observers.redacted(data)
            if len(dumps(shown)) > MAX_AUDIT_BYTES:
                raise TurnLimitError("the redacted event is too large")
        except Exception:  # noqa: BLE001 - giving a turn up must not depend on the application's function
            shown = {**data, "detail": None}
        event = _identity(opened).event(0, "turn.failed", "integration", shown, self.clock.now())
        return lambda first_sequence, incarnation: render_events((event,), first_sequence, incarnation)

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

    def _checkpoint(self, opened: Opened) -> Checkpoint:
        stored = opened.begun.checkpoint
        if stored is None:
            return Checkpoint(agent_id=self.agent.id, fingerprint=self.fingerprint)
        checkpoint = decode_checkpoint(stored)
        if checkpoint.fingerprint != self.fingerprint and self.agent.migrate is not None:
            checkpoint = self.agent.migrate(checkpoint)
        return checkpoint.with_agent(self.agent.id, self.fingerprint)

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


def _identity(opened: Opened) -> EventIdentity:
    request = opened.delivery.request
    return EventIdentity(request.thread_id, request.turn_id, request.agent_id, request.correlation())


def _request_to_run(opened: Opened) -> TurnRequest | None:
    """The delivered request, or the one that the resumed turn left; None where nothing waits any more (R30)."""
    if opened.continuation is None:
        return opened.delivery.request
    stored = opened.continuation.request
    return TurnRequest.model_validate(loads(stored)) if stored is not None else None


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
    request = opened.delivery.request
    mark = TurnMark(request.thread_id, request.turn_id, rfc3339(time_of(scope.attempt.requested_at_ms)))
    after = before
    if opened.continuation is None:
        after = with_message(after, mark, "user", turn_input.text)
    if result.response is not None:
        after = with_message(after, mark, "assistant", result.response.message)
    evidence = [receipt.receipt_id for receipt in scope.receipts.values() if receipt.state == "completed"]
    after = with_facts(after, mark, result.facts, evidence)
    steps = {step.waits_for: BlockedOn(step.waits_for, step.receipt_id, step.title) for step in blocked}
    after = with_blocked_steps(after, mark, opened.resumed_turn_id or request.turn_id, steps.values())
    return with_receipts(after, mark, (_record(receipt) for receipt in scope.receipts.values()))


def _record(receipt: ReceiptReference) -> Mapping[str, JsonValue]:
    return {
        "receiptId": receipt.receipt_id,
        "effectKey": receipt.effect_key,
        "state": receipt.state,
        "attempt": receipt.attempt,
    }


async def _draft(
    opened: Opened,
    checkpoint: Checkpoint,
    result: TurnResult,
    blocked: tuple[UncertainStep, ...],
    recorder: EventRecorder,
) -> Draft:
    stored = StoredResult(
        revision=opened.begun.revision + 1,
        status=result.status,
        response=cast("JsonValue", result.response.to_json()) if result.response is not None else None,
        blocked_on=tuple(dict.fromkeys(step.receipt_id for step in blocked)),
        facts=tuple(sorted(result.facts)),
    )
    await recorder.emit_last("turn.completed", stored.to_json(replayed=False), "integration")
    return Draft(
        status=result.status,
        checkpoint=encode_checkpoint(checkpoint),
        result=dumps(stored.to_json(replayed=False)),
        render=recorder.render,
        blocked=tuple(dict.fromkeys(step.waits_for for step in blocked)),
    )


async def _nothing_waits(opened: Opened, checkpoint: Checkpoint, recorder: EventRecorder) -> Draft:
    """A continuation that finds nobody waiting commits its `turn.completed` and nothing else (R30)."""
    return await _draft(opened, checkpoint, TurnResult(response=None), (), recorder)

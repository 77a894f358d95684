"""A compiled agent as a turn's body: a view of the thread goes through the kernel, and what comes out is drafted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import ValidationError

from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.effect import Ports
from intention_kernel.clock import Clock
from intention_kernel.contracts.checkpoint import MAX_FACTS, Checkpoint
from intention_kernel.contracts.interactions import InteractionSelection
from intention_kernel.contracts.result import TurnStatus
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.errors import TurnLimitError
from intention_kernel.ids import derived_id
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.ports.turn_body import Draft, Failure, Opened, Render, TurnScope
from intention_kernel.runtime.context import time_of
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.events import EventRecorder, Observers
from intention_kernel.runtime.kernel_turn import KernelTurn, TurnEnd, settled_effect
from intention_kernel.runtime.stages.memory import with_message, with_receipts
from intention_kernel.runtime.stages.state import NewId, TurnView, state_of, with_state
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
class AgentBody:
    """One compiled agent of this build, ready to run turns (ports.turn_body.TurnBody)."""

    agent: CompiledAgent
    gateway: ModelGateway
    ports: Ports
    observers: Observers
    clock: Clock
    timeout_seconds: float

    @property
    def fingerprint(self) -> str:
        """Of the definition."""
        return self.agent.fingerprint

    @property
    def accepts(self) -> tuple[str, ...]:
        """This build's fingerprint, and those it declares."""
        return (self.agent.fingerprint, *self.agent.accepts_fingerprints)

    async def run(self, opened: Opened, scope: TurnScope) -> Draft:
        """Take the turn through the kernel once and draft its end."""
        recorder = EventRecorder(identity_of(opened), scope.attempt.number, self.observers, self.clock)
        before = memory_of(opened, self.agent.id, self.agent.fingerprint, self.agent.migrate)
        request = request_to_run(opened)
        if request is None or request.input is None:
            return await nothing_waits(opened, before, recorder)
        turn = self._turn(opened, scope, request, request.input, before, recorder)
        end = await _run(turn, opened)
        await scope.close()
        return await _draft(opened, scope, request.input, before, end, turn.chain)

    def failed(self, opened: Opened, failure: Failure) -> Render:
        """`turn.failed`; see `failed_event`."""
        return failed_event(opened, failure, self.observers, self.clock)

    def _turn(
        self,
        opened: Opened,
        scope: TurnScope,
        request: TurnRequest,
        turn_input: TurnInput,
        before: Checkpoint,
        recorder: EventRecorder,
    ) -> KernelTurn:
        attempt = scope.attempt
        view = TurnView(
            agent=self.agent,
            thread_id=attempt.thread_id,
            turn_id=attempt.turn_id,
            tenant_id=attempt.tenant_id,
            text=turn_input.text,
            selection=_selection(turn_input) if opened.continuation is None else None,
            summary=turn_input.summary,
            host_context=request.host_context,
            at=time_of(attempt.requested_at_ms),
            state=state_of(before),
            new_id=_ids(attempt.thread_id, attempt.turn_id),
        )
        left_seconds = attempt.end_seconds - self.clock.monotonic_seconds()
        return KernelTurn(
            view=view,
            revision=opened.begun.revision,
            scope=scope,
            gateway=self.gateway,
            ports=self.ports,
            clock=self.clock,
            deadline=self.clock.now() + timedelta(seconds=left_seconds),
            chain=EventChain(recorder),
        )


def _selection(turn_input: TurnInput) -> InteractionSelection | None:
    """The click, if there is one; what is none refers to no question, which the turn answers."""
    if turn_input.interaction_selection is None:
        return None
    try:
        return InteractionSelection.from_json(turn_input.interaction_selection)
    except ValidationError:
        return InteractionSelection(interaction_id="")


async def _run(turn: KernelTurn, opened: Opened) -> TurnEnd:
    continuation = opened.continuation
    if continuation is None or continuation.resumed_turn_id is None:
        return await turn.user_turn()
    receipt = ReceiptReference(
        continuation.receipt_id, continuation.effect_key, continuation.state, continuation.attempt
    )
    return await turn.continuation(continuation.resumed_turn_id, settled_effect(turn.view, receipt))


def _ids(thread_id: str, turn_id: str) -> NewId:
    """The kernel's own ids. A continuation makes other ones than the turn that it resumes, whose items are still there."""
    counts: Counter[str] = Counter()

    def new_id(kind: str) -> str:
        counts[kind] += 1
        return derived_id("kernel", thread_id, turn_id, kind, str(counts[kind]))

    return new_id


async def _draft(
    opened: Opened, scope: TurnScope, turn_input: TurnInput, before: Checkpoint, end: TurnEnd, chain: EventChain
) -> Draft:
    blocked_on = [receipt.receipt_id for receipt in end.blocked]
    response = end.composition.response(blocked=bool(end.blocked))
    after = _remember(opened, scope, turn_input, before, end)
    await chain.emit("state.committed", {"revision": opened.begun.revision + 1}, "audit")
    status: TurnStatus = "blocked" if end.blocked else "completed"
    stored = stored_result(opened, status, response, blocked_on, end.published_types)
    waits_for = [receipt.effect_key for receipt in end.blocked]
    return await draft_of(stored, after, waits_for, chain.recorder, chain.last_id)


def _remember(opened: Opened, scope: TurnScope, turn_input: TurnInput, before: Checkpoint, end: TurnEnd) -> Checkpoint:
    if len(end.state.facts) > MAX_FACTS:
        raise TurnLimitError(f"the thread would have {len(end.state.facts)} facts, the most is {MAX_FACTS}")
    mark = mark_of(opened, scope)
    after = with_state(before, replace(end.state, messages=before.messages))
    if opened.continuation is None:
        after = with_message(after, mark, "user", turn_input.text)
    reply, for_models = end.composition.message, end.private.text(end.composition.model_text)
    after = with_message(after, mark, "assistant", reply, model_text=for_models if for_models != reply else None)
    return with_receipts(after, mark, (receipt_record(receipt) for receipt in scope.receipts.values()))

"""Running a plan's steps: independent reads side by side, writes one after another, each with a journal and a receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from intention_kernel.agent.capability import CapabilityTurn, Execution
from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.effect import Ports
from intention_kernel.agent.results import CapabilityIssue, CapabilityResult, Completed, Failed
from intention_kernel.containment import contained
from intention_kernel.contracts.agenda import BlockedReceipt, FrozenStep
from intention_kernel.contracts.facts import Facts
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import (
    CapabilityContractError,
    EffectConflictError,
    EffectError,
    EffectNotAppliedError,
    EffectUncertainError,
)
from intention_kernel.ports.turn_body import TurnScope, UncertainStep
from intention_kernel.runtime.calling import called, detached
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.stages.event_data import outcome_event
from intention_kernel.runtime.stages.handed_out import OwnFacts, own, own_json
from intention_kernel.runtime.stages.outcomes import BlockedResult, StepOutcome
from intention_kernel.runtime.stages.planning.schedule import Round, executable, is_write, next_round
from intention_kernel.runtime.stages.reducing.publish import published_facts
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, TurnPlan
from intention_kernel.runtime.step_context import StepContext, StepEvents
from intention_kernel.runtime.step_record import StepRecord


@dataclass(slots=True)
class Executor:
    """Runs steps of one turn. `left` counts the steps that it may still run; `resumed_turn_id` is what a continuation
    goes on with."""

    view: TurnView
    scope: TurnScope
    ports: Ports
    chain: EventChain
    deadline: datetime
    left: int
    resumed_turn_id: str | None = None
    _writes: list[FrozenStep] = field(default_factory=list)

    async def execute(self, plan: TurnPlan, facts: Facts) -> tuple[StepOutcome, ...]:
        """Run what the plan executes, in rounds; outcomes are in the order of the plan.

        Raises TurnLimitError beyond the turn's steps, CapabilityContractError, and what a capability raises.
        """
        steps = executable(plan.steps, left=self.left)
        self.left -= len(steps)
        branches = {step.id: await self._started(step) for step in steps}
        done: dict[str, StepOutcome] = {}
        while not (found := next_round(self.view.agent, steps, done, facts)).is_empty:
            for outcome in await self._run_round(found, facts, branches):
                done[outcome.step.id] = outcome
                facts = published_facts(self.view, facts, outcome)
        return tuple([done[step.id] for step in steps])

    async def resume(self, steps: Iterable[PlanStep], plan: TurnPlan, facts: Facts) -> tuple[StepOutcome, ...]:
        """Run all writes of a resumed turn in their order, and return the outcomes of those that the plan names.

        The others were finished before: they meet their effects again, in the journal, and nothing else of them counts.
        """
        wanted = {step.id for step in plan.steps}
        outcomes = []
        for step in steps:
            outcome = await self._run(step, facts, await self._started(step))
            if step.id in wanted:
                outcomes.append(outcome)
                facts = published_facts(self.view, facts, outcome)
        return tuple(outcomes)

    async def _started(self, step: PlanStep) -> EventChain:
        branch = self.chain.branch(step.id)
        depends_on: list[JsonValue] = list(step.depends_on)
        await branch.emit("step.started", {"capabilityId": step.capability_id, "dependsOn": depends_on})
        await branch.emit("capability.invoked", {"capabilityId": step.capability_id, "trigger": step.trigger})
        return branch

    async def _run_round(
        self, found: Round, facts: Facts, branches: Mapping[str, EventChain]
    ) -> tuple[StepOutcome, ...]:
        for outcome in found.skipped:
            await _tell(outcome, branches[outcome.step.id])
        if found.skipped:
            return found.skipped
        if found.reads:
            return await self._side_by_side(found.reads, facts, branches)
        # One write at a time: what the first one publishes, and whether it completed, is known before the second starts.
        return (await self._run(found.writes[0], facts, branches[found.writes[0].id]),)

    async def _side_by_side(
        self, steps: tuple[PlanStep, ...], facts: Facts, branches: Mapping[str, EventChain]
    ) -> tuple[StepOutcome, ...]:
        if len(steps) == 1:
            return (await self._run(steps[0], facts, branches[steps[0].id]),)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._contained_run(step, facts, branches[step.id])) for step in steps]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return tuple(task.result() for task in tasks)

    async def _contained_run(self, step: PlanStep, facts: Facts, branch: EventChain) -> StepOutcome:
        return await contained(lambda: self._run(step, facts, branch))

    async def _run(self, step: PlanStep, facts: Facts, branch: EventChain) -> StepOutcome:
        capability = self.view.agent.capabilities[step.capability_id or ""]
        context = self._context(capability, step, facts, StepEvents(capability.id, branch))
        if is_write(self.view.agent, step):
            result = await self._written(capability, context)
            self._writes.append(step.frozen(capability.definition.version))
        else:
            result = await self._read(capability, step, context)
        receipts = tuple(self.scope.receipts[key] for key in context.asked if key in self.scope.receipts)
        outcome = StepOutcome(step, result, receipts)
        await _tell(outcome, branch)
        return outcome

    async def _read(self, capability: Capability, step: PlanStep, context: StepContext) -> CapabilityResult:
        events = context.events
        ran = False

        async def run() -> JsonValue:
            nonlocal ran
            ran = True
            result = await self._ended(capability, context)
            return StepRecord(result, tuple(events.emitted)).to_json()

        recorded = await self.scope.recorded(f"step:{step.id}", _request(step), run)
        record = StepRecord.from_json(recorded)
        if not ran:
            for event in record.events:
                await events.tell(event)
        return record.result

    async def _written(self, capability: Capability, context: StepContext) -> CapabilityResult | BlockedResult:
        result: CapabilityResult
        in_doubt = False
        try:
            result = detached(await self._ended(capability, context))
        except (EffectError, ExceptionGroup) as raised:
            ends = _effect_ends(raised)
            in_doubt = any(isinstance(end, EffectUncertainError) for end in ends)
            if not ends or (in_doubt and not self._uncertain(context)):
                raise  # among it a doubt about no effect of this step: no receipt could ever settle that
            result = Failed(_issue(ends[0]))
        waiting = self._uncertain(context)
        # An outcome that the capability never saw, since it gave up waiting: the step waits whatever it says (R18).
        if in_doubt or not all(step.told for step in waiting):
            return self._blocked(waiting)
        if isinstance(result, Completed) and context.completed_effects == 0:
            detail = "a write has to complete at least one effect through context.run_effect"
            raise CapabilityContractError("WRITE_EFFECT_NOT_COORDINATED", capability.id, detail)
        return result

    async def _ended(self, capability: Capability, context: StepContext) -> CapabilityResult:
        """The result of a step that is over: nothing that it left behind tells or starts anything, or is still under way."""
        try:
            return await called(capability, context)
        finally:
            context.close()
            await self.scope.finish(context.asked)

    def _blocked(self, waiting: list[UncertainStep]) -> BlockedResult:
        receipts = tuple(
            BlockedReceipt(effect_key=step.waits_for, receipt_id=step.receipt_id, title=step.title) for step in waiting
        )
        return BlockedResult(receipts, earlier=tuple(self._writes), turn_id=self.resumed_turn_id)

    def _uncertain(self, context: StepContext) -> list[UncertainStep]:
        """What this step asked for and nobody can vouch for; an earlier step may have met it before."""
        return [self.scope.uncertain[key] for key in context.asked if key in self.scope.uncertain]

    def _context(self, capability: Capability, step: PlanStep, facts: Facts, events: StepEvents) -> StepContext:
        view = self.view
        active = view.state.interaction
        open_one = active if active is not None and active.capability_id == capability.id else None
        return StepContext(
            capability=capability,
            intention=step.intention.model_copy(deep=True),
            execution=Execution(view.thread_id, view.turn_id, step.id, capability.id, step.trigger),
            turn=CapabilityTurn(
                current_message=view.text,
                messages=_own_messages(view),
                summary=view.summary,
                host_context=_own_members(view.host_context),
                continuation=own_json(step.continuation),
                interaction=own(step.interaction or open_one),
                interaction_answer=own(step.answer),
            ),
            tenant_id=view.tenant_id,
            facts=OwnFacts(facts),
            ports=self.ports,
            events=events,
            deadline=self.deadline,
            at=self.view.at,
            scope=self.scope,
            input_document=own_json(step.input),
        )


def _request(step: PlanStep) -> dict[str, JsonValue]:
    """What identifies a read in the journal."""
    return {
        "capabilityId": step.capability_id,
        "input": step.input,
        "continuation": step.continuation,
        "answer": cast("JsonValue", step.answer.to_json()) if step.answer is not None else None,
    }


def _effect_ends(error: Exception) -> list[EffectError]:
    """How effects ended, where that alone is what was raised, be it in a task group; else none."""
    if isinstance(error, ExceptionGroup):
        found = [_effect_ends(inner) for inner in error.exceptions]
        return [end for ends in found for end in ends] if all(found) else []
    ends = (EffectUncertainError, EffectNotAppliedError, EffectConflictError)
    return [error] if isinstance(error, ends) else []


def _issue(end: EffectError) -> CapabilityIssue:
    code = "EFFECT_NOT_APPLIED" if isinstance(end, EffectNotAppliedError) else "EFFECT_CONFLICT"
    return CapabilityIssue(code, end.detail)


def _own_messages(view: TurnView) -> tuple[Mapping[str, JsonValue], ...]:
    return tuple(_own_members(message) for message in view.state.messages)


def _own_members(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: own_json(member) for name, member in document.items()}


async def _tell(outcome: StepOutcome, branch: EventChain) -> None:
    name, data = outcome_event(outcome)
    await branch.emit(name, data)

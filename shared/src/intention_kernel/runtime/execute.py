"""Running a plan's steps: independent reads side by side, writes one after another, each with a journal and a receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from intention_kernel.agent.capability import CapabilityTurn, Execution
from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.effect import Ports
from intention_kernel.agent.results import CapabilityIssue, CapabilityResult, Completed, Failed
from intention_kernel.agent.schema import Invalid, SchemaIssue
from intention_kernel.contracts.agenda import BlockedReceipt, FrozenStep
from intention_kernel.contracts.facts import Facts
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import (
    CapabilityContractError,
    EffectConflictError,
    EffectNotAppliedError,
    EffectUncertainError,
)
from intention_kernel.ports.turn_body import TurnScope, UncertainStep
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.stages.event_data import outcome_event
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
                tasks = [group.create_task(self._run(step, facts, branches[step.id])) for step in steps]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return tuple(task.result() for task in tasks)

    async def _run(self, step: PlanStep, facts: Facts, branch: EventChain) -> StepOutcome:
        capability = self.view.agent.capabilities[step.capability_id or ""]
        before = set(self.scope.receipts)
        waiting = set(self.scope.uncertain)
        if is_write(self.view.agent, step):
            result = await self._written(capability, step, facts, branch, waiting)
            self._writes.append(step.frozen(capability.definition.version))
        else:
            result = await self._read(capability, step, facts, branch)
        receipts = tuple(receipt for key, receipt in self.scope.receipts.items() if key not in before)
        outcome = StepOutcome(step, result, receipts)
        await _tell(outcome, branch)
        return outcome

    async def _read(self, capability: Capability, step: PlanStep, facts: Facts, branch: EventChain) -> CapabilityResult:
        events = StepEvents(capability.id, branch)
        ran = False

        async def run() -> JsonValue:
            nonlocal ran
            ran = True
            result = await _called(capability, self._context(capability, step, facts, events))
            return StepRecord(result, tuple(events.emitted)).to_json()

        recorded = await self.scope.recorded(f"step:{step.id}", _request(step), run)
        record = StepRecord.from_json(recorded)
        if not ran:
            for event in record.events:
                await events.tell(event)
        return record.result

    async def _written(
        self, capability: Capability, step: PlanStep, facts: Facts, branch: EventChain, waiting: set[str]
    ) -> CapabilityResult | BlockedResult:
        context = self._context(capability, step, facts, StepEvents(capability.id, branch))
        result: CapabilityResult | BlockedResult
        try:
            result = await _called(capability, context)
        except (EffectUncertainError, ExceptionGroup) as raised:
            if not _is_uncertain(raised):
                raise
            return self._blocked(capability, waiting)
        except EffectNotAppliedError as error:
            return Failed(CapabilityIssue("EFFECT_NOT_APPLIED", error.detail))
        except EffectConflictError as error:
            return Failed(CapabilityIssue("EFFECT_CONFLICT", error.detail))
        if self._unseen(capability, waiting):
            return self._blocked(capability, waiting)
        if isinstance(result, Completed) and context.completed_effects == 0:
            detail = "a write has to complete at least one effect through context.run_effect"
            raise CapabilityContractError("WRITE_EFFECT_NOT_COORDINATED", capability.id, detail)
        return result

    def _unseen(self, capability: Capability, waiting: set[str]) -> list[UncertainStep]:
        """Effects whose outcome the capability never saw, since it gave up waiting: it waits whatever it says (R18)."""
        return [step for step in self._uncertain(capability, waiting) if not step.told]

    def _blocked(self, capability: Capability, waiting: set[str]) -> BlockedResult:
        receipts = tuple(
            BlockedReceipt(effect_key=step.waits_for, receipt_id=step.receipt_id, title=step.title)
            for step in self._uncertain(capability, waiting)
        )
        return BlockedResult(receipts, earlier=tuple(self._writes), turn_id=self.resumed_turn_id)

    def _uncertain(self, capability: Capability, waiting: set[str]) -> list[UncertainStep]:
        prefix = f"{capability.id}:"
        found = [step for key, step in self.scope.uncertain.items() if key not in waiting and key.startswith(prefix)]
        # A key that an earlier step of this turn met already is not new, and this step waits for it all the same.
        return found or [step for key, step in self.scope.uncertain.items() if key.startswith(prefix)]

    def _context(self, capability: Capability, step: PlanStep, facts: Facts, events: StepEvents) -> StepContext:
        view = self.view
        active = view.state.interaction
        own = active if active is not None and active.capability_id == capability.id else None
        return StepContext(
            capability=capability,
            intention=step.intention,
            execution=Execution(view.thread_id, view.turn_id, step.id, capability.id, step.trigger),
            turn=CapabilityTurn(
                current_message=view.text,
                messages=view.state.messages,
                summary=view.summary,
                host_context=view.host_context,
                continuation=step.continuation,
                interaction=step.interaction or own,
                interaction_answer=step.answer,
            ),
            tenant_id=view.tenant_id,
            facts=facts,
            ports=self.ports,
            events=events,
            deadline=self.deadline,
            at=self.view.at,
            scope=self.scope,
            input_document=step.input,
        )


async def _called(capability: Capability, context: StepContext) -> CapabilityResult:
    """The capability's result, its output as JSON. Raises CapabilityContractError for what is no result."""
    checked = capability.input.validate(context.input_document)
    if isinstance(checked, Invalid):
        raise CapabilityContractError("INVALID_CAPABILITY_INPUT", capability.id, _words(checked.issues))
    result = await capability.definition.execute(context, checked.value)
    if not isinstance(result, CapabilityResult):
        raise CapabilityContractError("INVALID_CAPABILITY_RESULT", capability.id, f"returned {type(result).__name__}")
    return replace(result, output=_output(capability, result.output)) if isinstance(result, Completed) else result


def _output(capability: Capability, output: object) -> JsonValue:
    """The output as JSON, checked against its schema."""
    try:
        document = capability.output.document(output)
    except Exception as error:
        detail = f"output: {type(error).__name__}: {error}"
        raise CapabilityContractError("INVALID_CAPABILITY_OUTPUT", capability.id, detail) from error
    checked = capability.output.validate(document)
    if isinstance(checked, Invalid):
        raise CapabilityContractError("INVALID_CAPABILITY_OUTPUT", capability.id, _words(checked.issues))
    return checked.document


def _words(issues: tuple[SchemaIssue, ...]) -> str:
    return "; ".join(f"{issue.path or '/'}: {issue.message}" for issue in issues)


def _request(step: PlanStep) -> dict[str, JsonValue]:
    """What identifies a read in the journal."""
    return {
        "capabilityId": step.capability_id,
        "input": step.input,
        "continuation": step.continuation,
        "answer": cast("JsonValue", step.answer.to_json()) if step.answer is not None else None,
    }


def _is_uncertain(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        return all(_is_uncertain(inner) for inner in error.exceptions)
    return isinstance(error, EffectUncertainError)


async def _tell(outcome: StepOutcome, branch: EventChain) -> None:
    name, data = outcome_event(outcome)
    await branch.emit(name, data)

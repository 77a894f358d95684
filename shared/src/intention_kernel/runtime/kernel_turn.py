"""A compiled agent's turn as one line of stages, from a view of the thread to what the commit will hold (design 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.effect import Ports
from intention_kernel.agent.results import Completed, NeedsConfirmation, NeedsDependency, NeedsInput
from intention_kernel.clock import Clock
from intention_kernel.contracts.agenda import BlockedReceipt
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import TurnHeldError
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.ports.turn_body import TurnScope
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.execute import Executor
from intention_kernel.runtime.models import TurnModels
from intention_kernel.runtime.stages import event_data
from intention_kernel.runtime.stages.composing.canonical import refused
from intention_kernel.runtime.stages.composing.compose import answer_turn
from intention_kernel.runtime.stages.composition import Composition
from intention_kernel.runtime.stages.context.context import RefusedClick, build_context
from intention_kernel.runtime.stages.context.projection import private_strings
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.interpreting.interpret import interpret
from intention_kernel.runtime.stages.outcomes import BlockedResult, Reduction, StepOutcome
from intention_kernel.runtime.stages.planning.activation import next_activation
from intention_kernel.runtime.stages.planning.plan import plan_activation, plan_turn
from intention_kernel.runtime.stages.planning.resumption import plan_resumption, resumed_steps
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.reducing.reduce import reduce
from intention_kernel.runtime.stages.selecting.select import select
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import KernelState, TurnView
from intention_kernel.runtime.stages.turn_outcome import SettledEffect, TurnOutcome
from intention_kernel.runtime.stages.turn_plan import PlanStep, TurnPlan


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What a turn leaves: the next state, the response, the receipts that it waits for, the types of facts it published.

    `private` are the strings that results of the turn have named: models do not read them in its message later on, when no
    item is left that says so.
    """

    state: KernelState
    composition: Composition
    blocked: tuple[BlockedReceipt, ...] = ()
    published_types: tuple[str, ...] = ()
    private: Redactions = field(default_factory=Redactions)


@dataclass(slots=True)
class Work:
    """Everything that was planned and done so far, and the state that it led to."""

    state: KernelState
    plans: list[TurnPlan] = field(default_factory=list)
    outcomes: list[StepOutcome] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)

    def add(self, plan: TurnPlan, outcomes: Sequence[StepOutcome], reduction: Reduction) -> None:
        """A batch of steps, reduced."""
        self.plans.append(plan)
        self.outcomes.extend(outcomes)
        self.reductions.append(reduction)
        self.state = reduction.state

    @property
    def private_strings(self) -> Iterator[str]:
        """What results of this turn have named, also where no item of it is left."""
        for outcome in self.outcomes:
            if isinstance(outcome.result, Completed | NeedsInput | NeedsDependency | NeedsConfirmation):
                yield from outcome.result.model_redactions

    @property
    def blocked(self) -> tuple[BlockedReceipt, ...]:
        """The receipts that steps of this turn wait for."""
        results = [outcome.result for outcome in self.outcomes]
        return tuple(receipt for r in results if isinstance(r, BlockedResult) for receipt in r.receipts)


@dataclass(slots=True)
class KernelTurn:
    """One attempt of one turn. `deadline` is aware UTC; `attempt` and `revision` are what `turn.started` tells."""

    view: TurnView
    revision: int
    scope: TurnScope
    gateway: ModelGateway
    ports: Ports
    clock: Clock
    deadline: datetime
    chain: EventChain

    async def user_turn(self) -> TurnEnd:
        """The turn of a user's message. Raises what fails the attempt."""
        await self._started(resumes=None)
        snapshot = build_context(self.view)
        if isinstance(snapshot, RefusedClick):
            return await self._refused(snapshot)
        await self.chain.emit("context.built", event_data.context_built(snapshot))
        models = TurnModels(self.gateway, self.scope, self.chain, self.clock, snapshot)
        selection = await select(snapshot, models)
        await self.chain.emit("capabilities.selected", event_data.capabilities_selected(selection), "audit")
        interpretation = await interpret(snapshot, selection, models)
        await self.chain.emit("intention.interpreted", event_data.intention_interpreted(interpretation), "audit")
        work, executor = Work(self.view.state), self._executor(None)
        plan = plan_turn(snapshot, interpretation)
        await self._run(plan, work, executor)
        await self._go_on(work, executor)
        return await self._end(snapshot, models, work, selection, interpretation)

    async def continuation(self, resumed_turn_id: str, settled: SettledEffect) -> TurnEnd:
        """The turn that goes on with the steps that `resumed_turn_id` left blocked, now that a receipt is settled.

        Every effect which that turn had made is met again, in its order, before anything new may start (protocol R15).
        """
        await self._started(resumes=resumed_turn_id)
        snapshot = build_context(self.view)
        if isinstance(snapshot, RefusedClick):
            raise AssertionError("a continuation has no click")
        await self.chain.emit("context.built", event_data.context_built(snapshot))
        work, executor = Work(self.view.state), self._executor(resumed_turn_id)
        plan = plan_resumption(self.view, resumed_turn_id)
        await self._tell_plan(plan)
        outcomes = await executor.resume(self._resumed(resumed_turn_id), plan, work.state.facts)
        work.add(plan, outcomes, reduce(self.view, work.state, plan, outcomes))
        await self._go_on(work, executor)
        models = TurnModels(self.gateway, self.scope, self.chain, self.clock, snapshot)
        return await self._end(snapshot, models, work, None, None, settled)

    def _resumed(self, resumed_turn_id: str) -> tuple[PlanStep, ...]:
        try:
            return resumed_steps(self.view, resumed_turn_id)
        except TurnHeldError as why:
            self.scope.hold(why)

    def _executor(self, resumed_turn_id: str | None) -> Executor:
        return Executor(
            view=self.view,
            scope=self.scope,
            ports=self.ports,
            chain=self.chain,
            deadline=self.deadline,
            left=self.view.agent.definition.max_steps,
            resumed_turn_id=resumed_turn_id,
        )

    async def _started(self, resumes: str | None) -> None:
        data = event_data.turn_started(self.view.text, self.scope.attempt.number, self.revision, resumes)
        await self.chain.emit("turn.started", data)

    async def _refused(self, click: RefusedClick) -> TurnEnd:
        composition = refused(click, self.view.state.interaction)
        await self.chain.emit("interaction.refused", {"code": click.code}, "audit")
        await self._tell_composition(composition)
        return TurnEnd(self.view.state, composition)

    async def _run(self, plan: TurnPlan, work: Work, executor: Executor) -> tuple[StepOutcome, ...]:
        await self._tell_plan(plan)
        outcomes = await executor.execute(plan, work.state.facts)
        work.add(plan, outcomes, reduce(self.view, work.state, plan, outcomes))
        return outcomes

    async def _go_on(self, work: Work, executor: Executor) -> None:
        """Start what the last batch made possible, until there is nothing more; each activation once (contract 2.11).

        What the turn has no steps left for stays on the agenda, and the next turn starts it: what was done has to be told.
        """
        done: frozenset[str] = frozenset()
        latest: Sequence[StepOutcome] = tuple(work.outcomes)
        while executor.left and (activation := next_activation(self.view, work.state, latest, done)) is not None:
            done |= {activation.key}
            name = (
                "dependency.capability.activated" if activation.kind == "dependency" else "dependency.consumer.resumed"
            )
            data: JsonValue = {"capabilityId": activation.intention.proposed_capability, "identity": activation.key}
            await self.chain.emit(name, data, "audit")
            latest = await self._run(plan_activation(self.view, work.state, activation), work, executor)

    async def _tell_plan(self, plan: TurnPlan) -> None:
        await self.chain.emit("plan.created", event_data.plan_created(plan), "audit")
        for step in plan.steps:
            if step.disposition in ("defer", "clarify"):
                deferred: JsonValue = {
                    "capabilityId": step.capability_id,
                    "disposition": step.disposition,
                    "reasonCode": step.reason.code,
                }
                branch = self.chain.branch(step.id)
                self.chain.last_id = await branch.emit("step.deferred", deferred)
        for item_id in plan.cancelled_item_ids:
            await self.chain.emit("agenda.item.cancelled", {"agendaItemId": item_id}, "audit")

    async def _end(
        self,
        snapshot: ContextSnapshot,
        models: TurnModels,
        work: Work,
        selection: Selection | None,
        interpretation: Interpretation | None,
        settled: SettledEffect | None = None,
    ) -> TurnEnd:
        """Reduce is over: tell it, put the turn into words, and say what is left."""
        await self.chain.emit("facts.reduced", event_data.facts_reduced(work.reductions), "audit")
        if work.state.interaction is not None:
            await self.chain.emit("interaction.requested", event_data.interaction_requested(work.state.interaction))
        gone = (
            string for reduction in work.reductions for fact in reduction.published for string in fact.model_redactions
        )
        redactions = snapshot.redactions.plus((*private_strings(work.state), *work.private_strings, *gone))
        turn = TurnOutcome(
            snapshot=snapshot,
            plans=tuple(work.plans),
            outcomes=tuple(work.outcomes),
            state=work.state,
            redactions=redactions,
            selection=selection,
            interpretation=interpretation,
            issues=tuple(issue for reduction in work.reductions for issue in reduction.issues),
            settled=settled,
        )
        composition = await answer_turn(turn, models.with_redactions(redactions))
        await self._tell_composition(composition)
        published = [record.type for reduction in work.reductions for record in reduction.published]
        return TurnEnd(work.state, composition, work.blocked, tuple(published), Redactions.of(work.private_strings))

    async def _tell_composition(self, composition: Composition) -> None:
        if composition.failure_code is None:
            await self.chain.emit("response.composed", event_data.response_composed(composition), "audit")
        else:
            failed: JsonValue = {"stage": "compose", "code": composition.failure_code}
            await self.chain.emit("response.failed", failed, "audit")


def settled_effect(view: TurnView, receipt: ReceiptReference) -> SettledEffect:
    """The receipt with the title that the blocked step gave it."""
    titles = {r.receipt_id: r.title for item in view.state.agenda if item.blocked for r in item.blocked.receipts}
    return SettledEffect(titles.get(receipt.receipt_id, receipt.effect_key), receipt)

"""The reduce stage: what a batch of steps makes of facts, agenda and the open question (contract 2.10 and 8.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from intention_kernel.agent.results import CapabilityIssue, Failed
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import FactRecord
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.outcomes import Reduction, Skipped, StepIssue, StepOutcome
from intention_kernel.runtime.stages.planning.questions import shown
from intention_kernel.runtime.stages.reducing.agenda_changes import AgendaChange, changed_agenda
from intention_kernel.runtime.stages.reducing.publish import publish
from intention_kernel.runtime.stages.reducing.showing import question_to_show
from intention_kernel.runtime.stages.state import KernelState, TurnView
from intention_kernel.runtime.stages.turn_plan import TurnPlan

_NOT_COMPLETED = CapabilityIssue("DEPENDENCY_NOT_COMPLETED", "Something that this needs was not done.", retryable=True)


def reduce(view: TurnView, state: KernelState, plan: TurnPlan, outcomes: Sequence[StepOutcome]) -> Reduction:
    """`state` is what the batch started from; `outcomes` has one for every step that the plan executes, in its order.

    Raises CapabilityContractError where a result is not what its definition allows, and nothing of the batch counts.
    """
    facts = state.facts
    published: list[FactRecord] = []
    invalidated: list[FactRecord] = []
    for outcome in outcomes:
        publication = publish(view, facts, outcome)
        facts = publication.facts
        published.extend(publication.published)
        invalidated.extend(publication.invalidated)
    change = changed_agenda(view, state.agenda, plan, {outcome.step.id: outcome for outcome in outcomes})
    question = _question(view, state, plan, change)
    return Reduction(
        state=replace(state, facts=facts, agenda=_with_shown(change.agenda, question), interaction=question),
        published=tuple(published),
        invalidated=tuple(invalidated),
        cancelled_item_ids=tuple(end.item_id for end in change.ended if end.reason == "cancelled"),
        issues=tuple(_issues(outcomes)),
        ended=change.ended,
    )


def _question(view: TurnView, state: KernelState, plan: TurnPlan, change: AgendaChange) -> Interaction | None:
    planned = (plan.interaction,) if plan.interaction is not None else ()
    before = state.interaction
    earlier = view.state.interaction
    # What the kernel starts by itself does not take the place of a question of this turn, only of an earlier one.
    automatic = bool(plan.steps) and all(step.trigger in ("dependency", "resume") for step in plan.steps)
    asked_now = before is not None and (earlier is None or earlier.id != before.id)
    asked = (*change.asked, *planned)
    question = question_to_show(change.agenda, before, asked, stays=automatic and asked_now, at=view.at)
    return shown(question, view.at) if question is not None else None


def _with_shown(agenda: Iterable[AgendaItem], question: Interaction | None) -> tuple[AgendaItem, ...]:
    """The agenda, whose item knows since when its question is shown."""
    return tuple(
        item.model_copy(update={"interaction": question})
        if question is not None and item.interaction is not None and item.interaction.id == question.id
        else item
        for item in agenda
    )


def _issues(outcomes: Iterable[StepOutcome]) -> Iterator[StepIssue]:
    for outcome in outcomes:
        match outcome.result:
            case Failed(issue=issue):
                yield StepIssue(outcome.step.id, issue)
            case Skipped(code="DEPENDENCY_NOT_COMPLETED"):
                yield StepIssue(outcome.step.id, _NOT_COMPLETED)

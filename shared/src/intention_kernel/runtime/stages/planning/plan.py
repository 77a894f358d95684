"""The plan stage: what will be done, asked and given up, decided without a model (contract 2.8 and 8).

Writes of one message never compete. Each that needs a confirmation gets its own: the first is shown, the others wait in
the agenda with their questions and are shown one after the other, so no request and no consent is lost, and the user decides
their order by answering. An accepted write is carried out whatever else the message asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.planning.activation import Activation
from intention_kernel.runtime.stages.planning.confirmation import over_by_itself, over_follow_ups
from intention_kernel.runtime.stages.planning.consent import Answered, answered, item_of
from intention_kernel.runtime.stages.planning.dependencies import settle_dependencies
from intention_kernel.runtime.stages.planning.plan_checks import assess, refused
from intention_kernel.runtime.stages.planning.questions import primary
from intention_kernel.runtime.stages.planning.replacement import MAX_AGENDA_ITEMS, replaced
from intention_kernel.runtime.stages.planning.restatement import new_requests
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import KernelState, TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, StepReason, TurnPlan

_READY = StepReason("READY", "Everything that it needs is there.")


def plan_turn(snapshot: ContextSnapshot, interpretation: Interpretation) -> TurnPlan:
    """The plan for a message. Steps: what ended by itself, what the answer resumes or declines, then new requests.

    Raises PolicyContractError where a policy answers with no verdict, and whatever a policy raises.
    """
    view, batch = snapshot.view, interpretation.batch
    given_up = _given_up(view, batch)
    cancelled = tuple(item.id for item in given_up if item.blocked is None)
    over = [step for step in over_by_itself(view, _declined_item(view, batch)) if step.item_id not in cancelled]
    follow_ups = over_follow_ups(view)
    gone = frozenset(cancelled) | frozenset(follow_ups) | {step.item_id for step in over if step.item_id is not None}
    answer = answered(view, batch, gone)
    resumed = answer.resumed if answer is not None else None
    said = new_requests(view, batch.intentions, resumed, answer.answer if answer is not None else None, gone)
    requested = _requested(view, said, answer, len(gone))
    in_doubt = [_in_doubt(view, item) for item in given_up if item.blocked is not None]
    steps = [*over, *in_doubt, *_decided(view, view.state, resumed, requested)]
    fresh = [step for step in steps if step.item_id is None]
    ended = _answered_items(view, answer, fresh)
    return TurnPlan(
        steps=tuple(steps),
        response_goal=_goal(view, steps, cancelled),
        interaction=primary(steps),
        answered_interaction_id=_answered_interaction(answer, fresh, ended),
        cancelled_item_ids=cancelled,
        removed_item_ids=(*_rejected_items(steps), *follow_ups, *ended),
        replacements=replaced(view, fresh, resumed, gone | frozenset(ended)),
    )


def plan_activation(view: TurnView, state: KernelState, activation: Activation) -> TurnPlan:
    """The plan for a step that the kernel starts by itself, through the same checks as one that the user asked for."""
    step = PlanStep(
        id=view.new_id("step"),
        intention=activation.intention,
        capability_id=activation.intention.proposed_capability,
        disposition="execute",
        reason=_READY,
        input=activation.intention.input,
        item_id=activation.item_id,
        continuation=activation.continuation,
        interaction=activation.deferred.interaction if activation.deferred is not None else None,
        answer=activation.deferred.answer if activation.deferred is not None else None,
        trigger=activation.kind,
        consumer_item_id=activation.consumer_item_id,
    )
    steps = settle_dependencies(view, state, [assess(view, state, step)])
    return TurnPlan(
        steps=tuple(steps),
        response_goal=_goal(view, steps, ()),
        interaction=primary(steps),
        removed_item_ids=_rejected_items(steps),
    )


def _decided(view: TurnView, state: KernelState, resumed: PlanStep | None, requested: list[PlanStep]) -> list[PlanStep]:
    candidates = [*([resumed] if resumed is not None else []), *requested]
    undecided = [step for step in candidates if step.disposition == "execute"]
    settled = settle_dependencies(view, state, [assess(view, state, step) for step in undecided])
    decided = {step.id: step for step in settled}
    return [decided.get(step.id, step) for step in candidates]


def _given_up(view: TurnView, batch: IntentionBatch) -> list[AgendaItem]:
    """The items that the user wants to give up, each once."""
    targets = dict.fromkeys(action.target_id for action in batch.lifecycle_actions)
    return [item for target in targets if (item := view.state.item(target)) is not None]


def _in_doubt(view: TurnView, item: AgendaItem) -> PlanStep:
    """A blocked step cannot be given up: its effect may have happened, and only a settlement says what to do about it."""
    message = f"It cannot be given up now, because it may have happened already; that is being checked: {item.intention.objective}"
    return refused(replace(_step(view, item.intention), capability_id=item.capability_id), "EFFECT_IN_DOUBT", message)


def _declined_item(view: TurnView, batch: IntentionBatch) -> str | None:
    active, answer = view.state.interaction, batch.answer_to_interaction
    if active is None or answer is None or answer.interaction_id != active.id or answer.value is not False:
        return None
    item = item_of(view.state.agenda, active)
    return item.id if item is not None and item.status == "waiting_confirmation" else None


def _requested(
    view: TurnView, intentions: Sequence[IntentionRequest], answer: Answered | None, ending: int
) -> list[PlanStep]:
    """A step for each new request. The answer goes with the first that is its owner's, if it resumes nothing."""
    room = MAX_AGENDA_ITEMS - len(view.state.agenda) + ending
    lent = (
        answer if answer is not None and answer.resumed is None and answer.interaction.kind != "confirmation" else None
    )
    steps = []
    for number, intention in enumerate(intentions):
        step = _step(view, intention)
        if number >= room:
            full = "There is too much unfinished work here. Please finish or cancel some of it first."
            step = refused(step, "AGENDA_FULL", full)
        elif lent is not None and step.capability_id is not None and step.capability_id == lent.owner:
            step, lent = replace(step, interaction=lent.interaction, answer=lent.answer), None
        steps.append(step)
    return steps


def _step(view: TurnView, intention: IntentionRequest) -> PlanStep:
    return PlanStep(
        id=view.new_id("step"),
        intention=intention,
        capability_id=intention.proposed_capability,
        disposition="execute",
        reason=replace(_READY, evidence=intention.evidence),
        input=intention.input,
    )


def _rejected_items(steps: Sequence[PlanStep]) -> tuple[str, ...]:
    return tuple(step.item_id for step in steps if step.disposition == "reject" and step.item_id is not None)


def _answered_items(view: TurnView, answer: Answered | None, fresh: Sequence[PlanStep]) -> tuple[str, ...]:
    """The item of the open question, where new requests answer it: an ambiguous request is understood afresh, and a
    follow-up has led to the operation that it offered."""
    active = view.state.interaction
    item = item_of(view.state.agenda, active) if active is not None else None
    if item is None:
        return ()
    going = [step for step in fresh if step.disposition != "reject"]
    if item.intention.resolution == "ambiguous":
        return (item.id,) if going else ()
    lent = answer is not None and any(step.answer is answer.answer for step in going)
    return (item.id,) if lent and item.completed_follow_up else ()


def _answered_interaction(answer: Answered | None, fresh: Sequence[PlanStep], ended: tuple[str, ...]) -> str | None:
    if answer is None:
        return None
    used = any(step.answer is answer.answer for step in fresh if step.disposition != "reject")
    return answer.interaction.id if answer.resumed is not None or used or ended else None


def _goal(view: TurnView, steps: Sequence[PlanStep], cancelled: Sequence[str]) -> str:
    """What the response is for: the question, or else what was asked for and given up."""
    if (question := primary(steps)) is not None:
        return question.goal
    given_up = [_cancelled_words(item) for item in view.state.agenda if item.id in cancelled]
    if said := [*(step.intention.objective for step in steps), *given_up]:
        return "; ".join(said)
    if view.state.interaction is not None:
        return "Answer the message, and keep the open question open."
    return "Answer the message."


def _cancelled_words(item: AgendaItem) -> str:
    return f"No longer pursued: {item.intention.objective}"

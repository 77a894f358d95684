"""What the user's answer to the open question resumes, declines or leaves as it is (contract 8.2 and 8.3)."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.digest import same_json
from intention_kernel.contracts.intentions import IntentionBatch
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.runtime.stages.planning.confirmation import accepted, accepted_own, declined
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, StepReason


@dataclass(frozen=True, slots=True)
class Answered:
    """The open question, its item and the answer. `owner` is the capability that the answer is for.

    `resumed` is the step that the answer leads to: one to execute, or a declined one. It is None where the answer resumes
    nothing by itself: it is no answer to this question, or the owner still has to be asked for.
    """

    interaction: Interaction
    item: AgendaItem | None
    answer: InteractionAnswer
    owner: str | None
    resumed: PlanStep | None = None


def answered(view: TurnView, batch: IntentionBatch, gone: frozenset[str]) -> Answered | None:
    """What the batch answers, None where it answers nothing. `gone` are items that this turn ends anyway: cancelled,
    expired, outdated; an answer to one of them is no consent."""
    interaction, answer = view.state.interaction, batch.answer_to_interaction
    if interaction is None or answer is None or answer.interaction_id != interaction.id:
        return None
    item = item_of(view.state.agenda, interaction)
    owner = _owner(interaction, answer)
    if item is None or item.id in gone:
        return Answered(interaction, item, answer, owner)
    return Answered(interaction, item, answer, owner, _resumed(view, interaction, item, answer, owner))


def item_of(agenda: tuple[AgendaItem, ...], interaction: Interaction) -> AgendaItem | None:
    """The item that waits with that question."""
    return next(
        (item for item in agenda if item.interaction is not None and item.interaction.id == interaction.id), None
    )


def _resumed(
    view: TurnView, interaction: Interaction, item: AgendaItem, answer: InteractionAnswer, owner: str | None
) -> PlanStep | None:
    if interaction.kind == "confirmation" and not isinstance(answer.value, bool):
        return None  # neither a yes nor a no: the question stays open
    if item.status == "waiting_confirmation":
        if answer.value is False:
            return declined(view, item)
        return accepted(item, item.frozen) if item.frozen is not None else accepted_own(view, item, answer)
    if item.status == "waiting_input" and item.capability_id == owner and item.intention.resolution == "resolved":
        return _continued(view, item, answer)
    return None


def _continued(view: TurnView, item: AgendaItem, answer: InteractionAnswer) -> PlanStep:
    return PlanStep(
        id=view.new_id("step"),
        intention=item.intention,
        capability_id=item.capability_id,
        disposition="execute",
        reason=StepReason("READY", "The user has answered.", item.intention.evidence),
        input=item.intention.input,
        item_id=item.id,
        continuation=item.continuation,
        interaction=item.interaction,
        answer=answer,
    )


def _owner(interaction: Interaction, answer: InteractionAnswer) -> str | None:
    """An option may lead to another capability than the one that asks."""
    for option in interaction.options:
        if same_json(option.value, answer.value):
            return option.target_capability_id or interaction.capability_id
    return interaction.capability_id

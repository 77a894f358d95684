"""Reviews of a shortlist by a model: a second look with a question of its own, which can only refuse (contract 2.4 and 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from intention_kernel.agent.prompts.selection import CHOICE_REVIEW, DIVERSION_REVIEW, LIFECYCLE_SELECTION_REVIEW
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import Text, WireModel
from intention_kernel.runtime.stages.asking import Ask, Models, Unusable, narrowed
from intention_kernel.runtime.stages.interpreting.interpret_options import Options
from intention_kernel.runtime.stages.selecting.selection_proposal import SelectionAnswer, Words, active_ids
from intention_kernel.runtime.stages.selection import ReviewedChoice, Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

_SELECT_KEYS = ("capability-selection.review", "capability.select", "turn.interpret")


class Verdict(WireModel):
    """The answer to a review that says yes or no."""

    verdict: Literal["supported", "unsupported"]
    rationale: Words


class ChoiceVerdict(WireModel):
    """The answer to the review of a shortlist beside an open menu; which members it has depends on `meaning`."""

    meaning: Literal["unique_option", "ambiguous_or_unrelated", "operation_request"]
    rationale: Words
    position: Annotated[int, Field(ge=1)] | None = None
    label: Text | None = None
    option_id: str | None = None
    operation_capability_ids: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _members_fit_meaning(self) -> ChoiceVerdict:
        option = (self.position, self.label, self.option_id)
        wants_option, wants_ids = self.meaning == "unique_option", self.meaning == "operation_request"
        if any((member is not None) != wants_option for member in option):
            raise PydanticCustomError("option", "position, label and optionId go with unique_option, all of them")
        if bool(self.operation_capability_ids) != wants_ids:
            raise PydanticCustomError("ids", "operationCapabilityIds go with operation_request")
        return self


@dataclass(frozen=True, slots=True)
class ChoiceReviewed:
    """What the menu's review found: issues, or an option, or neither."""

    issues: tuple[str, ...] = ()
    choice: ReviewedChoice | None = None


async def review_choice(
    snapshot: ContextSnapshot, interaction: Interaction, answer: SelectionAnswer, models: Models
) -> ChoiceReviewed:
    """Whether the message picks one option, or asks for the shortlist's operations in its own words."""
    options = Options.of(interaction.options, snapshot.redactions)
    if not options.distinct:
        return ChoiceReviewed(("the options of the menu cannot be told apart; select nothing for it",))
    reviewed = await models.ask(_choice_ask(snapshot, answer))
    if isinstance(reviewed, Unusable):
        return ChoiceReviewed(("the review of the choice could not be read; select nothing that rests on it",))
    match reviewed.value.meaning:
        case "unique_option":
            return _option_reviewed(snapshot, interaction, answer, reviewed.value)
        case "operation_request":
            return _operations_reviewed(snapshot, answer, reviewed.value)
        case "ambiguous_or_unrelated":
            why = reviewed.value.rationale
            return ChoiceReviewed(
                (f"the message picks no single option of the menu, and asks for no operation: {why}",)
            )


async def review_diversion(
    snapshot: ContextSnapshot, selection: Selection, answer: SelectionAnswer, models: Models
) -> tuple[str, ...]:
    """Whether the message asks for something other than the open question is about."""
    ids = (*selection.capability_ids, *active_ids(snapshot))
    ask = Ask(
        task="capability-selection.interaction-review",
        prompt_id=DIVERSION_REVIEW.id,
        input={"context": dict(snapshot.projection), "proposedSelection": answer.to_json()},
        answer=Verdict,
        model_keys=("capability-selection.interaction-review", *_SELECT_KEYS),
        capabilities=tuple(summary for summary in snapshot.summaries() if summary.id in ids),
        audit={"proposedSelection": answer.to_json()},
    )
    return await _verdict(ask, models, "the message does not ask for these instead of answering the open question")


async def review_lifecycle(snapshot: ContextSnapshot, answer: SelectionAnswer, models: Models) -> tuple[str, ...]:
    """Whether the message gives up work that is tracked."""
    document = cast("dict[str, JsonValue]", answer.to_json())
    proposed: JsonValue = {name: document[name] for name in ("mode", "rationale", "evidence")}
    contract: JsonValue = {"actions": ["cancel_agenda_item"], "interactionAnswersAreLifecycleActions": False}
    ask = Ask(
        task="lifecycle-selection.review",
        prompt_id=LIFECYCLE_SELECTION_REVIEW.id,
        input={"context": dict(snapshot.projection), "controlContract": contract, "proposedSelection": proposed},
        answer=Verdict,
        model_keys=("lifecycle-selection.review", "lifecycle.review", "turn.interpret"),
        audit={"proposedSelection": proposed},
    )
    return await _verdict(ask, models, "the message gives up no tracked work; a mode with control does not fit")


async def _verdict(ask: Ask[Verdict], models: Models, refusal: str) -> tuple[str, ...]:
    reviewed = await models.ask(ask)
    if isinstance(reviewed, Unusable):
        return (f"the review could not be read, so it counts as a refusal: {refusal}",)
    return () if reviewed.value.verdict == "supported" else (f"{refusal}: {reviewed.value.rationale}",)


def _choice_ask(snapshot: ContextSnapshot, answer: SelectionAnswer) -> Ask[ChoiceVerdict]:
    current = _current_choice(snapshot)
    options = cast("list[dict[str, JsonValue]]", current["options"])
    return Ask(
        task="capability-selection.choice-review",
        prompt_id=CHOICE_REVIEW.id,
        input={
            "context": dict(snapshot.projection),
            "currentChoice": current,
            "proposedSelection": answer.to_json(),
        },
        answer=ChoiceVerdict,
        model_keys=("capability-selection.choice-review", *_SELECT_KEYS),
        capabilities=snapshot.contracts(tuple(answer.capability_ids)),
        output_schema=narrowed(
            ChoiceVerdict,
            position={"type": "integer", "enum": [option["position"] for option in options]},
            label={"type": "string", "enum": list(dict.fromkeys(str(option["label"]) for option in options))},
            optionId={"type": "string", "enum": [option["id"] for option in options]},
            operationCapabilityIds={
                "type": "array",
                "items": {"type": "string", "enum": [capability.id for capability in snapshot.capabilities]},
            },
        ),
        audit={"proposedSelection": answer.to_json(), "currentChoice": current},
    )


def _current_choice(snapshot: ContextSnapshot) -> dict[str, JsonValue]:
    """The open menu as models see it, with the positions that the user sees."""
    interaction = cast("dict[str, JsonValue]", snapshot.projection["interaction"])
    options = cast("list[dict[str, JsonValue]]", interaction["options"])
    return {**interaction, "options": [{"position": at, **option} for at, option in enumerate(options, start=1)]}


def _option_reviewed(
    snapshot: ContextSnapshot, interaction: Interaction, answer: SelectionAnswer, verdict: ChoiceVerdict
) -> ChoiceReviewed:
    at = (verdict.position or 0) - 1
    option = interaction.options[at] if 0 <= at < len(interaction.options) else None
    shown = snapshot.redactions.text
    if option is None or (shown(option.id), shown(option.label)) != (verdict.option_id, verdict.label):
        return ChoiceReviewed(("the review's position, label and id do not belong to one option",))
    target = option.target_capability_id
    if target in snapshot.view.agent.capabilities and target not in answer.capability_ids:
        return ChoiceReviewed((f"the message picks option {verdict.option_id}, which leads to {target}: select that",))
    view = snapshot.view
    return ChoiceReviewed(
        choice=ReviewedChoice(interaction.id, option.id, view.message_index, view.text, verdict.rationale)
    )


def _operations_reviewed(snapshot: ContextSnapshot, answer: SelectionAnswer, verdict: ChoiceVerdict) -> ChoiceReviewed:
    asked = verdict.operation_capability_ids
    if unknown := [name for name in asked if name not in snapshot.view.agent.capabilities]:
        return ChoiceReviewed((f"the review names capabilities that do not exist: {', '.join(unknown)}",))
    missing = [name for name in asked if name not in answer.capability_ids]
    if missing:
        return ChoiceReviewed((f"the message asks for {', '.join(missing)}, which the selection lacks",))
    return ChoiceReviewed()

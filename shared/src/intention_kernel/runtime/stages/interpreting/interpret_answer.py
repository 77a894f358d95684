"""The answer to the active question before it is judged: what a click already says, and which option a model means (contract 2.6)."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.contracts.intentions import IntentionBatch
from intention_kernel.contracts.interactions import InteractionAnswer, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame, resolved
from intention_kernel.runtime.stages.interpreting.interpret_options import Options
from intention_kernel.runtime.stages.selection import ReviewedChoice, Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot


def framed(snapshot: ContextSnapshot, selection: Selection) -> Frame:
    """The turn's frame. A click decides over a reviewed choice, and both over what a model will say.

    A click that answers a confirmation with anything but true or false answers nothing: neither it nor a model's words
    beside it are consent. Raises ModelGatewayError CAPABILITY_SELECTION_INVALID for a reviewed choice of another message
    or question.
    """
    frame = Frame(snapshot, selection)
    click = snapshot.click
    if click is not None:
        given = None if frame.is_confirmation and not frame.is_consent_or_refusal(click) else click
        return replace(frame, fixed=given, clicked=True)
    if selection.reviewed_choice is not None:
        return replace(frame, fixed=_bound(frame, selection.reviewed_choice))
    return frame


def with_answer_settled(frame: Frame, batch: IntentionBatch) -> IntentionBatch:
    """The batch with the fixed answer, or with the model's answer in the server's terms where it names those exactly."""
    if frame.clicked or frame.fixed is not None:
        return _with_answer(batch, frame.fixed)
    answer = batch.answer_to_interaction
    interaction = frame.interaction
    if answer is None or interaction is None:
        return batch
    if answer.interaction_id == frame.shown(interaction.id) or _means_the_confirmation(frame, batch, answer):
        answer = answer.model_copy(update={"interaction_id": interaction.id})
    if frame.choice is not None and frame.answers(answer):
        option = _named_option(frame.choice, batch, answer.value)
        if option is not None:
            answer = answer.model_copy(update={"value": option.value})
    return _with_answer(batch, answer)


def _bound(frame: Frame, choice: ReviewedChoice) -> InteractionAnswer:
    interaction = frame.interaction
    option = interaction.option(choice.option_id) if interaction is not None else None
    if (
        interaction is None
        or interaction.kind != "choice"
        or interaction.id != choice.interaction_id
        or option is None
        or choice.message_index != frame.view.message_index
        or choice.evidence != frame.view.text
    ):
        raise ModelGatewayError(
            "CAPABILITY_SELECTION_INVALID", "the reviewed choice is of another message or question than the current one"
        )
    return InteractionAnswer(
        interaction_id=interaction.id, value=option.value, evidence=choice.evidence, rationale=choice.rationale
    )


def _means_the_confirmation(frame: Frame, batch: IntentionBatch, answer: InteractionAnswer) -> bool:
    """A yes or no under a wrong id is meant for the owned confirmation, unless the batch is about something else alone."""
    interaction = frame.interaction
    if interaction is None or not frame.is_confirmation or interaction.capability_id is None:
        return False
    about_it = not batch.intentions or any(
        intention.proposed_capability == interaction.capability_id for _, intention in resolved(batch)
    )
    return isinstance(answer.value, bool) and about_it


def _named_option(options: Options, batch: IntentionBatch, value: JsonValue) -> InteractionOption | None:
    """By id, which is what models are asked for; else by an equal value; else by the one option that intentions refer to.

    Never by a position, a label, or the capability alone.
    """
    if isinstance(value, dict) and value.keys() == {"optionId"}:
        value = value["optionId"]
    direct = options.by_id(value) or options.by_value(value)
    if direct is not None:
        return direct
    targets = (reference.target for _, intention in resolved(batch) for reference in intention.references)
    named = [option for option in map(options.by_id, targets) if option is not None]
    return named[0] if named and all(option is named[0] for option in named) else None


def _with_answer(batch: IntentionBatch, answer: InteractionAnswer | None) -> IntentionBatch:
    if answer is batch.answer_to_interaction:
        return batch
    return batch.model_copy(update={"answer_to_interaction": answer})

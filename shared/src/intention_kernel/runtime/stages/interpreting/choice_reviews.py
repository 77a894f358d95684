"""Reviews of answers to a choice: the one that was proposed, and the one that was left out (contract 2.7)."""

from __future__ import annotations

from intention_kernel.contracts.intentions import IntentionBatch
from intention_kernel.contracts.interactions import InteractionAnswer, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.asking import Models
from intention_kernel.runtime.stages.interpreting.interpret_frame import (
    Frame,
    Issue,
    Issues,
    proposed_ids,
    resolved,
    same_answer,
)
from intention_kernel.runtime.stages.interpreting.interpret_options import Options, example_competes_with_position
from intention_kernel.runtime.stages.interpreting.review_asking import answer_json, intention_json, reviewed
from intention_kernel.runtime.stages.interpreting.review_verdicts import (
    ChoiceVerdict,
    OmittedChoiceVerdict,
    choice_schema,
    omitted_schema,
)

CHOICE = "kernel.review-choice-answer.choice-answer-review-system-prompt"
OMITTED = "kernel.review-omitted-choice-answer.system"
ANSWER = "/answerToInteraction"


def competing_text_issues(frame: Frame, batch: IntentionBatch) -> Issues:
    """A text that is an example of one option and the position of another chooses nothing, whatever a model makes of it.

    Neither does it ask for what the options lead to: the user has to be asked. A click or a reviewed choice is no text.
    """
    options = frame.choice
    if options is None or frame.clicked or frame.fixed is not None:
        return ()
    if not example_competes_with_position(options.all, frame.view.text):
        return ()
    if batch.answer_to_interaction is None and not proposed_ids(batch) & frame.active_ids:
        return ()
    words = "the message names one option by an example and another by its position: leave out the answer and what follows it"
    return (Issue("UNSUPPORTED_CHOICE_ANSWER", ANSWER, words),)


async def choice_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    """A choice that a model read out of the message has to be the one that the message makes."""
    answer = batch.answer_to_interaction
    options = frame.choice
    if answer is None or options is None or same_answer(answer, frame.fixed) or same_answer(answer, frame.supported):
        return ()
    option = options.by_value(answer.value)
    if option is None or not options.distinct:
        return _unsupported("the options cannot be told apart")
    verdict = await _choice_verdict(frame, options, option, answer, models)
    if verdict is None:
        return _unsupported("the review gave no verdict")
    if verdict.decision != "selected":
        return _unsupported(f"the message does not choose one option. Review: {verdict.rationale}")
    chosen = options.by_id(verdict.option_id)
    if chosen is None:
        return _unsupported("the review named no current option")
    return () if chosen is option else _mismatched(options.shown_id(chosen))


async def omitted_choice_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    """Where the owner's operation is asked for without an answer, the message may have chosen all the same."""
    options = frame.choice
    owner = frame.interaction.capability_id if frame.interaction is not None else None
    asked = tuple((at, i) for at, i in resolved(batch) if i.proposed_capability == owner)
    if options is None or owner is None or not asked or frame.clicked:
        return ()
    if batch.answer_to_interaction is not None or batch.lifecycle_actions:
        return ()
    members: dict[str, JsonValue] = {
        "reviewKind": "omitted_choice_answer",
        "proposedIntentions": [intention_json(intention) for _, intention in asked],
    }
    schema = omitted_schema(tuple(dict.fromkeys(options.shown_ids)))
    verdict = await reviewed(frame, models, OMITTED, members, OmittedChoiceVerdict, schema)
    if verdict is not None and verdict.verdict == "unsupported":
        return ()
    chosen = options.by_id(verdict.option_id) if verdict is not None else None
    if chosen is None:
        words = "whether the message chooses an option could not be reviewed: answer the question if it does"
    else:
        words = f"the message chooses the option {options.shown_id(chosen)}: add exactly that answer"
    return (Issue("OMITTED_CHOICE_ANSWER", ANSWER, words),)


async def _choice_verdict(
    frame: Frame, options: Options, option: InteractionOption, answer: InteractionAnswer, models: Models
) -> ChoiceVerdict | None:
    members: dict[str, JsonValue] = {
        "proposedAnswer": answer_json(answer),
        "proposedOption": option.to_json(),
        "currentChoice": {"options": [one.to_json() for one in options.all]},
    }
    verdict = await reviewed(frame, models, CHOICE, members, ChoiceVerdict, choice_schema(options.shown_ids))
    if verdict is None or verdict.option_ids is None:
        return verdict
    return verdict if set(verdict.option_ids) <= set(options.shown_ids) else None


def _unsupported(words: str) -> Issues:
    return (Issue("UNSUPPORTED_CHOICE_ANSWER", ANSWER, f"{words}: leave the answer out, the question stays open"),)


def _mismatched(shown_id: str) -> Issues:
    words = f"the message chooses the option {shown_id}, not the proposed one: correct the answer, do not leave it out"
    return (Issue("MISMATCHED_CHOICE_ANSWER", f"{ANSWER}/value", words),)

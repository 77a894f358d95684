"""Reviews of what answers a confirmation, and of operations beside an answer (contract 2.7). Nothing supports itself."""

from __future__ import annotations

from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.asking import Models
from intention_kernel.runtime.stages.interpreting.interpret_frame import (
    Frame,
    Issue,
    IssueCode,
    Issues,
    resolved,
    same_answer,
)
from intention_kernel.runtime.stages.interpreting.review_asking import answer_json, intention_json, reviewed
from intention_kernel.runtime.stages.interpreting.review_verdicts import Verdict

CONFIRMATION = "kernel.review-interaction-answer.confirmation-answer-review-system-prompt"
CONFIRMATION_INTENTIONS = "kernel.review-confirmation-intentions.review-system-prompt"
CHOICE_INTENTIONS = "kernel.review-choice-intentions.system"
UNANSWERED_INTENTIONS = "kernel.review-choice-intentions.unanswered-system"

Extras = tuple[tuple[int, IntentionRequest], ...]


async def confirmation_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    """A yes or no that a model read out of the message has to be in the message. A click was said by itself."""
    answer = batch.answer_to_interaction
    if answer is None or not frame.is_consent_or_refusal(answer) or _already_supported(frame, batch):
        return ()
    verdict = await reviewed(frame, models, CONFIRMATION, {"proposedAnswer": answer_json(answer)}, Verdict)
    if verdict is not None and verdict.verdict == "supported":
        return ()
    words = "the message neither accepts nor refuses: leave the answer out, the confirmation stays open"
    return (Issue("UNSUPPORTED_CONFIRMATION_ANSWER", "/answerToInteraction", _why(words, verdict)),)


async def confirmation_extra_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    """Operations beside a yes or no have to be asked for in words of their own."""
    answer = batch.answer_to_interaction
    if answer is None or not frame.is_consent_or_refusal(answer) or not batch.intentions:
        return ()
    kind = {"reviewKind": "confirmation_intention_independence", "proposedAnswer": answer_json(answer)}
    words = "the message does not ask for these beside its answer: keep the answer as it is and leave them out"
    return await _independence_issues(
        frame,
        models,
        CONFIRMATION_INTENTIONS,
        kind,
        tuple(enumerate(batch.intentions)),
        ("UNSUPPORTED_CONFIRMATION_INTENTIONS", words),
    )


async def choice_extra_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    """Operations beside an answered choice, or instead of an answer to it, have to be asked for in words of their own."""
    answer = batch.answer_to_interaction
    if frame.choice is None:
        return ()
    if answer is None:
        return await _unanswered_issues(frame, batch, models)
    owner = frame.owner_of(answer)
    extras = tuple((at, i) for at, i in resolved(batch) if i.proposed_capability != owner)
    if owner is None or not extras:
        return ()
    kind = {"reviewKind": "choice_intention_independence", "proposedAnswer": answer_json(answer)}
    words = "the message only chooses: keep the answer as it is and leave out what it does not ask for"
    return await _independence_issues(
        frame, models, CHOICE_INTENTIONS, kind, extras, ("UNSUPPORTED_CHOICE_INTENTIONS", words)
    )


async def _unanswered_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    selected = set(frame.selection.capability_ids)
    mixed = bool(selected & frame.active_ids and selected - frame.active_ids)
    extras = tuple((at, i) for at, i in resolved(batch) if i.proposed_capability not in frame.active_ids)
    if not mixed or not extras or frame.clicked:
        return ()
    kind: dict[str, JsonValue] = {"reviewKind": "choice_intention_independence", "answerStatus": "unanswered"}
    words = "the message does not ask for these apart from the open question: leave them out"
    return await _independence_issues(
        frame, models, UNANSWERED_INTENTIONS, kind, extras, ("UNSUPPORTED_UNANSWERED_CHOICE_EXTRAS", words)
    )


async def _independence_issues(
    frame: Frame,
    models: Models,
    prompt_id: str,
    kind: dict[str, JsonValue],
    extras: Extras,
    refusal: tuple[IssueCode, str],
) -> Issues:
    members = {**kind, "proposedIntentions": [intention_json(intention) for _, intention in extras]}
    verdict = await reviewed(frame, models, prompt_id, members, Verdict)
    if verdict is not None and verdict.verdict == "supported":
        return ()
    code, words = refusal
    return tuple(Issue(code, f"/intentions/{at}", _why(words, verdict)) for at, _ in extras)


def _already_supported(frame: Frame, batch: IntentionBatch) -> bool:
    answer = batch.answer_to_interaction
    return same_answer(answer, frame.fixed) or same_answer(answer, frame.supported)


def _why(words: str, verdict: Verdict | None) -> str:
    return f"{words}. Review: {verdict.rationale}" if verdict is not None else f"{words}. The review gave no verdict"

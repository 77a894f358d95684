"""What a batch may not say, found without a model: the boundary of the turn, all of it at once, then inputs (contract 2.6)."""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.agent.schema import Invalid
from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame, Issue, Issues, resolved
from intention_kernel.runtime.stages.interpreting.interpret_references import reference_issues
from intention_kernel.runtime.stages.interpreting.interpret_repair import Repair

ANSWER = "/answerToInteraction"
INTENTIONS = "/intentions"
ACTIONS = "/lifecycleActions"


def boundary_issues(frame: Frame, batch: IntentionBatch, repair: Repair | None = None) -> Issues:
    """Everything in the batch that this turn does not permit."""
    return (
        *_answer_issues(frame, batch),
        *_kept_answer_issues(frame, batch, repair),
        *_intention_issues(frame, batch),
        *_empty_issues(frame, batch, repair),
        *reference_issues(frame, batch),
        *_lifecycle_issues(frame, batch, repair),
    )


def input_issues(frame: Frame, batch: IntentionBatch) -> Issues:
    """Inputs of resolved intentions that their capabilities would not take. An absent input is validated as null."""
    return tuple(issue for at, intention in resolved(batch) for issue in _input_issues(frame, at, intention))


def _input_issues(frame: Frame, at: int, intention: IntentionRequest) -> Iterator[Issue]:
    capability = frame.view.agent.capabilities[intention.proposed_capability or ""]
    result = capability.input.validate(intention.input)
    if not isinstance(result, Invalid):
        return
    place = f"{INTENTIONS}/{at}/input"
    if not intention.has_input:
        yield Issue("INVALID_CAPABILITY_INPUT", place, f"{capability.id} needs an input and none was given")
        return
    for issue in result.issues:
        yield Issue("INVALID_CAPABILITY_INPUT", place + issue.path, issue.message)
    if not result.issues:
        yield Issue("INVALID_CAPABILITY_INPUT", place, f"{capability.id} does not take this input")


def _answer_issues(frame: Frame, batch: IntentionBatch) -> Iterator[Issue]:
    answer = batch.answer_to_interaction
    if answer is None:
        return
    if not frame.answers(answer):
        active = frame.interaction
        words = f"the active question is {frame.shown(active.id)}" if active is not None else "no question is active"
        yield Issue(
            "UNKNOWN_INTERACTION", f"{ANSWER}/interactionId", f"{words}; an answer to another one is not possible"
        )
    elif frame.is_confirmation and not isinstance(answer.value, bool):
        yield Issue(
            "CONFIRMATION_ANSWER_NOT_BOOLEAN",
            f"{ANSWER}/value",
            "only true or false answers a confirmation; leave the answer out if the message is neither a clear yes nor a no",
        )
    elif not frame.clicked and frame.choice is not None and not frame.choice.of_value(answer.value):
        shown = ", ".join(frame.choice.shown_ids)
        yield Issue("UNKNOWN_CHOICE_OPTION", f"{ANSWER}/value", f"is not the id of a current option: {shown}")
    else:
        yield from _operation_issues(frame, batch, answer)


def _operation_issues(frame: Frame, batch: IntentionBatch, answer: InteractionAnswer) -> Iterator[Issue]:
    """An answer that resumes nothing is for an operation that the batch has to ask for; it is never lent to another one."""
    owner = frame.owner_of(answer)
    asked = any(intention.proposed_capability == owner for _, intention in resolved(batch))
    if owner is not None and not frame.settles(answer) and not asked:
        yield Issue(
            "ANSWER_WITHOUT_OPERATION",
            INTENTIONS,
            f"the answer is for {owner}, which does not wait for it: add a resolved intention of {owner}, or no answer",
        )


def _kept_answer_issues(frame: Frame, batch: IntentionBatch, repair: Repair | None) -> Iterator[Issue]:
    if repair is not None and not repair.keeps_answer(batch):
        yield Issue("ANSWER_NOT_KEPT", ANSWER, "the repair has to keep the answer and may change other members only")


def _intention_issues(frame: Frame, batch: IntentionBatch) -> Iterator[Issue]:
    selected = frame.selection.capability_ids
    conversational = frame.selection.mode == "conversational"
    owner = frame.owner_of(batch.answer_to_interaction)
    for at, intention in enumerate(batch.intentions):
        proposed = intention.proposed_capability
        place = f"{INTENTIONS}/{at}"
        if intention.resolution == "resolved" and (
            proposed is None or proposed not in selected or proposed not in frame.view.agent.capabilities
        ):
            words = f"one of {', '.join(selected)}" if selected else "none: no capability is selected for this message"
            yield Issue(
                "CAPABILITY_NOT_SELECTED", f"{place}/proposedCapability", f"a resolved intention proposes {words}"
            )
        elif conversational and (proposed is None or proposed != owner):
            yield Issue(
                "INTENTION_NOT_ALLOWED",
                place,
                "the message was found to ask for nothing; only the operation that its answer is for may be here",
            )


def _empty_issues(frame: Frame, batch: IntentionBatch, repair: Repair | None) -> Iterator[Issue]:
    mode = frame.selection.mode
    if mode not in ("selected", "selected_with_control") or batch.intentions:
        return
    if batch.answer_to_interaction is not None and (
        frame.fixed is not None or frame.settles(batch.answer_to_interaction)
    ):
        return
    if frame.clicked or (mode == "selected_with_control" and batch.lifecycle_actions):
        return
    if repair is None or not repair.permits_nothing(frame, batch):
        yield Issue("EMPTY_BATCH", INTENTIONS, _what_is_missing(frame))


def _what_is_missing(frame: Frame) -> str:
    if frame.is_confirmation:
        return (
            "nothing was understood. If the message itself says a clear yes or no to the pending confirmation, answer it "
            "with true or false; if it asks for something else, add that. Do not ask for the pending operation again"
        )
    return "capabilities were selected for this message: say with intentions what it asks of them"


def _lifecycle_issues(frame: Frame, batch: IntentionBatch, repair: Repair | None) -> Iterator[Issue]:
    seen: set[str] = set()
    for at, action in enumerate(batch.lifecycle_actions):
        place = f"{ACTIONS}/{at}"
        if not frame.may_act_on_agenda:
            yield Issue("INVALID_LIFECYCLE_ACTION", place, "the message was found not to give up any work")
        elif frame.view.state.item(action.target_id) is None:
            yield Issue("INVALID_LIFECYCLE_ACTION", f"{place}/targetId", "is not the id of an item on the agenda")
        elif action.target_id in seen:
            yield Issue("INVALID_LIFECYCLE_ACTION", f"{place}/targetId", "names an item that another action names")
        seen.add(action.target_id)
    missing = frame.selection.mode == "control" and not batch.lifecycle_actions and not frame.clicked
    if missing and (repair is None or not repair.permits_nothing(frame, batch)):
        yield Issue("LIFECYCLE_ACTION_MISSING", ACTIONS, "the message was found to give up work: say which item")

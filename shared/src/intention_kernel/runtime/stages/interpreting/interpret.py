"""Interpret: what the message means, as a batch that was checked and reviewed, with one repair (contract 2.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest, LifecycleAction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.asking import Ask, Models, Unusable
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.interpreting.answer_reviews import (
    choice_extra_issues,
    confirmation_extra_issues,
    confirmation_issues,
)
from intention_kernel.runtime.stages.interpreting.choice_reviews import (
    choice_issues,
    competing_text_issues,
    omitted_choice_issues,
)
from intention_kernel.runtime.stages.interpreting.interpret_answer import framed, with_answer_settled
from intention_kernel.runtime.stages.interpreting.interpret_checks import boundary_issues, input_issues
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame, Issue, Issues
from intention_kernel.runtime.stages.interpreting.interpret_proposal import ProposedBatch
from intention_kernel.runtime.stages.interpreting.interpret_repair import Repair
from intention_kernel.runtime.stages.interpreting.interpret_schema import batch_schema
from intention_kernel.runtime.stages.interpreting.interpret_selection import selection_json
from intention_kernel.runtime.stages.interpreting.lifecycle_review import lifecycle_issues
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

INTERPRET = "kernel.turn.interpret"
REPAIR = "kernel.turn.interpret.repair"

REVIEWS = (
    omitted_choice_issues,
    confirmation_issues,
    confirmation_extra_issues,
    choice_issues,
    choice_extra_issues,
    lifecycle_issues,
)
"""In this order; the first that finds something ends them."""


async def interpret(snapshot: ContextSnapshot, selection: Selection, models: Models) -> Interpretation:
    """What the message means. Every resolved intention names a selected capability and has an input that it takes.

    Raises ModelGatewayError: MODEL_OUTPUT_INVALID where the proposal is still refused after its one repair,
    CAPABILITY_SELECTION_INVALID for a reviewed choice that is not of this message, and what `models` raises.
    """
    frame = framed(snapshot, selection)
    if selection.mode == "conversational" and frame.interaction is None:
        return _interpretation(frame, IntentionBatch(), asked=False)
    if _answer_is_all(frame):
        return _interpretation(frame, IntentionBatch(answer_to_interaction=frame.fixed), asked=False)
    frame = _with_owner_of_click(frame)
    first = await _propose(frame, models, "turn.interpret", INTERPRET, {})
    issues = await _issues(frame, first, models)
    if first.batch is not None and not issues:
        return _interpretation(frame, first.batch)
    return await _repaired(frame, first, issues, models)


@dataclass(frozen=True, slots=True)
class _Proposal:
    """What a model proposed, as it came, and as a batch in the kernel's terms where it has the form."""

    raw: JsonValue
    batch: IntentionBatch | None
    form_issues: Issues = ()


def _answer_is_all(frame: Frame) -> bool:
    """Whether the turn is understood without a model: by a click, or by a reviewed choice and nothing beside it."""
    if frame.clicked:
        understood = frame.selection.source == "structured_selection"
        return understood and (frame.settles(frame.fixed) or frame.owner_of(frame.fixed) is None)
    if frame.fixed is None:
        return False
    owner = frame.owner_of(frame.fixed)
    only_that = frame.selection.mode == "selected" and frame.selection.capability_ids == (owner,)
    return only_that and frame.resumes(frame.fixed)


def _with_owner_of_click(frame: Frame) -> Frame:
    """A click that leads to an operation which does not wait for it needs that operation's contract for its input."""
    owner = frame.owner_of(frame.fixed) if frame.clicked else None
    if owner is None or frame.selection.source != "structured_selection":
        return frame
    return replace(frame, selection=replace(frame.selection, mode="selected", capability_ids=(owner,)))


async def _propose(
    frame: Frame, models: Models, task: ModelTask, prompt_id: str, members: dict[str, JsonValue]
) -> _Proposal:
    shortlist: dict[str, JsonValue] = {"selection": selection_json(frame.selection), **members}
    answer = await models.ask(
        Ask(
            task=task,
            prompt_id=prompt_id,
            input={"context": dict(frame.snapshot.projection), **shortlist},
            answer=ProposedBatch,
            model_keys=("turn.interpret",) if task == "turn.interpret" else (task, "turn.interpret"),
            capabilities=frame.snapshot.contracts(frame.selection.capability_ids),
            output_schema=batch_schema(frame),
            audit=shortlist,
        )
    )
    if isinstance(answer, Unusable):
        return _Proposal(answer.raw, None, tuple(Issue("MODEL_OUTPUT_FORM", "", words) for words in answer.issues))
    return _Proposal(answer.value.document(), _in_kernel_terms(frame, answer.value.batch()))


async def _issues(frame: Frame, proposal: _Proposal, models: Models, repair: Repair | None = None) -> Issues:
    if proposal.batch is None:
        return proposal.form_issues
    batch = proposal.batch
    issues = boundary_issues(frame, batch, repair) or input_issues(frame, batch) or competing_text_issues(frame, batch)
    for review in REVIEWS:
        if issues:
            break
        issues = await review(frame, batch, models)
    return issues


async def _repaired(frame: Frame, first: _Proposal, issues: Issues, models: Models) -> Interpretation:
    repair = Repair(first.batch, issues)
    members: dict[str, JsonValue] = {
        "invalidOutput": first.raw,
        "validationIssues": [issue.to_json() for issue in issues],
    }
    second = await _propose(frame, models, "turn.interpret.repair", REPAIR, members)
    left = await _issues(replace(frame, supported=repair.supported), second, models, repair)
    if second.batch is not None and not left:
        return _interpretation(frame, second.batch)
    found = ", ".join(f"{issue.code} at {issue.path or '/'}" for issue in left)
    raise ModelGatewayError("MODEL_OUTPUT_INVALID", f"turn.interpret: still refused after its one repair: {found}")


def _in_kernel_terms(frame: Frame, batch: IntentionBatch) -> IntentionBatch:
    """Ids as the kernel knows them, and the one selected capability where a resolved intention names none."""
    shown = [frame.shown(item.id) for item in frame.view.state.agenda]
    real = {frame.shown(item.id): item.id for item in frame.view.state.agenda if shown.count(frame.shown(item.id)) == 1}
    named = batch.model_copy(
        update={
            "intentions": tuple(_with_capability(frame.selection, intention) for intention in batch.intentions),
            "lifecycle_actions": tuple(_with_target(real, action) for action in batch.lifecycle_actions),
        }
    )
    return with_answer_settled(frame, named)


def _with_capability(selection: Selection, intention: IntentionRequest) -> IntentionRequest:
    missing = intention.resolution == "resolved" and intention.proposed_capability is None
    if not missing or len(selection.capability_ids) != 1:
        return intention
    return intention.model_copy(update={"proposed_capability": selection.capability_ids[0]})


def _with_target(real: dict[str, str], action: LifecycleAction) -> LifecycleAction:
    return action.model_copy(update={"target_id": real.get(action.target_id, action.target_id)})


def _interpretation(frame: Frame, batch: IntentionBatch, *, asked: bool = True) -> Interpretation:
    """The accepted batch; its intentions get their ids now."""
    intentions = tuple(i.model_copy(update={"id": frame.view.new_id("intention")}) for i in batch.intentions)
    answered = batch.answer_to_interaction is not None
    return Interpretation(
        source="structured_selection" if frame.clicked and not asked else "model",
        batch=batch.model_copy(update={"intentions": intentions}),
        answer_source=("structured_selection" if frame.clicked else "model") if answered else None,
    )

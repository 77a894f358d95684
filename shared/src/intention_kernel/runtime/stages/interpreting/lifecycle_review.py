"""The review of abandoned work: each action has to be supported by the message itself (contract 2.7)."""

from __future__ import annotations

from intention_kernel.contracts.intentions import IntentionBatch
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.asking import Answered, Ask, Models
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame, Issue, Issues
from intention_kernel.runtime.stages.interpreting.interpret_selection import selection_json
from intention_kernel.runtime.stages.interpreting.review_verdicts import LifecycleVerdicts

LIFECYCLE = "kernel.review-lifecycle-actions.lifecycle-review-system-prompt"


async def lifecycle_issues(frame: Frame, batch: IntentionBatch, models: Models) -> Issues:
    """Actions that the review does not support; all of them where it does not speak of each exactly once."""
    actions = batch.lifecycle_actions
    if not actions:
        return ()
    members: dict[str, JsonValue] = {
        "selection": selection_json(frame.selection),
        "proposedActions": [action.to_json() for action in actions],
    }
    answer = await models.ask(
        Ask(
            task="lifecycle.review",
            prompt_id=LIFECYCLE,
            input={"context": dict(frame.snapshot.projection), **members},
            answer=LifecycleVerdicts,
            model_keys=("lifecycle.review", "turn.interpret"),
            audit=members,
        )
    )
    supported = _supported(answer.value, len(actions)) if isinstance(answer, Answered) else frozenset()
    words = "the message does not clearly give up this work: leave the action out"
    return tuple(
        Issue("UNSUPPORTED_LIFECYCLE_ACTIONS", f"/lifecycleActions/{at}", words)
        for at in range(len(actions))
        if at not in supported
    )


def _supported(verdicts: LifecycleVerdicts, count: int) -> frozenset[int]:
    reviewed = [review.action_index for review in verdicts.reviews]
    if sorted(reviewed) != list(range(count)):
        return frozenset()
    return frozenset(review.action_index for review in verdicts.reviews if review.verdict == "supported")

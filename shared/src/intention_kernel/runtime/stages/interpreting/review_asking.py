"""How a review of an interpretation is asked: the turn's context, what was proposed, and which kind of review it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import WireModel
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.asking import Answered, Ask, Models
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame

ANSWER_REVIEW: ModelTask = "interaction-answer.review"
ANSWER_KEYS = ("interaction-answer.review", "turn.interpret.repair", "turn.interpret")
VerdictT = TypeVar("VerdictT", bound=WireModel)


async def reviewed(
    frame: Frame,
    models: Models,
    prompt_id: str,
    members: Mapping[str, JsonValue],
    verdict: type[VerdictT],
    schema: Mapping[str, JsonValue] | None = None,
) -> VerdictT | None:
    """The verdict of an `interaction-answer.review`, or None where the answer has no form: nothing is then supported."""
    answer = await models.ask(
        Ask(
            task=ANSWER_REVIEW,
            prompt_id=prompt_id,
            input={"context": dict(frame.snapshot.projection), **members},
            answer=verdict,
            model_keys=ANSWER_KEYS,
            output_schema=schema,
            audit=members,
        )
    )
    return answer.value if isinstance(answer, Answered) else None


def answer_json(answer: InteractionAnswer) -> JsonValue:
    """A proposed answer as a reviewer sees it."""
    return answer.to_json()


def intention_json(intention: IntentionRequest) -> JsonValue:
    """A proposed intention as a reviewer sees it; it has no id yet."""
    document = intention.to_json()
    del document["id"]
    return document

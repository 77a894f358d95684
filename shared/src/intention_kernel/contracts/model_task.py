"""The questions that the kernel asks models; their names are the keys of an agent's model policy."""

from __future__ import annotations

from typing import Final, Literal, get_args

ModelTask = Literal[
    "capability.select",
    "capability.select.repair",
    "capability-selection.review",
    "capability-selection.choice-review",
    "capability-selection.interaction-review",
    "lifecycle-selection.review",
    "turn.interpret",
    "turn.interpret.repair",
    "interaction-answer.review",
    "lifecycle.review",
    "response.compose",
    "response.compose.repair",
    "response.grounding-review",
    "response.grounding-review.repair",
]

MODEL_TASKS: Final[tuple[ModelTask, ...]] = get_args(ModelTask)

"""How stages ask models: a task with its input and the form of its answer, through one small port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import WireModel
from intention_kernel.ports.model_gateway import ModelCapability, ModelTask

AnswerT = TypeVar("AnswerT", bound=WireModel)


@dataclass(frozen=True, slots=True)
class Ask(Generic[AnswerT]):
    """One question to a model.

    `answer` validates what comes back. `output_schema` is what the model is told, by default the schema of `answer`; it may
    say less, such as only the ids that exist now. `model_keys` are keys of the agent's model policy, the first that is there
    counts. `audit` is what `model.invoked` shows beside prompt and context.
    """

    task: ModelTask
    prompt_id: str
    input: Mapping[str, JsonValue]
    answer: type[AnswerT]
    model_keys: tuple[str, ...]
    capabilities: tuple[ModelCapability, ...] = ()
    output_schema: Mapping[str, JsonValue] | None = None
    audit: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Answered(Generic[AnswerT]):
    """The answer has its form; what it says is still only a proposal."""

    value: AnswerT


@dataclass(frozen=True, slots=True)
class Unusable:
    """The answer does not have the form asked for, or is none: reasons in words for a repair, and what came."""

    issues: tuple[str, ...]
    raw: JsonValue


class Models(Protocol):
    """Asks models; every answer is redacted on the way out, journalled and told as events."""

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        """Ask once. Raises ModelGatewayError where the model could not be asked at all."""
        ...

"""How stages ask models: a task with its input and the form of its answer, through one small port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Generic, Protocol, TypeVar, cast

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
    """Asks models; every question is redacted on the way out, every answer journalled and told as events."""

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        """Ask once. Raises ModelGatewayError where the model could not be asked at all."""
        ...


@cache
def schema_of(answer: type[WireModel]) -> Mapping[str, JsonValue]:
    """The JSON Schema of an answer, made once; not to be changed."""
    return cast("Mapping[str, JsonValue]", answer.model_json_schema(by_alias=True))


def narrowed(answer: type[WireModel], **members: JsonValue) -> Mapping[str, JsonValue]:
    """The answer's schema with these members (by their names on the wire) as the turn has them, such as only ids that exist."""
    schema = schema_of(answer)
    return {**schema, "properties": {**cast("dict[str, JsonValue]", schema["properties"]), **members}}

"""What reviews of an interpretation answer. A form that does not fit is no verdict, and no verdict supports nothing."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import Text, WireModel

Support = Literal["supported", "unsupported"]


class Verdict(WireModel):
    """Whether the message supports what was proposed. The rationale explains; it is no authority."""

    verdict: Support
    rationale: Text


class ChoiceVerdict(WireModel):
    """Which option the message selects: one, several that compete, or none."""

    decision: Literal["selected", "ambiguous", "not_selection"]
    rationale: Text
    option_id: Text | None = None
    option_ids: list[Text] | None = None

    @model_validator(mode="after")
    def _names_what_it_decides(self) -> Self:
        if (self.decision == "selected") != (self.option_id is not None):
            raise PydanticCustomError("option", "exactly a selected decision has an optionId")
        if (self.decision == "ambiguous") != (self.option_ids is not None):
            raise PydanticCustomError("options", "exactly an ambiguous decision has optionIds")
        if self.option_ids is not None and not len(set(self.option_ids)) == len(self.option_ids) >= 2:
            raise PydanticCustomError("distinct", "at least two distinct options compete")
        return self


class OmittedChoiceVerdict(WireModel):
    """Whether the message selects an option although no answer was proposed, and which."""

    verdict: Support
    option_id: Text | None
    rationale: Text

    @model_validator(mode="after")
    def _names_what_it_supports(self) -> Self:
        if (self.verdict == "supported") != (self.option_id is not None):
            raise PydanticCustomError("option", "exactly a supported verdict has an optionId")
        return self


class ActionVerdict(WireModel):
    """Whether the message gives up the work of one action."""

    action_index: Annotated[int, Field(ge=0)]
    verdict: Support
    rationale: Text


class LifecycleVerdicts(WireModel):
    """One verdict for each action."""

    reviews: list[ActionVerdict]


def choice_schema(shown_ids: tuple[str, ...]) -> dict[str, JsonValue]:
    """The JSON Schema of a ChoiceVerdict over these options; one option cannot compete with itself."""
    option: dict[str, JsonValue] = {"type": "string", "enum": list(shown_ids)}
    branches: list[JsonValue] = [_branch("selected", {"optionId": option}), _branch("not_selection", {})]
    if len(shown_ids) > 1:
        competing: dict[str, JsonValue] = {"type": "array", "items": option, "minItems": 2, "uniqueItems": True}
        branches.append(_branch("ambiguous", {"optionIds": competing}))
    return {"anyOf": branches}


def omitted_schema(shown_ids: tuple[str, ...]) -> dict[str, JsonValue]:
    """The JSON Schema of an OmittedChoiceVerdict over these options."""
    option: dict[str, JsonValue] = {"type": "string", "enum": list(shown_ids)}
    return {
        "anyOf": [
            _object({"verdict": _word("supported"), "optionId": option}),
            _object({"verdict": _word("unsupported"), "optionId": {"type": "null"}}),
        ]
    }


def _branch(decision: str, members: dict[str, JsonValue]) -> JsonValue:
    return _object({"decision": _word(decision)} | members)


def _word(word: str) -> JsonValue:
    return {"type": "string", "enum": [word]}


def _object(members: dict[str, JsonValue]) -> JsonValue:
    members = {**members, "rationale": {"type": "string"}}
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}

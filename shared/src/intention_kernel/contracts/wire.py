"""What every record's model shares: frozen values, camelCase on the wire, and the types that pydantic lacks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.contracts.json_codec import JsonValue


def _identifier(value: str) -> str:
    problem = identifier_problem(value)
    if problem:
        raise PydanticCustomError("identifier", "{problem}", {"problem": problem})
    return value


def _text(value: object) -> object:
    # pydantic's own str refuses lone surrogates, which JavaScript producers do send; we keep them.
    if not isinstance(value, str):
        raise PydanticCustomError("text", "is not a string")
    return value


def _json_object(value: object) -> object:
    if not isinstance(value, dict):
        raise PydanticCustomError("object", "is not a JSON object")
    return value


Identifier = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_identifier)]
Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
if TYPE_CHECKING:
    AnyJson = JsonValue
    JsonObject = dict[str, JsonValue]
else:  # pydantic follows an alias that names itself until its stack ends, and loads() has checked the value already
    AnyJson = Annotated[object, PlainValidator(lambda value: value), WithJsonSchema({})]
    JsonObject = Annotated[object, PlainValidator(_json_object), WithJsonSchema({"type": "object"})]


class WireModel(BaseModel):
    """A frozen value whose members are camelCase on the wire; unknown ones are refused by name."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class StoredModel(BaseModel):
    """A frozen value of the checkpoint.

    Made by `from_json` it keeps the members that this build does not know, and whether an optional one was given; made by
    name it refuses unknown ones.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )

    @classmethod
    def from_json(cls, document: JsonValue) -> Self:
        """The value that was stored. Raises pydantic's ValidationError where it is none."""
        return cls.model_validate(document, context=_STORED)

    def to_json(self) -> dict[str, JsonValue]:
        """What `from_json` makes this value of again: the members that were given, and no others."""
        return cast("dict[str, JsonValue]", _listed(self.model_dump(by_alias=True, mode="python", exclude_unset=True)))

    @model_validator(mode="before")
    @classmethod
    def _knows_its_members(cls, data: object, info: ValidationInfo) -> object:
        if not isinstance(data, dict) or info.context is _STORED:
            return data
        if unknown := sorted(data.keys() - _names(cls)):
            raise PydanticCustomError("unknown", "unknown member {names}", {"names": ", ".join(unknown)})
        return data


_STORED = {"stored": True}


@cache
def _names(model: type[StoredModel]) -> frozenset[str]:
    """Of the model's members, here and on the wire."""
    return frozenset(model.model_fields) | {to_camel(name) for name in model.model_fields}


def _listed(value: object) -> object:
    """JSON has lists where frozen values have tuples."""
    if isinstance(value, dict):
        return {name: _listed(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(member) for member in value]
    return value

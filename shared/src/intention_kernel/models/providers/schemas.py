"""Answer schemas as providers take them: an object at the top, and whether every part of it has a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intention_kernel.contracts.json_codec import JsonValue

Schema = Mapping[str, JsonValue]

_WRAPPED = "answer"
_FORMS = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs")


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """`schema` is what is sent: an object. `wrapped` says that the answer is its one member `answer`."""

    schema: dict[str, JsonValue]
    wrapped: bool

    @property
    def is_closed(self) -> bool:
        """Whether every part of an answer has a form; `{}` and objects without properties leave one open."""
        return _is_closed(self.schema)

    def unwrapped(self, value: JsonValue) -> JsonValue:
        """The answer in what was answered; one that came without its wrapping is taken as it is."""
        if self.wrapped and isinstance(value, dict) and value.keys() == {_WRAPPED}:
            return value[_WRAPPED]
        return value


def answer_schema(schema: Schema) -> AnswerSchema:
    """The schema, in an object of one member where it describes anything but an object: no provider takes that."""
    if schema.get("type") == "object":
        return AnswerSchema(dict(schema), wrapped=False)
    inner = {name: member for name, member in schema.items() if name != "$defs"}
    wrapped: dict[str, JsonValue] = {
        "type": "object",
        "properties": {_WRAPPED: inner},
        "required": [_WRAPPED],
        "additionalProperties": False,
    }
    return AnswerSchema(wrapped | ({"$defs": schema["$defs"]} if "$defs" in schema else {}), wrapped=True)


def _is_closed(schema: JsonValue) -> bool:
    if not isinstance(schema, dict):
        return schema is False
    if not any(form in schema for form in _FORMS):
        return False
    if schema.get("type") == "object" and ("properties" not in schema or schema.get("additionalProperties", False)):
        return False
    if schema.get("type") == "array" and "items" not in schema and "prefixItems" not in schema:
        return False
    return all(_is_closed(part) for part in _parts(schema))


def _parts(schema: dict[str, JsonValue]) -> list[JsonValue]:
    parts = [schema["items"]] if "items" in schema else []
    for name in _LISTS:
        members = schema.get(name)
        parts += members if isinstance(members, list) else []
    for name in _MAPS:
        named = schema.get(name)
        parts += named.values() if isinstance(named, dict) else []
    return parts

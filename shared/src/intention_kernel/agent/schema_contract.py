"""A JSON Schema reduced to what it accepts, so that equal schemas have equal digests.

What pydantic derives from Python's names and docstrings says nothing about values: titles, descriptions and other
annotations are left out, definitions are numbered in the order in which the schema uses them, and lists that mean sets
(`required`, `enum`, `type`) are sorted. A renamed class or a better docstring strands no conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from intention_kernel.contracts.digest import canonical_bytes
from intention_kernel.contracts.json_codec import JsonValue

_ANNOTATIONS: Final = frozenset({"title", "description", "examples", "$comment", "deprecated", "readOnly", "writeOnly"})
_SCHEMAS: Final = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    }
)
_LISTS_OF_SCHEMAS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_SETS: Final = frozenset({"required", "enum", "type"})
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef"})
_POINTER: Final = "#/$defs/"

JsonObject = Mapping[str, JsonValue]


def schema_contract(schema: JsonObject) -> JsonValue:
    """The reduced form; equal for schemas that differ in nothing that a value could show."""
    reduction = _Reduction(schema.get("$defs"))
    root = reduction.of({name: value for name, value in schema.items() if name != "$defs"})
    definitions: list[JsonValue] = []
    while len(definitions) < len(reduction.numbers):
        name = list(reduction.numbers)[len(definitions)]
        definitions.append(reduction.of(reduction.definitions[name]))
    if reduction.points_elsewhere:
        # Something refers to places by their names, so the names have to stay.
        return _Reduction(None).of(schema)
    return {"schema": root, "definitions": definitions}


class _Reduction:
    """Reduces schemas, and gives the definitions that they use their numbers."""

    def __init__(self, definitions: JsonValue) -> None:
        self.definitions: JsonObject = definitions if isinstance(definitions, Mapping) else {}
        self.numbers: dict[str, int] = {}
        self.points_elsewhere = False

    def of(self, schema: JsonValue | JsonObject) -> JsonValue:
        """A schema without what means nothing; true and false are schemas too."""
        if not isinstance(schema, Mapping):
            return schema
        return {name: self._keyword(name, value) for name, value in sorted(schema.items()) if name not in _ANNOTATIONS}

    def _keyword(self, name: str, value: JsonValue) -> JsonValue:
        if name in _SCHEMAS:
            return self.of(value)
        if name in _LISTS_OF_SCHEMAS and isinstance(value, list):
            return [self.of(item) for item in value]
        if name in _NAMED_SCHEMAS and isinstance(value, Mapping):
            return {key: self.of(item) for key, item in sorted(value.items())}
        if name in _SETS and isinstance(value, list):
            return sorted(value, key=canonical_bytes)
        if name in _REFERENCES:
            return self._reference(value)
        if name == "discriminator" and isinstance(value, Mapping):
            return {key: self._mapping(item) for key, item in sorted(value.items())}
        return value

    def _mapping(self, value: JsonValue) -> JsonValue:
        if not isinstance(value, Mapping):
            return value
        return {key: self._reference(item) for key, item in sorted(value.items())}

    def _reference(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str) and value.startswith(_POINTER):
            name = value.removeprefix(_POINTER)
            if name in self.definitions:
                return self.numbers.setdefault(name, len(self.numbers))
        self.points_elsewhere = self.points_elsewhere or value != "#"
        return value

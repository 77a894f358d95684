"""Schemas that are given as JSON Schema, draft 2020-12: the value that a capability gets is the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

from jsonschema import Draft202012Validator, SchemaError

from intention_kernel.agent.schema import SHOWN_ISSUES, Invalid, Schema, SchemaIssue, Valid, pointer
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import ConfigurationError


def compile_json_schema(source: Mapping[str, JsonValue]) -> Schema:
    """Raises ConfigurationError where `source` is no JSON Schema."""
    schema = cast("dict[str, JsonValue]", loads(dumps(dict(source))))
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"not a JSON Schema: {error.message}") from error
    return _JsonSchema(schema, Draft202012Validator(schema))


@dataclass(frozen=True, slots=True)
class _JsonSchema:
    json_schema: dict[str, JsonValue]
    validator: Draft202012Validator

    def validate(self, document: JsonValue) -> Valid | Invalid:
        errors = islice(self.validator.iter_errors(document), SHOWN_ISSUES)
        found = tuple(SchemaIssue(pointer(error.absolute_path), error.message) for error in errors)
        return Invalid(found) if found else Valid(document, document)

    def document(self, value: object) -> JsonValue:
        return loads(dumps(cast("JsonValue", value)))

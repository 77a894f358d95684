"""Schemas that are given as a type or annotation that pydantic knows: the value that a capability gets is of that type."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import isroutine
from typing import cast

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from intention_kernel.agent.schema import SHOWN_ISSUES, Invalid, Schema, SchemaIssue, Valid, pointer
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import ConfigurationError


def compile_type_schema(source: object) -> Schema:
    """Raises ConfigurationError where `source` is no schema."""
    if isroutine(source):
        # pydantic would make a schema of its parameters, and call it to validate.
        raise ConfigurationError(f"{source!r} is a function and no schema")
    try:
        adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", source))
        return _TypeSchema(adapter, adapter.json_schema())
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError, NameError) as error:
        raise ConfigurationError(f"{source!r} is no schema: {str(error).splitlines()[0]}") from error


@dataclass(frozen=True, slots=True)
class _TypeSchema:
    adapter: TypeAdapter[object]
    json_schema: dict[str, JsonValue]

    def validate(self, document: JsonValue) -> Valid | Invalid:
        try:
            value = self.adapter.validate_json(dumps(document))
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False, include_context=False)[:SHOWN_ISSUES]
            return Invalid(tuple(SchemaIssue(pointer(entry["loc"]), entry["msg"]) for entry in found))
        return Valid(value, self.document(value))

    def document(self, value: object) -> JsonValue:
        # No warnings: what does not fit is refused with its path when the document is validated.
        return loads(self.adapter.dump_json(value, by_alias=True, warnings=False))

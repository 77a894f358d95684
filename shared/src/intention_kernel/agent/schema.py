"""Schemas of capability inputs and outputs: a type that pydantic knows, or a JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import isroutine
from typing import Protocol, cast

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import ConfigurationError

SchemaSource = object
"""What a definition may give: a type or annotation that pydantic knows (a model, `list[int]`, a dataclass), or a JSON Schema
(draft 2020-12) as a mapping. Its root may be of any type, an input's too: a model proposes it as one member of its answer.
"""

SHOWN_ISSUES = 20
"""Of one value; more help nobody."""


@dataclass(frozen=True, slots=True)
class SchemaIssue:
    """One thing that is wrong with a value; `path` is a JSON pointer."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Valid:
    """`value` is what a capability works with (an instance of the declared type, or the JSON); `document` is its JSON."""

    value: object
    document: JsonValue


@dataclass(frozen=True, slots=True)
class Invalid:
    """The value does not fit; at least one issue."""

    issues: tuple[SchemaIssue, ...]


class Schema(Protocol):
    """A compiled schema. Both members are pure."""

    @property
    def json_schema(self) -> dict[str, JsonValue]:
        """For models and for the fingerprint."""
        ...

    def validate(self, document: JsonValue) -> Valid | Invalid:
        """Whether a JSON value fits, and what a capability gets of it."""
        ...

    def document(self, value: object) -> JsonValue:
        """A capability's value as JSON. Raises JsonError or pydantic's error where it cannot be one."""
        ...


def compile_schema(source: SchemaSource) -> Schema:
    """Raises ConfigurationError where `source` is no schema."""
    if isinstance(source, Mapping):
        # jsonschema takes a tenth of a second to import; most applications declare types.
        from intention_kernel.agent.json_schema import compile_json_schema  # noqa: PLC0415

        return compile_json_schema(cast("Mapping[str, JsonValue]", source))
    return _TypeSchema.compiled(source)


@dataclass(frozen=True)
class _TypeSchema:
    adapter: TypeAdapter[object]
    json_schema: dict[str, JsonValue]

    @classmethod
    def compiled(cls, source: object) -> _TypeSchema:
        if isroutine(source):
            # pydantic would make a schema of its parameters, and call it to validate.
            raise ConfigurationError(f"{source!r} is a function and no schema")
        try:
            adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", source))
            return cls(adapter, adapter.json_schema())
        except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError, NameError) as error:
            raise ConfigurationError(f"{source!r} is no schema: {str(error).splitlines()[0]}") from error

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


def pointer(path: Iterable[str | int]) -> str:
    """A JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)

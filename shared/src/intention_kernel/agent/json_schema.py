"""Schemas that are given as JSON Schema, draft 2020-12: the value that a capability gets is the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, cast

from jsonschema import Draft202012Validator, SchemaError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from intention_kernel.agent.schema import SHOWN_ISSUES, Invalid, Schema, SchemaIssue, Valid, pointer
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import ConfigurationError

if TYPE_CHECKING:
    from referencing._core import Resolver


def compile_json_schema(source: Mapping[str, JsonValue]) -> Schema:
    """Raises ConfigurationError where `source` is no JSON Schema."""
    schema = cast("dict[str, JsonValue]", loads(dumps(dict(source))))
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"not a JSON Schema: {error.message}") from error
    resource = DRAFT202012.create_resource(schema)
    try:
        _resolve_references(resource, Registry().resolver_with_root(resource))
    except Unresolvable as error:
        raise ConfigurationError(f"not a whole JSON Schema: nothing in it is {error.ref!r}") from error
    # A registry of its own: without one the validator fetches what a reference names from the network.
    return _JsonSchema(schema, Draft202012Validator(schema, registry=Registry()))


def _resolve_references(resource: Resource[JsonValue], resolver: Resolver[JsonValue]) -> None:
    """Raises Unresolvable for a reference that leads nowhere inside the schema."""
    contents = resource.contents
    if isinstance(contents, dict):
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(reference := contents.get(keyword), str):
                resolver.lookup(reference)
    for part in resource.subresources():
        _resolve_references(part, resolver.in_subresource(part))


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

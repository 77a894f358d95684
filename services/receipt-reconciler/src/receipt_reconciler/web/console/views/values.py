"""JSON as people read it, and the fields by which a flat result is typed in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import JsonError
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from receipt_reconciler.web.console.forms import Form

FIELD = "value."
"""What the names of a value's fields begin with."""

_KINDS: Mapping[str, Literal["text", "integer", "number", "boolean"]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
_MOST_FIELDS = 20


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a result. `options` are the values of a closed set, empty: any."""

    name: str
    kind: Literal["text", "integer", "number", "boolean"]
    required: bool
    hint: str
    options: tuple[str, ...] = ()


class NoValueError(ValueError):
    """What was typed is no value; the message says where and why."""


def pretty(value: JsonValue) -> str:
    """Indented, as it is."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@cache
def fields_of(result: type) -> tuple[Field, ...] | None:
    """A result's members, where it is an object whose members are single values; None: it is typed as JSON."""
    try:
        schema = TypeAdapter(result).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None
    properties = schema.get("properties")
    if schema.get("type") != "object" or not properties or len(properties) > _MOST_FIELDS:
        return None
    required = frozenset(schema.get("required", ()))
    fields = [_field(name, member, name in required) for name, member in properties.items()]
    known = [field for field in fields if field is not None]
    return tuple(known) if len(known) == len(fields) else None


def typed_value(fields: Iterable[Field] | None, form: Form) -> JsonValue:
    """The value that was typed; a field that was left empty is no member of it. Raises NoValueError."""
    if fields is not None:
        return _typed_members(tuple(fields), form)
    if not form.line("value"):
        raise NoValueError("The value is missing: type what the provider answered, as JSON, or null.")
    try:
        return loads(form.text("value"))
    except JsonError as error:
        raise NoValueError(f"The value is not JSON: {error}.") from error


def _typed_members(fields: tuple[Field, ...], form: Form) -> JsonValue:
    """Nobody who left a field alone has said that it is an empty text."""
    typed = {field.name: form.text(FIELD + field.name) for field in fields}
    missing = [field.name for field in fields if field.required and not typed[field.name].strip()]
    if missing:
        raise NoValueError(f"Of what the provider answered is missing: {', '.join(missing)}.")
    return {field.name: _member(field, typed[field.name]) for field in fields if typed[field.name].strip()}


def _field(name: str, member: dict[str, Any], required: bool) -> Field | None:  # noqa: FBT001
    options = [one for one in member.get("anyOf", [member]) if one.get("type") != "null"]
    # A member that has to be there and may be null cannot be left empty: it is typed.
    if len(options) != 1 or (required and len(options) < len(member.get("anyOf", [member]))):
        return None
    [only] = options
    kind = _KINDS.get(only.get("type", ""))
    if kind is None:
        return None
    choices = only.get("enum", [only["const"]] if "const" in only else [])
    return Field(name, kind, required, only.get("description", ""), tuple(choices) if kind == "text" else ())


def _member(field: Field, text: str) -> JsonValue:
    if field.kind == "text":
        return text
    try:
        value = loads(text.strip())
    except JsonError:
        value = None
    fits = {"integer": (int,), "number": (int, float), "boolean": (bool,)}[field.kind]
    if not isinstance(value, fits) or (isinstance(value, bool) and field.kind != "boolean"):
        wanted = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}[field.kind]
        raise NoValueError(f"{field.name} is {wanted}.")
    return value

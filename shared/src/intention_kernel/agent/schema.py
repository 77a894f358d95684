"""Schemas of capability inputs and outputs: a type that pydantic knows, or a JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from intention_kernel.contracts.json_codec import JsonValue

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


def pointer(path: Iterable[str | int]) -> str:
    """A JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)

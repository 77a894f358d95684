"""Compiling a schema from what a definition gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from intention_kernel.agent.schema import Schema, SchemaSource
from intention_kernel.agent.type_schema import compile_type_schema
from intention_kernel.contracts.json_codec import JsonValue


def compile_schema(source: SchemaSource) -> Schema:
    """Raises ConfigurationError where `source` is no schema."""
    if isinstance(source, Mapping):
        # jsonschema takes a tenth of a second to import; most applications declare types.
        from intention_kernel.agent.json_schema import compile_json_schema  # noqa: PLC0415

        return compile_json_schema(cast("Mapping[str, JsonValue]", source))
    return compile_type_schema(source)

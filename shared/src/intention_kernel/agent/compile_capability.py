"""One capability: its schemas and its effect are made, and what cannot be made is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from intention_kernel.agent.capability import CapabilityDefinition
from intention_kernel.agent.checks.capability_members import capability_problems
from intention_kernel.agent.checks.effects import effect_problems
from intention_kernel.agent.checks.words import is_identifier
from intention_kernel.agent.compile_schema import compile_schema
from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.effect import Effect
from intention_kernel.agent.schema import Schema, SchemaSource
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import Summary
from intention_kernel.errors import CompileProblem, ConfigurationError


@dataclass(frozen=True, slots=True)
class Built:
    """`capability` is there exactly if there are no problems."""

    capability: Capability | None
    problems: tuple[CompileProblem, ...]


def compile_capability(definition: CapabilityDefinition) -> Built:
    """The capability as the kernel runs it, or everything that is wrong with it by itself."""
    found = [*capability_problems(definition), *effect_problems(definition)]
    place = f"capability {definition.id}"
    accepted = _schema(f"{place}: input", definition.input, found)
    returned = _schema(f"{place}: output", definition.output, found)
    if definition.result is not None:
        _schema(f"{place}: result", definition.result, found)
    effect = _effect(definition, found)
    if found or accepted is None or returned is None:
        return Built(None, tuple(found))
    return Built(Capability(definition, accepted, returned, effect), ())


def _schema(place: str, source: SchemaSource, found: list[CompileProblem]) -> Schema | None:
    try:
        return compile_schema(source)
    except ConfigurationError as error:
        words = f"{error}; give a type that pydantic knows, or a JSON Schema as a mapping"
        found.append(CompileProblem("MODEL_SCHEMA_REQUIRED", place, words))
        return None


def _effect(definition: CapabilityDefinition, found: list[CompileProblem]) -> Effect | None:
    """Of a write."""
    if definition.effect != "write":
        return None
    effect_id = definition.id if is_identifier(definition.id) else "unnamed"
    try:
        return Effect(
            id=effect_id,
            result=_result(definition),
            describe=definition.describe if definition.describe is not None else _undescribed,
            resolver=definition.resolver,
            call=definition.call,
            call_timeout_seconds=definition.call_timeout_seconds,
            provider_deduplicates=definition.provider_deduplicates,
            key_window_seconds=definition.key_window_seconds,
            lookup_closes_key=definition.lookup_closes_key,
            quiet_period_seconds=definition.quiet_period_seconds,
            twins=definition.twins,
        )
    except ConfigurationError as error:
        place, prefix = f"capability {definition.id}: effect", f"effect {effect_id!r}: "
        found += [CompileProblem("INVALID_EFFECT", place, told.removeprefix(prefix)) for told in error.problems]
        return None


def _undescribed(payload: JsonValue) -> Summary:
    """Stands in for what is missing, and told, while the other members are looked at."""
    return Summary("")


def _result(definition: CapabilityDefinition) -> type:
    """What `run_effect` returns; where only a JSON Schema says it, any JSON."""
    result = definition.result if definition.result is not None else definition.output
    return object if isinstance(result, Mapping) else cast("type", result)

"""What a capability says of itself, apart from its schemas and its effect (contract 3.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

from intention_kernel.agent.capability import CapabilityDefinition, ReferenceRequirements
from intention_kernel.agent.checks.callables import async_problem, sync_problem
from intention_kernel.agent.checks.words import identifier_problems, is_count, is_text, twice, word_problems
from intention_kernel.contracts.facts import ModelVisibility
from intention_kernel.errors import CompileProblem

_RESOLUTIONS: Final = ("planning", "runtime")
_REFERENCE_SOURCES: Final = ("active_interaction_options",)
_GUIDANCE_LISTS: Final = ("when_to_use", "when_not_to_use", "examples")


def capability_problems(capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    """Id, version, description, execute, guidance, references, and each of its facts by itself."""
    place = f"capability {capability.id}"
    yield from identifier_problems(f"{place}: id", capability.id)
    if not is_count(capability.version):
        yield CompileProblem("INVALID_CAPABILITY_VERSION", f"{place}: version", "is a whole number from 1 up")
    if not is_text(capability.description):
        words = "is blank; models choose a capability by its description"
        yield CompileProblem("INVALID_CAPABILITY_DESCRIPTION", f"{place}: description", words)
    if problem := async_problem(capability.execute, "context, input"):
        yield CompileProblem("INVALID_CAPABILITY_EXECUTE", f"{place}: execute", problem)
    yield from _guidance(place, capability)
    if capability.reference_requirements is not None:
        yield from _references(f"{place}: reference_requirements", capability.reference_requirements)
    yield from _facts(place, capability)


def _guidance(place: str, capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    for name in _GUIDANCE_LISTS if capability.guidance is not None else ():
        for index, words in enumerate(getattr(capability.guidance, name)):
            if not is_text(words):
                yield CompileProblem(
                    "INVALID_CAPABILITY_GUIDANCE", f"{place}: guidance.{name}[{index}]", "is blank; take it out"
                )


def _references(place: str, references: ReferenceRequirements) -> Iterator[CompileProblem]:
    yield from word_problems(f"{place}.source", references.source, _REFERENCE_SOURCES)
    if not is_count(references.minimum) or not is_count(references.maximum, at_least=max(1, references.minimum)):
        yield CompileProblem(
            "INVALID_CAPABILITY_REFERENCE_REQUIREMENTS",
            place,
            "minimum is a whole number from 1 up, maximum one from minimum up",
        )


def _facts(place: str, capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    for required in capability.requires:
        where = f"{place}: requires {required.type}"
        yield from _fact(where, required.type, required.version)
        yield from word_problems(f"{where}.resolution", required.resolution, _RESOLUTIONS)
        if not is_text(required.description):
            words = "is blank; say in words what is missing, for people and models"
            yield CompileProblem("INVALID_FACT_DESCRIPTION", f"{where}.description", words)
    for provided in capability.provides:
        where = f"{place}: provides {provided.type}"
        yield from _fact(where, provided.type, provided.version)
        yield from word_problems(f"{where}.model_visibility", provided.model_visibility, get_args(ModelVisibility))
        derive = provided.derive_model_redactions
        if derive is not None and (problem := sync_problem(derive, "value")):
            yield CompileProblem("INVALID_FACT_REDACTIONS", f"{where}.derive_model_redactions", problem)
    for invalidated in capability.invalidates:
        yield from _fact(f"{place}: invalidates {invalidated.type}", invalidated.type, invalidated.version)
    for name in ("requires", "provides", "invalidates"):
        for key in twice(f"{fact.type}@{fact.version}" for fact in getattr(capability, name)):
            yield CompileProblem("DUPLICATE_FACT", f"{place}: {name}", f"{key} is there twice; once is enough")


def _fact(where: str, fact_type: str, version: object) -> Iterator[CompileProblem]:
    yield from identifier_problems(f"{where}: type", fact_type)
    if not is_count(version):
        yield CompileProblem("INVALID_FACT_VERSION", f"{where}: version", "is a whole number from 1 up")

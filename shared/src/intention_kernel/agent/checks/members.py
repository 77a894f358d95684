"""Whether the members of a definition have their types at all: what no type checker has looked at is told in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from intention_kernel.agent.capability import (
    CapabilityDefinition,
    CapabilityGuidance,
    FactDeclaration,
    FactRequirement,
    ReferenceRequirements,
)
from intention_kernel.agent.definition import AgentDefinition, ResponseFallbacks
from intention_kernel.agent.effect import IdempotentRetry, Lookup, Manual
from intention_kernel.agent.policy import GuidanceExample, ModelGuidancePolicyDefinition, PolicyDefinition
from intention_kernel.contracts.facts import FactReference
from intention_kernel.errors import CompileProblem

Types = tuple[type, ...]
_NONE: Final = type(None)

_AGENT: Final[Mapping[str, Types]] = {
    "id": (str,),
    "identity": (str,),
    "model_policy": (Mapping,),
    "prompts": (Mapping,),
    "response_fallbacks": (ResponseFallbacks,),
}
_AGENT_TUPLES: Final[Mapping[str, type]] = {
    "capabilities": CapabilityDefinition,
    "policies": PolicyDefinition,
    "model_guidance_policies": ModelGuidancePolicyDefinition,
    "accepts_fingerprints": str,
}
_CAPABILITY: Final[Mapping[str, Types]] = {
    "id": (str,),
    "description": (str,),
    "guidance": (CapabilityGuidance, _NONE),
    "reference_requirements": (ReferenceRequirements, _NONE),
    "expires_seconds": (int, float, _NONE),
    "resolver": (Lookup, IdempotentRetry, Manual),
    "call_timeout_seconds": (int, float),
    "provider_deduplicates": (bool,),
    "key_window_seconds": (int, float, _NONE),
    "lookup_closes_key": (bool,),
    "quiet_period_seconds": (int, float, _NONE),
    "twins": (bool,),
}
_CAPABILITY_TUPLES: Final[Mapping[str, type]] = {
    "requires": FactRequirement,
    "provides": FactDeclaration,
    "invalidates": FactReference,
}
_GUIDANCE_TUPLES: Final[Mapping[str, type]] = {"when_to_use": str, "when_not_to_use": str, "examples": str}
_POLICY_TUPLES: Final[Mapping[str, type]] = {
    "instructions": str,
    "examples": GuidanceExample,
    "counter_examples": GuidanceExample,
}


def malformed_members(definition: AgentDefinition) -> Iterator[CompileProblem]:
    """INVALID_MEMBER for each member of another type than its declaration says; nothing else can be checked then."""
    agent = (*_wrong("agent", definition, _AGENT), *_wrong_tuples("agent", definition, _AGENT_TUPLES))
    yield from agent
    if agent:
        return
    for capability in definition.capabilities:
        yield from _malformed_capability(capability)
    for policy in definition.policies:
        yield from _wrong(f"policy {policy.id}", policy, {"id": (str,)})
    for guidance in definition.model_guidance_policies:
        place = f"guidance policy {guidance.id}"
        yield from _wrong(place, guidance, {"id": (str,), "description": (str,)})
        yield from _wrong_tuples(place, guidance, _POLICY_TUPLES)


def _malformed_capability(capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    place = f"capability {capability.id}"
    yield from _wrong(place, capability, _CAPABILITY)
    tuples = tuple(_wrong_tuples(place, capability, _CAPABILITY_TUPLES))
    yield from tuples
    if not tuples:
        facts: tuple[FactRequirement | FactDeclaration | FactReference, ...]
        facts = (*capability.requires, *capability.provides, *capability.invalidates)
        for fact in facts:
            yield from _wrong(f"{place}: fact {fact.type}", fact, {"type": (str,), "version": (int,)})
    if isinstance(capability.guidance, CapabilityGuidance):
        yield from _wrong_tuples(f"{place}: guidance", capability.guidance, _GUIDANCE_TUPLES)


def _wrong(place: str, value: object, members: Mapping[str, Types]) -> Iterator[CompileProblem]:
    for name, types in members.items():
        found = getattr(value, name)
        if not isinstance(found, types) or (isinstance(found, bool) and bool not in types):
            expected = " or ".join("None" if each is _NONE else each.__name__ for each in types)
            yield _problem(place, name, f"is of type {type(found).__name__}; give {expected}")


def _wrong_tuples(place: str, value: object, members: Mapping[str, type]) -> Iterator[CompileProblem]:
    for name, item_type in members.items():
        found = getattr(value, name)
        if not isinstance(found, tuple):
            hint = "; one item needs a comma: (x,)" if isinstance(found, item_type) else ""
            yield _problem(
                place, name, f"is of type {type(found).__name__}; give a tuple of {item_type.__name__}{hint}"
            )
            continue
        for index, item in enumerate(found):
            if not isinstance(item, item_type):
                yield _problem(
                    place, f"{name}[{index}]", f"is of type {type(item).__name__}; give {item_type.__name__}"
                )


def _problem(place: str, member: str, message: str) -> CompileProblem:
    return CompileProblem("INVALID_MEMBER", f"{place}: {member}", message)

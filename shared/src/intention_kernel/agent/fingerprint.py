"""The fingerprint of a compiled agent: which checkpoints it can go on with (contract 7.4).

It is the digest of the agent's *contract*: what its capabilities accept, return, require and publish, and which rules hold.
Not in it: code, words that prompts consist of, aliases of models, limits, what an effect needs for its reconciliation,
and the order in which anything is declared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from pydantic import TypeAdapter

from intention_kernel.agent.capability import CapabilityDefinition, CapabilityGuidance, ReferenceRequirements
from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.policy import GuidanceExample, ModelGuidancePolicyDefinition
from intention_kernel.agent.schema_contract import schema_contract
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.facts import FactReference
from intention_kernel.contracts.json_codec import JsonValue

Contract = dict[str, JsonValue]


def fingerprint_of(contract: Contract) -> str:
    """64 hex digits."""
    return digest(contract).hex()


def contract_of(definition: AgentDefinition, capabilities: Iterable[Capability]) -> Contract:
    """What the fingerprint covers, as JSON: two builds of one agent fit each other exactly if these are equal."""
    return {
        "id": definition.id,
        "version": definition.version,
        "identity": definition.identity,
        "capabilities": {capability.id: _capability(capability) for capability in capabilities},
        "policies": {policy.id: policy.version for policy in definition.policies},
        "modelGuidancePolicies": {each.id: _guidance_policy(each) for each in definition.model_guidance_policies},
        "responseFallbacks": {"unsupportedIntention": definition.response_fallbacks.unsupported_intention},
    }


def _capability(capability: Capability) -> Contract:
    definition = capability.definition
    return {
        "version": definition.version,
        "description": definition.description,
        "inputSchema": schema_contract(capability.input.json_schema),
        "outputSchema": schema_contract(capability.output.json_schema),
        "resultSchema": _result(definition),
        "requires": {
            fact.reference.key: {"description": fact.description, "resolution": fact.resolution}
            for fact in definition.requires
        },
        "provides": {fact.reference.key: {"modelVisibility": fact.model_visibility} for fact in definition.provides},
        "invalidates": _keys(definition.invalidates),
        "effect": definition.effect,
        "confirmation": definition.confirmation,
        "guidance": _guidance(definition.guidance),
        "referenceRequirements": _references(definition.reference_requirements),
    }


def _result(definition: CapabilityDefinition) -> JsonValue:
    """Of a write whose effects return something else than its output."""
    if definition.effect != "write" or definition.result is None:
        return None
    return schema_contract(TypeAdapter(definition.result).json_schema())


def _keys(facts: Iterable[FactReference]) -> JsonValue:
    return cast("JsonValue", sorted(fact.key for fact in facts))


def _guidance(guidance: CapabilityGuidance | None) -> JsonValue:
    if guidance is None:
        return None
    return {
        "whenToUse": list(guidance.when_to_use),
        "whenNotToUse": list(guidance.when_not_to_use),
        "examples": list(guidance.examples),
    }


def _references(references: ReferenceRequirements | None) -> JsonValue:
    if references is None:
        return None
    return {"source": references.source, "minimum": references.minimum, "maximum": references.maximum}


def _guidance_policy(policy: ModelGuidancePolicyDefinition) -> Contract:
    return {
        "version": policy.version,
        "description": policy.description,
        "instructions": list(policy.instructions),
        "examples": [_example(example) for example in policy.examples],
        "counterExamples": [_example(example) for example in policy.counter_examples],
    }


def _example(example: GuidanceExample) -> JsonValue:
    return {"input": example.input, "expectedBehavior": example.expected_behavior}

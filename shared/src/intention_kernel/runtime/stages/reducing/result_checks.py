"""Whether a capability's result is what its definition allows (contract 2.10); its output is checked where it is made.

Every function raises CapabilityContractError: the attempt fails, and nothing of the result is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from intention_kernel.agent.capability import FactDeclaration
from intention_kernel.agent.compiled import Capability, CompiledAgent
from intention_kernel.agent.results import CanonicalResponse, Completed, NeedsConfirmation, NeedsDependency, NeedsInput
from intention_kernel.contracts.facts import FactCandidate
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import CapabilityContractError
from intention_kernel.runtime.stages.handed_out import own_json
from intention_kernel.runtime.stages.outcomes import StepOutcome
from intention_kernel.runtime.stages.redactions import MIN_LENGTH


def check_result(agent: CompiledAgent, outcome: StepOutcome) -> None:
    """The codes are INVALID_CANONICAL_RESPONSE, UNDECLARED_FACT, UNKNOWN_EVIDENCE, UNDECLARED_FACT_INVALIDATION,
    CONFIRMATION_NOT_ALLOWED, INVALID_CAPABILITY_INTERACTION and the three of DYNAMIC_DEPENDENCY."""
    capability = agent.capabilities[outcome.step.capability_id or ""]
    match outcome.result:
        case Completed() as completed:
            _check_completed(capability, completed)
        case NeedsInput() as needs:
            _check_invalidations(capability, needs)
        case NeedsConfirmation() as needs:
            _check_confirmation(capability, needs)
        case NeedsDependency() as needs:
            _check_dependency(agent, capability, needs)


def declaration_of(capability: Capability, fact: FactCandidate) -> FactDeclaration:
    """Of a fact that the capability may publish."""
    for declared in capability.definition.provides:
        if declared.reference.key == fact.key:
            return declared
    raise CapabilityContractError("UNDECLARED_FACT", capability.id, f"{fact.key} is not among the facts it provides")


def derived_redactions(capability: Capability, declared: FactDeclaration, value: JsonValue) -> tuple[str, ...]:
    """What models must not read of the value, each string once; shorter ones than MIN_LENGTH are left out."""
    if declared.derive_model_redactions is None:
        return ()
    strings: object = declared.derive_model_redactions(own_json(value))
    if not isinstance(strings, tuple | list) or not all(isinstance(string, str) for string in strings):
        detail = f"the redactions of {declared.reference.key} are no list of strings"
        raise CapabilityContractError("INVALID_MODEL_REDACTIONS", capability.id, detail)
    return tuple(dict.fromkeys(string for string in strings if len(string) >= MIN_LENGTH))


def _check_completed(capability: Capability, completed: Completed) -> None:
    known = {evidence.id for evidence in completed.evidence}
    for fact in completed.facts:
        declaration_of(capability, fact)
        _check_evidence(capability, fact.evidence_ids, known, f"fact {fact.key}")
    if completed.canonical_response is not None:
        _check_canonical(capability, completed.canonical_response, known)


def _check_evidence(capability: Capability, cited: Iterable[str], known: set[str], where: str) -> None:
    if unknown := sorted(set(cited) - known):
        detail = f"{where} cites {', '.join(unknown)}, which this result does not hold"
        raise CapabilityContractError("UNKNOWN_EVIDENCE", capability.id, detail)


def _check_canonical(capability: Capability, canonical: CanonicalResponse, known: set[str]) -> None:
    def refuse(detail: str) -> None:
        raise CapabilityContractError("INVALID_CANONICAL_RESPONSE", capability.id, detail)

    if not canonical.message.strip():
        refuse("the message is blank")
    if canonical.required and not canonical.claims:
        refuse("required words need at least one claim")
    for claim in canonical.claims:
        if not claim.text or claim.text not in canonical.message:
            refuse(f"the claim {claim.text!r} is no part of the message")
        if not claim.evidence_ids or set(claim.evidence_ids) - known:
            refuse(f"the claim {claim.text!r} does not cite evidence of this result")


def _check_invalidations(capability: Capability, needs: NeedsInput) -> None:
    definition = capability.definition
    allowed = {fact.reference.key for fact in definition.provides} | {fact.key for fact in definition.invalidates}
    for reference in needs.invalidates:
        if reference.key not in allowed:
            detail = f"{reference.key} is not among the facts it provides or invalidates"
            raise CapabilityContractError("UNDECLARED_FACT_INVALIDATION", capability.id, detail)


def _check_confirmation(capability: Capability, needs: NeedsConfirmation) -> None:
    if capability.definition.confirmation != "capability":
        detail = 'only confirmation="capability" may ask for a confirmation of its own'
        raise CapabilityContractError("CONFIRMATION_NOT_ALLOWED", capability.id, detail)
    if needs.interaction.kind != "confirmation":
        detail = f"asks for a confirmation with a question of kind {needs.interaction.kind}"
        raise CapabilityContractError("INVALID_CAPABILITY_INTERACTION", capability.id, detail)


def _check_dependency(agent: CompiledAgent, capability: Capability, needs: NeedsDependency) -> None:
    provider = agent.capabilities.get(needs.provider_capability_id)
    if needs.provider_capability_id == capability.id:
        detail = f"names itself as the provider of {needs.requirement.key}"
        raise CapabilityContractError("DYNAMIC_DEPENDENCY_SELF_REFERENCE", capability.id, detail)
    if provider is None:
        detail = f"names {needs.provider_capability_id}, which the agent does not have"
        raise CapabilityContractError("DYNAMIC_DEPENDENCY_PROVIDER_NOT_REGISTERED", capability.id, detail)
    if all(fact.reference.key != needs.requirement.key for fact in provider.definition.provides):
        detail = f"names {provider.id}, which does not provide {needs.requirement.key}"
        raise CapabilityContractError("DYNAMIC_DEPENDENCY_FACT_NOT_PROVIDED", capability.id, detail)

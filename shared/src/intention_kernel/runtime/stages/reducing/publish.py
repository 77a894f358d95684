"""What a step's result makes of the facts: what it publishes, and what that makes invalid (contract 2.10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.results import Completed, NeedsInput
from intention_kernel.contracts.facts import FactCandidate, FactRecord, Facts, Producer
from intention_kernel.runtime.stages.outcomes import StepOutcome
from intention_kernel.runtime.stages.reducing.result_checks import check_result, declaration_of, derived_redactions
from intention_kernel.runtime.stages.state import TurnView


@dataclass(frozen=True, slots=True)
class Publication:
    """The facts after a step, and what changed. A record that was replaced is among the invalidated."""

    facts: Facts
    published: tuple[FactRecord, ...] = ()
    invalidated: tuple[FactRecord, ...] = ()


def published_facts(view: TurnView, facts: Facts, outcome: StepOutcome) -> Facts:
    """The facts as later steps of the turn see them. Raises what `publish` does."""
    return publish(view, facts, outcome).facts


def publish(view: TurnView, facts: Facts, outcome: StepOutcome) -> Publication:
    """Only a completed step publishes (D3). Its facts take the place of the same type and version; what its capability
    invalidates, and all that depends on either, goes; nothing else does (D4).

    Raises CapabilityContractError where the result is not what the definition allows.
    """
    check_result(view.agent, outcome)
    capability = view.agent.capabilities[outcome.step.capability_id or ""]
    match outcome.result:
        case Completed() as completed:
            fresh = {fact.key: _record(view, outcome, capability, fact, completed) for fact in completed.facts}
            roots = {reference.key for reference in capability.definition.invalidates} | fresh.keys()
        case NeedsInput(invalidates=invalidates):
            fresh, roots = {}, {reference.key for reference in invalidates}
        case _:
            return Publication(facts)
    if not roots:
        return Publication(facts)
    gone = _with_descendants(facts, roots)
    kept = {key: record for key, record in facts.items() if key not in gone}
    return Publication(kept | fresh, tuple(fresh.values()), tuple(facts[key] for key in facts if key in gone))


def _with_descendants(facts: Facts, roots: Iterable[str]) -> set[str]:
    """These facts and every fact that was made from one of them."""
    gone = set(roots)
    while more := {
        key
        for key, record in facts.items()
        if key not in gone and any(parent.key in gone for parent in record.depends_on)
    }:
        gone |= more
    return gone


def _record(
    view: TurnView, outcome: StepOutcome, capability: Capability, fact: FactCandidate, completed: Completed
) -> FactRecord:
    declared = declaration_of(capability, fact)
    cited = set(fact.evidence_ids)
    return FactRecord(
        type=fact.type,
        version=fact.version,
        value=fact.value,
        evidence_ids=fact.evidence_ids,
        depends_on=fact.depends_on,
        produced_by=Producer(
            capability_id=capability.id,
            capability_version=capability.definition.version,
            turn_id=view.turn_id,
            step_id=outcome.step.id,
        ),
        evidence=tuple(evidence for evidence in completed.evidence if evidence.id in cited),
        model_visibility=declared.model_visibility,
        model_redactions=derived_redactions(capability, declared, fact.value),
    )

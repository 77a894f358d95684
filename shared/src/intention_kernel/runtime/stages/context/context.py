"""The context stage: what all models of the turn see, and the answer that a click gives (contract 2.3)."""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.agent.capability import CapabilityGuidance, ReferenceRequirements
from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.policy import GuidanceContext, GuidanceMatch
from intention_kernel.contracts.facts import Facts
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import PolicyContractError
from intention_kernel.ports.model_gateway import ModelCapability
from intention_kernel.runtime.stages.context.clicks import RefusedClick, answer_of_click
from intention_kernel.runtime.stages.context.projection import private_strings, projection_of
from intention_kernel.runtime.stages.handed_out import OwnFacts, own
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.snapshot import ContextSnapshot, SelectedGuidance
from intention_kernel.runtime.stages.state import KernelState, TurnView

__all__ = ["RefusedClick", "build_context"]


def build_context(view: TurnView) -> ContextSnapshot | RefusedClick:
    """The snapshot, or the refusal of a click that does not fit the open question.

    Raises PolicyContractError where a guidance selector returns what it may not, and whatever a selector raises.
    """
    click = answer_of_click(view.state.interaction, view.selection, view.text) if view.selection else None
    if isinstance(click, RefusedClick):
        return click
    guidance = tuple(_selected_guidance(view))
    redactions = Redactions.of(private_strings(view.state))
    projection, omissions = projection_of(view, guidance, redactions)
    return ContextSnapshot(view, guidance, click, _capabilities(view), redactions, omissions, projection)


def _selected_guidance(view: TurnView) -> Iterator[SelectedGuidance]:
    if not view.agent.definition.model_guidance_policies:
        return
    context = _guidance_context(view)
    for policy in view.agent.definition.model_guidance_policies:
        match = policy.select(context)
        if not _is_match(match):
            detail = "its selector returned no GuidanceMatch of a bool and selectors that are not blank"
            raise PolicyContractError("INVALID_GUIDANCE_MATCH", policy.id, detail)
        if match.selected:
            yield SelectedGuidance(policy, tuple(match.matched_selectors))


def _is_match(match: object) -> bool:
    return (
        isinstance(match, GuidanceMatch)
        and isinstance(match.selected, bool)
        and isinstance(match.matched_selectors, tuple)
        and all(isinstance(name, str) and name.strip() for name in match.matched_selectors)
    )


def _guidance_context(view: TurnView) -> GuidanceContext:
    state = view.state
    return GuidanceContext(
        active_capability_ids=tuple(sorted(_active_capabilities(state))),
        registered_capability_ids=tuple(sorted(view.agent.capabilities)),
        facts=OwnFacts(state.facts),
        agenda=tuple(item.public().model_copy(deep=True) for item in state.agenda),
        interaction=own(state.interaction),
    )


def _active_capabilities(state: KernelState) -> set[str]:
    found = {item.capability_id or item.intention.proposed_capability for item in state.agenda}
    if state.interaction is not None:
        found.add(state.interaction.capability_id)
        found.update(option.target_capability_id for option in state.interaction.options)
    return {capability_id for capability_id in found if capability_id is not None}


def _capabilities(view: TurnView) -> tuple[ModelCapability, ...]:
    capabilities = view.agent.capabilities
    return tuple(_contract(capabilities[name], view.state.facts) for name in sorted(capabilities))


def _contract(capability: Capability, facts: Facts) -> ModelCapability:
    definition = capability.definition
    missing = tuple(
        requirement.description
        for requirement in definition.requires
        if requirement.resolution == "planning" and requirement.reference.key not in facts
    )
    return ModelCapability(
        detail="contract",
        id=capability.id,
        description=definition.description,
        availability="blocked" if missing else "ready",
        blocked_by=missing,
        input_schema=capability.input.json_schema,
        guidance=_guidance(definition.guidance),
        reference_requirements=_references(definition.reference_requirements),
    )


def _guidance(guidance: CapabilityGuidance | None) -> JsonValue:
    if guidance is None:
        return None
    return {
        "whenToUse": list(guidance.when_to_use),
        "whenNotToUse": list(guidance.when_not_to_use),
        "examples": list(guidance.examples),
    }


def _references(requirements: ReferenceRequirements | None) -> JsonValue:
    if requirements is None:
        return None
    return {"source": requirements.source, "minimum": requirements.minimum, "maximum": requirements.maximum}

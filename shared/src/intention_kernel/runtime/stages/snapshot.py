"""What all models of a turn see: one projection, redacted, without anything private (contract 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intention_kernel.agent.policy import ModelGuidancePolicyDefinition
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.model_gateway import ModelCapability
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.state import TurnView


@dataclass(frozen=True, slots=True)
class SelectedGuidance:
    """A guidance policy that applies to this turn, and what matched."""

    definition: ModelGuidancePolicyDefinition
    matched_selectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that models do not see: where, why, and how many."""

    path: str
    reason: str
    omitted: int


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """The turn's context, the same for every model call.

    `projection` is JSON for models: redacted, without capabilities (they travel beside it). `capabilities` are all of the
    agent's as contracts, in the order of their ids. `click` is the answer that a verified click of the user gives.
    """

    view: TurnView
    guidance: tuple[SelectedGuidance, ...]
    click: InteractionAnswer | None
    capabilities: tuple[ModelCapability, ...]
    redactions: Redactions
    omissions: tuple[Omission, ...]
    projection: Mapping[str, JsonValue]

    def summaries(self) -> tuple[ModelCapability, ...]:
        """All capabilities as `capability.select` sees them."""
        return tuple(
            ModelCapability("summary", c.id, c.description, c.availability, c.blocked_by) for c in self.capabilities
        )

    def contracts(self, capability_ids: tuple[str, ...]) -> tuple[ModelCapability, ...]:
        """These capabilities as `turn.interpret` sees them."""
        return tuple(c for c in self.capabilities if c.id in capability_ids)

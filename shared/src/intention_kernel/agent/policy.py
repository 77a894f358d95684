"""Policies, which decide over every planned step, and guidance, which only informs models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import Facts
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue


@dataclass(frozen=True, slots=True)
class Allow:
    """The policy has no objection."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The step is refused; the user is told `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """The user has to confirm first, be it a read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Clarify:
    """The user has to answer this first."""

    interaction: Interaction


Verdict = Allow | Deny | Confirm | Clarify


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """A step as it is about to be planned. `input` is validated; host context is the host's.

    `answer` is what the user answered for this step, such as to the question of a Clarify.
    """

    capability_id: str
    intention: IntentionRequest
    input: JsonValue
    facts: Facts
    agenda: tuple[AgendaItem, ...]
    interaction: Interaction | None
    host_context: Mapping[str, JsonValue]
    tenant_id: str | None
    answer: InteractionAnswer | None = None


@dataclass(frozen=True, slots=True)
class PolicyDefinition:
    """A pure function over a step; policies are asked in order, and the first that does not allow decides."""

    id: str
    evaluate: Callable[[PolicyContext], Verdict]
    version: int = 1


@dataclass(frozen=True, slots=True)
class GuidanceMatch:
    """Whether a guidance policy applies now, and which of its conditions matched."""

    selected: bool
    matched_selectors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuidanceContext:
    """What a guidance selector may look at."""

    active_capability_ids: tuple[str, ...]
    registered_capability_ids: tuple[str, ...]
    facts: Facts
    agenda: tuple[AgendaItem, ...]
    interaction: Interaction | None


@dataclass(frozen=True, slots=True)
class GuidanceExample:
    """An input and what is expected of the model, or what is not."""

    input: str
    expected_behavior: str


@dataclass(frozen=True, slots=True)
class ModelGuidancePolicyDefinition:
    """Instructions for models that apply when `select` says so. They inform; they authorise nothing."""

    id: str
    description: str
    instructions: tuple[str, ...]
    select: Callable[[GuidanceContext], GuidanceMatch]
    version: int = 1
    examples: tuple[GuidanceExample, ...] = ()
    counter_examples: tuple[GuidanceExample, ...] = ()

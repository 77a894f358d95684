"""An agent as an application declares it; `compile_agent` makes a CompiledAgent of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from intention_kernel.agent.agent import Migration
from intention_kernel.agent.capability import CapabilityDefinition
from intention_kernel.agent.policy import ModelGuidancePolicyDefinition, PolicyDefinition


@dataclass(frozen=True, slots=True)
class ResponseFallbacks:
    """Words for cases that need none of a model."""

    unsupported_intention: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """An agent: who it is, what it can do, and under which rules.

    `identity` is read by models. `model_policy` maps a task (such as `turn.interpret`) to the alias that the gateway is
    given; aliases are no part of the fingerprint. `prompts` replaces the text of the kernel's prompts by id; the text is
    no part of it either. `recent_messages` is how many messages a model sees, `max_steps` how many steps a turn may execute.
    `accepts_fingerprints` and `migrate` are as for `Agent`.
    """

    id: str
    identity: str
    capabilities: tuple[CapabilityDefinition, ...]
    version: int = 1
    policies: tuple[PolicyDefinition, ...] = ()
    model_guidance_policies: tuple[ModelGuidancePolicyDefinition, ...] = ()
    model_policy: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    response_fallbacks: ResponseFallbacks = ResponseFallbacks()
    recent_messages: int = 20
    max_steps: int = 64
    accepts_fingerprints: tuple[str, ...] = ()
    migrate: Migration | None = None

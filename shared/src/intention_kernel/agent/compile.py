"""`compile_agent`: a definition is checked as a whole and becomes what the kernel runs (design 8)."""

from __future__ import annotations

from intention_kernel.agent.capability import CapabilityDefinition
from intention_kernel.agent.compiled import Capability, CompiledAgent
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.effect import Effect
from intention_kernel.agent.fingerprint import fingerprint
from intention_kernel.agent.schema import compile_schema


def compile_agent(definition: AgentDefinition) -> CompiledAgent:
    """Raises AgentCompilationError with every problem of the definition."""
    capabilities = {c.id: _compiled(c) for c in sorted(definition.capabilities, key=lambda c: c.id)}
    providers = {fact.reference.key: c.id for c in definition.capabilities for fact in c.provides}
    return CompiledAgent(definition, capabilities, providers, fingerprint(definition, capabilities))


def _compiled(definition: CapabilityDefinition) -> Capability:
    effect = _effect(definition) if definition.effect == "write" else None
    return Capability(definition, compile_schema(definition.input), compile_schema(definition.output), effect)


def _effect(definition: CapabilityDefinition) -> Effect:
    if definition.describe is None:
        raise TypeError
    result = definition.result if definition.result is not None else definition.output
    return Effect(
        id=definition.id,
        result=result if isinstance(result, type) else object,
        describe=definition.describe,
        resolver=definition.resolver,
        call=definition.call,
        call_timeout_seconds=definition.call_timeout_seconds,
        provider_deduplicates=definition.provider_deduplicates,
        key_window_seconds=definition.key_window_seconds,
        lookup_closes_key=definition.lookup_closes_key,
        quiet_period_seconds=definition.quiet_period_seconds,
        twins=definition.twins,
    )

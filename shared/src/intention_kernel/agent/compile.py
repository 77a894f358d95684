"""`compile_agent`: a definition is checked as a whole and becomes what the kernel runs (design 8, contract 5)."""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.agent.checks.agent_members import agent_problems
from intention_kernel.agent.checks.facts import fact_problems, providers_first, providers_of
from intention_kernel.agent.checks.members import malformed_members
from intention_kernel.agent.checks.rules import rule_problems
from intention_kernel.agent.checks.words import twice
from intention_kernel.agent.compile_capability import Built, compile_capability
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.fingerprint import contract_of, fingerprint_of
from intention_kernel.errors import AgentCompilationError, CompileProblem


def compile_agent(definition: AgentDefinition) -> CompiledAgent:
    """The agent that the kernel runs. Raises AgentCompilationError with every problem of the definition, codes and places.

    Members of another type than declared are told alone, since nothing else can be checked before. Capabilities come out
    in an order in which providers are first, ties by code point.
    """
    _refuse(definition, tuple(malformed_members(definition)))
    built = tuple(compile_capability(capability) for capability in definition.capabilities)
    _refuse(definition, tuple(_problems(definition, built)))
    made = {each.capability.id: each.capability for each in built if each.capability is not None}
    capabilities = {capability_id: made[capability_id] for capability_id in providers_first(definition.capabilities)}
    fingerprint = fingerprint_of(contract_of(definition, capabilities.values()))
    return CompiledAgent(definition, capabilities, providers_of(definition.capabilities), fingerprint)


def _problems(definition: AgentDefinition, built: tuple[Built, ...]) -> Iterator[CompileProblem]:
    yield from agent_problems(definition)
    for each in built:
        yield from each.problems
    for capability_id in twice(capability.id for capability in definition.capabilities):
        words = "is declared twice; give each its own id"
        yield CompileProblem("DUPLICATE_CAPABILITY", f"capability {capability_id}", words)
    yield from fact_problems(definition.capabilities)
    yield from rule_problems(definition)


def _refuse(definition: AgentDefinition, problems: tuple[CompileProblem, ...]) -> None:
    if problems:
        raise AgentCompilationError(definition.id, problems)

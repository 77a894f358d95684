"""Policies and guidance policies (contract 3.10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from intention_kernel.agent.checks.callables import sync_problem
from intention_kernel.agent.checks.words import identifier_problems, is_count, is_text, twice
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.policy import GuidanceExample, ModelGuidancePolicyDefinition, PolicyDefinition
from intention_kernel.errors import CompileProblem

_GUIDANCE: Final = "INVALID_MODEL_GUIDANCE_POLICY"
_LONGEST_TEXT: Final = 4_000
_LONGEST_INPUT: Final = 2_000
_MOST_ITEMS: Final = 50


def rule_problems(definition: AgentDefinition) -> Iterator[CompileProblem]:
    """Of all policies and guidance policies."""
    for policy in definition.policies:
        yield from _policy(policy)
    for policy_id in twice(policy.id for policy in definition.policies):
        yield CompileProblem("DUPLICATE_POLICY", f"policy {policy_id}", "is declared twice; give each its own id")
    for guidance in definition.model_guidance_policies:
        yield from _guidance(guidance)
    for policy_id in twice(guidance.id for guidance in definition.model_guidance_policies):
        yield CompileProblem(_GUIDANCE, f"guidance policy {policy_id}", "is declared twice; give each its own id")


def _policy(policy: PolicyDefinition) -> Iterator[CompileProblem]:
    place = f"policy {policy.id}"
    yield from identifier_problems(f"{place}: id", policy.id)
    if not is_count(policy.version):
        yield CompileProblem("INVALID_POLICY", f"{place}: version", "is a whole number from 1 up")
    if problem := sync_problem(policy.evaluate, "context"):
        yield CompileProblem("INVALID_POLICY", f"{place}: evaluate", problem)


def _guidance(guidance: ModelGuidancePolicyDefinition) -> Iterator[CompileProblem]:
    place = f"guidance policy {guidance.id}"
    if not is_text(guidance.id):
        yield CompileProblem(_GUIDANCE, f"{place}: id", "is blank")
    if not is_count(guidance.version):
        yield CompileProblem(_GUIDANCE, f"{place}: version", "is a whole number from 1 up")
    if not is_text(guidance.description, at_most=_LONGEST_TEXT):
        yield CompileProblem(_GUIDANCE, f"{place}: description", f"is 1 to {_LONGEST_TEXT} characters, and not blank")
    if not 1 <= len(guidance.instructions) <= _MOST_ITEMS:
        yield CompileProblem(_GUIDANCE, f"{place}: instructions", f"are 1 to {_MOST_ITEMS}")
    for index, instruction in enumerate(guidance.instructions):
        if not is_text(instruction, at_most=_LONGEST_TEXT):
            words = f"is 1 to {_LONGEST_TEXT} characters, and not blank"
            yield CompileProblem(_GUIDANCE, f"{place}: instructions[{index}]", words)
    yield from _examples(f"{place}: examples", guidance.examples)
    yield from _examples(f"{place}: counter_examples", guidance.counter_examples)
    if problem := sync_problem(guidance.select, "context"):
        yield CompileProblem(_GUIDANCE, f"{place}: select", problem)


def _examples(place: str, examples: tuple[GuidanceExample, ...]) -> Iterator[CompileProblem]:
    if len(examples) > _MOST_ITEMS:
        yield CompileProblem(_GUIDANCE, place, f"are at most {_MOST_ITEMS}")
    for index, example in enumerate(examples):
        if not is_text(example.input, at_most=_LONGEST_INPUT):
            words = f"is 1 to {_LONGEST_INPUT} characters, and not blank"
            yield CompileProblem(_GUIDANCE, f"{place}[{index}].input", words)
        if not is_text(example.expected_behavior, at_most=_LONGEST_TEXT):
            words = f"is 1 to {_LONGEST_TEXT} characters, and not blank"
            yield CompileProblem(_GUIDANCE, f"{place}[{index}].expected_behavior", words)

"""What an agent says of itself: id, identity, limits, models, prompts, words, earlier fingerprints (contract 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from intention_kernel.agent.checks.callables import sync_problem
from intention_kernel.agent.checks.words import identifier_problems, is_count, is_text, meant
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.prompts.catalogue import PROMPTS
from intention_kernel.contracts.checkpoint import MAX_MESSAGES
from intention_kernel.contracts.model_task import MODEL_TASKS
from intention_kernel.errors import CompileProblem

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}\Z")
_LONGEST_FALLBACK: Final = 4_000


def agent_problems(definition: AgentDefinition) -> Iterator[CompileProblem]:
    """Everything but capabilities, policies and facts."""
    yield from identifier_problems("agent: id", definition.id)
    if not is_count(definition.version):
        yield CompileProblem("INVALID_AGENT_VERSION", "agent: version", "is a whole number from 1 up")
    if not is_text(definition.identity):
        yield CompileProblem(
            "INVALID_AGENT_IDENTITY", "agent: identity", "is blank; say in a sentence who the agent is"
        )
    yield from _limits(definition)
    yield from _models(definition)
    yield from _prompts(definition)
    yield from _fallbacks(definition)
    yield from _history(definition)


def _limits(definition: AgentDefinition) -> Iterator[CompileProblem]:
    if not is_count(definition.recent_messages, at_least=0, at_most=MAX_MESSAGES):
        yield CompileProblem(
            "INVALID_KERNEL_LIMIT",
            "agent: recent_messages",
            f"is a whole number from 0 to {MAX_MESSAGES}, the messages that a checkpoint keeps",
        )
    if not is_count(definition.max_steps):
        yield CompileProblem("INVALID_KERNEL_LIMIT", "agent: max_steps", "is a whole number from 1 up")


def _models(definition: AgentDefinition) -> Iterator[CompileProblem]:
    for task, alias in definition.model_policy.items():
        place = f"agent: model_policy[{task!r}]"
        if task not in MODEL_TASKS:
            yield CompileProblem(
                "INVALID_MODEL_POLICY",
                place,
                f"is no task{meant(str(task), MODEL_TASKS) or '; the tasks are ' + ', '.join(MODEL_TASKS)}",
            )
        if not is_text(alias):
            yield CompileProblem("INVALID_MODEL_POLICY", place, "is a model's alias, a string that is not blank")


def _prompts(definition: AgentDefinition) -> Iterator[CompileProblem]:
    for prompt_id, text in definition.prompts.items():
        place = f"agent: prompts[{prompt_id!r}]"
        if prompt_id not in PROMPTS:
            yield CompileProblem(
                "INVALID_MODEL_PROMPT",
                place,
                f"is no prompt{meant(str(prompt_id), PROMPTS) or '; the prompts are ' + ', '.join(sorted(PROMPTS))}",
            )
        if not is_text(text):
            yield CompileProblem(
                "INVALID_MODEL_PROMPT", place, "is the prompt's whole text, a string that is not blank"
            )


def _fallbacks(definition: AgentDefinition) -> Iterator[CompileProblem]:
    words = definition.response_fallbacks.unsupported_intention
    if words is None:
        return
    if not is_text(words, at_most=_LONGEST_FALLBACK) or words != words.strip():
        yield CompileProblem(
            "INVALID_RESPONSE_FALLBACK",
            "agent: response_fallbacks.unsupported_intention",
            f"is 1 to {_LONGEST_FALLBACK} characters without space at its ends",
        )


def _history(definition: AgentDefinition) -> Iterator[CompileProblem]:
    for fingerprint in definition.accepts_fingerprints:
        if not _FINGERPRINT.match(fingerprint):
            yield CompileProblem(
                "INVALID_FINGERPRINT",
                "agent: accepts_fingerprints",
                f"{fingerprint!r} is no fingerprint: 64 hex digits, as `turn-runner check` of that build printed them",
            )
    if definition.migrate is not None and (problem := sync_problem(definition.migrate, "checkpoint")):
        yield CompileProblem("INVALID_MIGRATION", "agent: migrate", problem)

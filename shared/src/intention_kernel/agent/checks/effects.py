"""What a capability may do outside, and whom it asks first (contract 3.9, interface 1).

A write has a confirmation and describes itself. Anything else has neither effect nor members of one, but it may be
confirmed too: asking before an expensive or delicate read is the application's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Final, get_args

from intention_kernel.agent.capability import CapabilityDefinition, ConfirmationMode, EffectKind
from intention_kernel.agent.checks.callables import async_problem, sync_problem
from intention_kernel.agent.checks.words import is_seconds, word_problems
from intention_kernel.agent.effect import Effect, Lookup
from intention_kernel.errors import CompileProblem

_OF_EFFECT: Final = frozenset(field.name for field in fields(Effect)) - {"id"}


def effect_problems(capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    """Words, confirmation and expiry, and the members of an effect; not what `Effect` itself refuses."""
    place = f"capability {capability.id}"
    yield from word_problems(f"{place}: effect", capability.effect, get_args(EffectKind))
    yield from word_problems(f"{place}: confirmation", capability.confirmation, get_args(ConfirmationMode))
    yield from _expiry(f"{place}: expires_seconds", capability)
    if capability.effect == "write":
        yield from _write(place, capability)
    elif capability.effect in get_args(EffectKind):
        yield from _no_write(place, capability)


def _expiry(place: str, capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    if capability.expires_seconds is None:
        return
    if not is_seconds(capability.expires_seconds):
        yield CompileProblem("INVALID_CONFIRMATION_EXPIRY", place, "is a number of seconds above 0, or None")
    if capability.confirmation != "required":
        words = 'belongs to confirmation="required"; other questions expire by Interaction.expires_seconds'
        yield CompileProblem("INVALID_CONFIRMATION_EXPIRY", place, words)


def _write(place: str, capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    if capability.confirmation == "none":
        yield CompileProblem(
            "WRITE_CONFIRMATION_REQUIRED",
            f"{place}: confirmation",
            'is "none" on a write; write "required" (the kernel asks) or "capability" (it asks itself)',
        )
    if capability.describe is None:
        words = "is missing; a write says what it is about to do: def describe(payload) -> Summary"
        yield CompileProblem("EFFECT_DESCRIBE_REQUIRED", f"{place}: describe", words)
    elif problem := sync_problem(capability.describe, "payload"):
        yield CompileProblem("INVALID_EFFECT", f"{place}: describe", problem)
    if capability.call is not None and (problem := async_problem(capability.call, "payload, authority, ports")):
        yield CompileProblem("INVALID_EFFECT", f"{place}: call", problem)
    resolver = capability.resolver
    if isinstance(resolver, Lookup) and (problem := async_problem(resolver.find, "receipt, ports")):
        yield CompileProblem("INVALID_EFFECT", f"{place}: resolver", problem)


def _no_write(place: str, capability: CapabilityDefinition) -> Iterator[CompileProblem]:
    for field in fields(capability):
        if field.name not in _OF_EFFECT:
            continue
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if getattr(capability, field.name) != default:
            yield CompileProblem(
                "EFFECT_WITHOUT_WRITE",
                f"{place}: {field.name}",
                f'belongs to a write, and effect is "{capability.effect}"; take it out or write effect="write"',
            )

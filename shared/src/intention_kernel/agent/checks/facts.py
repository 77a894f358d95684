"""Facts between capabilities: who provides what, and in which order capabilities can run (contract 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush

from intention_kernel.agent.capability import CapabilityDefinition, FactDeclaration, FactRequirement
from intention_kernel.agent.checks.words import meant
from intention_kernel.contracts.facts import FactReference
from intention_kernel.errors import CompileProblem

AnyFact = FactDeclaration | FactRequirement | FactReference


def providers_of(capabilities: Iterable[CapabilityDefinition]) -> dict[str, str]:
    """Fact key -> the capability that provides it; the first one where there are several."""
    providers: dict[str, str] = {}
    for capability in capabilities:
        for fact in capability.provides:
            providers.setdefault(_key(fact), capability.id)
    return providers


def providers_first(capabilities: Iterable[CapabilityDefinition]) -> tuple[str, ...]:
    """The capabilities' ids with every provider before those that require its facts, ties by code point.

    Those in a cycle, and those that need them, are left out.
    """
    waits_for = _requirements(capabilities)
    unblocks: defaultdict[str, list[str]] = defaultdict(list)
    for consumer, needed in waits_for.items():
        for provider in needed:
            unblocks[provider].append(consumer)
    ready = [consumer for consumer, needed in waits_for.items() if not needed]
    heapify(ready)
    missing = {consumer: len(needed) for consumer, needed in waits_for.items()}
    ordered: list[str] = []
    while ready:
        ordered.append(heappop(ready))
        for consumer in unblocks[ordered[-1]]:
            missing[consumer] -= 1
            if not missing[consumer]:
                heappush(ready, consumer)
    return tuple(ordered)


def fact_problems(capabilities: tuple[CapabilityDefinition, ...]) -> Iterator[CompileProblem]:
    """Facts with two providers, with none, and requirements in a circle; requirements at run time count as well.

    A capability may require its own fact (of an earlier turn).
    """
    yield from _ambiguous(capabilities)
    providers = providers_of(capabilities)
    for capability in capabilities:
        place = f"capability {capability.id}"
        for fact in capability.requires:
            yield from _unknown("MISSING_FACT_PROVIDER", f"{place}: requires", fact, providers)
        for invalidated in capability.invalidates:
            yield from _unknown("UNKNOWN_FACT", f"{place}: invalidates", invalidated, providers)
    circle = _circle(_requirements(capabilities), set(providers_first(capabilities)))
    if circle:
        yield CompileProblem(
            "CAPABILITY_DEPENDENCY_CYCLE",
            f"capability {circle[0]}: requires",
            f"{' -> '.join((*circle, circle[0]))}: each needs a fact of the next; take one requirement out",
        )


def _ambiguous(capabilities: Iterable[CapabilityDefinition]) -> Iterator[CompileProblem]:
    provided_by: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for capability in capabilities:
        for fact in capability.provides:
            provided_by[_key(fact)][capability.id] = None
    for key, ids in provided_by.items():
        if len(ids) > 1:
            yield CompileProblem(
                "AMBIGUOUS_FACT_PROVIDER",
                f"fact {key}",
                f"is provided by {' and '.join(sorted(ids))}; a fact has one provider: give each its own type or version",
            )


def _unknown(code: str, place: str, fact: AnyFact, providers: Mapping[str, str]) -> Iterator[CompileProblem]:
    key = _key(fact)
    if key not in providers:
        yield CompileProblem(
            code,
            place,
            f"no capability provides {key}{meant(key, providers)}; declare it in the `provides` of one",
        )


def _requirements(capabilities: Iterable[CapabilityDefinition]) -> dict[str, set[str]]:
    """Capability -> the others whose facts it requires."""
    known = tuple(capabilities)
    providers = providers_of(known)
    return {
        capability.id: {
            provider
            for fact in capability.requires
            if (provider := providers.get(_key(fact))) is not None and provider != capability.id
        }
        for capability in known
    }


def _circle(waits_for: Mapping[str, set[str]], ordered: set[str]) -> tuple[str, ...]:
    """One circle among those that could not be ordered, from its smallest id on."""
    left = sorted(waits_for.keys() - ordered)
    if not left:
        return ()
    path: list[str] = [left[0]]
    while True:
        # Whatever could not be ordered waits for another one that could not, so the path comes back to itself.
        following = min(waits_for[path[-1]] - ordered)
        if following in path:
            circle = path[path.index(following) :]
            first = circle.index(min(circle))
            return (*circle[first:], *circle[:first])
        path.append(following)


def _key(fact: AnyFact) -> str:
    """As `FactReference.key`, also for a version that is no version."""
    return f"{fact.type}@{fact.version}"

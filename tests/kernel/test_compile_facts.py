"""Facts between capabilities: their providers, and the order in which capabilities can run (contract 5)."""

from __future__ import annotations

from itertools import permutations

import pytest
from intention_kernel.agent import (
    AgentCompilationError,
    CapabilityDefinition,
    CompileProblem,
    FactDeclaration,
    FactRequirement,
)

from tests.support.kernel import agent, capability


def step(capability_id: str, *, needs: str = "", gives: str = "", resolution: str = "planning") -> CapabilityDefinition:
    """A capability that requires and provides facts of these names."""
    requires = tuple(FactRequirement(name, name, resolution=resolution) for name in needs.split())  # type: ignore[arg-type]
    return capability(capability_id, requires=requires, provides=tuple(FactDeclaration(name) for name in gives.split()))


def problems(*capabilities: CapabilityDefinition) -> tuple[CompileProblem, ...]:
    with pytest.raises(AgentCompilationError) as refused:
        agent(*capabilities)
    return refused.value.found


def test_providers_come_first_and_ties_are_in_code_point_order_however_they_are_declared() -> None:
    steps = (
        step("b", gives="x"),
        step("a", needs="x"),
        step("d"),
        step("c10"),
        step("c9", needs="y"),
        step("e", gives="y"),
    )
    orders = {tuple(agent(*declared).capabilities) for declared in permutations(steps)}
    assert orders == {("b", "a", "c10", "d", "e", "c9")}


def test_a_fact_has_one_provider_and_the_agent_knows_it() -> None:
    assert agent(step("b", gives="x y"), step("a", needs="x")).providers == {"x@1": "b", "y@1": "b"}
    (problem,) = problems(step("b", gives="x"), step("a", gives="x"))
    assert (problem.code, problem.place) == ("AMBIGUOUS_FACT_PROVIDER", "fact x@1")
    assert "provided by a and b" in problem.message


@pytest.mark.parametrize("resolution", ["planning", "runtime"])
def test_a_requirement_without_a_provider_is_refused_whenever_it_is_resolved(resolution: str) -> None:
    (problem,) = problems(step("a", needs="order", resolution=resolution), step("b", gives="orders"))
    assert (problem.code, problem.place) == ("MISSING_FACT_PROVIDER", "capability a: requires")
    assert "no capability provides order@1 (did you mean orders@1?)" in problem.message


@pytest.mark.parametrize("resolution", ["planning", "runtime"])
def test_a_circle_of_requirements_is_told_as_one(resolution: str) -> None:
    circle = (
        step("c", needs="b", gives="c", resolution=resolution),
        step("a", needs="c", gives="a"),
        step("b", needs="a", gives="b"),
    )
    (problem,) = problems(step("z", needs="a"), *circle, step("free", gives="f"))
    assert (problem.code, problem.place) == ("CAPABILITY_DEPENDENCY_CYCLE", "capability a: requires")
    assert problem.message.startswith("a -> c -> b -> a: ")


def test_a_capability_may_require_its_own_fact_of_an_earlier_turn() -> None:
    assert list(agent(step("a", needs="x", gives="x")).capabilities) == ["a"]


def test_an_unknown_resolution_is_refused() -> None:
    (problem,) = problems(step("a", needs="x", resolution="later"), step("b", gives="x"))
    assert (problem.code, problem.place) == ("UNKNOWN_WORD", "capability a: requires x.resolution")

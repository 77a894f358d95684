"""What steps of one plan wait for: facts that another step will publish, facts that are missing, a confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from intention_kernel.agent.capability import FactRequirement
from intention_kernel.contracts.agenda import MissingFact
from intention_kernel.runtime.stages.planning.consent_words import what_is_confirmed
from intention_kernel.runtime.stages.planning.plan_checks import Assessed, ask, has_consent
from intention_kernel.runtime.stages.planning.questions import Owner, may_i, which_facts
from intention_kernel.runtime.stages.state import KernelState, TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep


def settle_dependencies(view: TurnView, state: KernelState, assessed: list[Assessed]) -> list[PlanStep]:
    """The steps in their order: those that run wait for the steps whose facts they need, the others ask.

    Only a step that runs in this turn provides: one that waits for a confirmation has promised nothing. A fact that is
    there already makes no edge. Contract 2.8; D6: for a requirement that is resolved at runtime only a provider that the
    user asked for or confirmed makes an edge, not one that an answer merely resumes.
    """
    running = _running(view, state, assessed)
    return [_settled(view, state, one, running) for one in assessed]


def _running(view: TurnView, state: KernelState, assessed: list[Assessed]) -> dict[str, PlanStep]:
    """The steps that run, by id: those without a question of their own whose facts are there or will be."""
    running = {one.step.id: one.step for one in assessed if one.step.disposition == "execute" and one.confirm is None}
    while lacking := [step for step in running.values() if _missing(view, state, step, running)]:
        for step in lacking:
            del running[step.id]
    return running


def _settled(view: TurnView, state: KernelState, one: Assessed, running: Mapping[str, PlanStep]) -> PlanStep:
    step = one.step
    if step.disposition != "execute":
        return step
    if missing := _missing(view, state, step, running):
        question = which_facts(_owner(view, step), missing)
        waiting = ask(step, "defer", "MISSING_REQUIRED_FACTS", question.goal, question)
        return replace(waiting, missing_facts=missing)
    if one.confirm is not None:
        capability = view.agent.capabilities[step.capability_id or ""]
        what = what_is_confirmed(capability, step)
        question = may_i(_owner(view, step), step, what, capability.definition.expires_seconds)
        return ask(step, "defer", "CONFIRMATION_REQUIRED", one.confirm, question)
    return replace(step, depends_on=_edges(view, state, step, running))


def _missing(
    view: TurnView, state: KernelState, step: PlanStep, running: Mapping[str, PlanStep]
) -> tuple[MissingFact, ...]:
    return tuple(
        requirement.missing
        for requirement in _absent(view, state, step)
        if requirement.resolution == "planning" and not _provided(view, requirement, step, running)
    )


def _edges(view: TurnView, state: KernelState, step: PlanStep, running: Mapping[str, PlanStep]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for requirement in _absent(view, state, step):
        found.update(dict.fromkeys(_provided(view, requirement, step, running)))
    return tuple(found)


def _absent(view: TurnView, state: KernelState, step: PlanStep) -> tuple[FactRequirement, ...]:
    requires = view.agent.capabilities[step.capability_id or ""].definition.requires
    return tuple(requirement for requirement in requires if requirement.reference.key not in state.facts)


def _provided(
    view: TurnView, requirement: FactRequirement, step: PlanStep, running: Mapping[str, PlanStep]
) -> list[str]:
    """Ids of the steps that will publish it. A capability that provides what it needs itself waits for nobody."""
    provider = view.agent.providers.get(requirement.reference.key)
    if provider == step.capability_id:
        return []
    return [
        other.id
        for other in running.values()
        if other.capability_id == provider
        and (requirement.resolution == "planning" or other.item_id is None or has_consent(other))
    ]


def _owner(view: TurnView, step: PlanStep) -> Owner:
    return Owner(view.new_id("interaction"), step.capability_id or "")

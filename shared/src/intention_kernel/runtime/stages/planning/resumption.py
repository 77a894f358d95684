"""What a settled receipt resumes: the blocked steps of a turn, and the effects which that turn made before (protocol 5)."""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.contracts.agenda import AgendaItem, BlockedStep, FrozenStep
from intention_kernel.errors import TurnHeldError
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, StepReason, TurnPlan


def plan_resumption(view: TurnView, resumed_turn_id: str) -> TurnPlan:
    """Every step that `resumed_turn_id` left blocked, to be executed with what it had. It was decided before: no policy is
    asked again, since the effect may have happened."""
    items = _blocked(view, resumed_turn_id)
    steps = tuple(_step(blocked.step, item.id) for item, blocked in items)
    return TurnPlan(steps, "Say how the work that waited has ended.")


def resumed_steps(view: TurnView, resumed_turn_id: str) -> tuple[PlanStep, ...]:
    """All writes of that turn in their order: blocked ones and those before them, each once.

    Raises TurnHeldError where this build has another version of a capability, or none: its effects could not be met.
    """
    found: dict[str, PlanStep] = {}
    for item, blocked in _blocked(view, resumed_turn_id):
        for frozen in (*blocked.earlier, blocked.step):
            _check_version(view, frozen)
        for frozen in blocked.earlier:
            found.setdefault(frozen.step_id, _step(frozen, None))
        found[blocked.step.step_id] = _step(blocked.step, item.id)
    return tuple(found.values())


def _blocked(view: TurnView, resumed_turn_id: str) -> Iterator[tuple[AgendaItem, BlockedStep]]:
    for item in view.state.agenda:
        if item.status == "blocked" and item.blocked is not None and item.blocked.turn_id == resumed_turn_id:
            yield item, item.blocked


def _step(frozen: FrozenStep, item_id: str | None) -> PlanStep:
    return PlanStep(
        id=frozen.step_id,
        intention=frozen.intention,
        capability_id=frozen.capability_id,
        disposition="execute",
        reason=StepReason("SETTLED", "The effect that it waited for is known."),
        input=frozen.input,
        item_id=item_id,
        continuation=frozen.continuation,
        interaction=frozen.interaction,
        answer=frozen.answer,
        trigger="reconciliation",
    )


def _check_version(view: TurnView, frozen: FrozenStep) -> None:
    capability = view.agent.capabilities.get(frozen.capability_id)
    found = capability.definition.version if capability is not None else None
    if found != frozen.capability_version:
        raise TurnHeldError(
            f"capability {frozen.capability_id} of a blocked step",
            expected=f"version {frozen.capability_version}",
            found=f"version {found}" if found is not None else "none",
        )

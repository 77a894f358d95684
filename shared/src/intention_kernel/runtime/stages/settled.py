"""What a settlement resumes: steps that were blocked on its receipt, as they were (protocol R30)."""

from __future__ import annotations

from collections.abc import Iterable

from intention_kernel.contracts.agenda import AgendaItem, FrozenStep
from intention_kernel.runtime.stages.plan_checks import refused
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, StepReason, TurnPlan


def blocked_items(agenda: Iterable[AgendaItem], turn_id: str, receipt_id: str) -> tuple[AgendaItem, ...]:
    """The items that a turn left blocked on a receipt, oldest first."""
    return tuple(
        item
        for item in agenda
        if item.blocked is not None
        and item.blocked.turn_id == turn_id
        and any(receipt.receipt_id == receipt_id for receipt in item.blocked.receipts)
    )


def plan_settled(view: TurnView, items: Iterable[AgendaItem]) -> TurnPlan:
    """The blocked steps of these items, without new checks: whatever policies say now, what has been started has to be
    known to its end. One whose capability is gone is told and leaves the agenda."""
    steps = tuple(_resumed(view, item, item.blocked.step) for item in items if item.blocked is not None)
    removed = tuple(step.opens_item_id for step in steps if step.disposition == "reject")
    return TurnPlan(steps, "; ".join(step.intention.objective for step in steps), removed_item_ids=removed)


def frozen_step(frozen: FrozenStep, item_id: str | None = None) -> PlanStep:
    """A step to run again in a continuation: under its id, with its input, so that it meets its effects again (R15)."""
    return PlanStep(
        id=frozen.step_id,
        intention=frozen.intention,
        capability_id=frozen.capability_id,
        disposition="execute",
        reason=StepReason("SETTLED", "It is known now how it ended.", frozen.intention.evidence),
        input=frozen.input,
        item_id=item_id,
        continuation=frozen.continuation,
        interaction=frozen.interaction,
        answer=frozen.answer,
        trigger="reconciliation",
    )


def _resumed(view: TurnView, item: AgendaItem, frozen: FrozenStep) -> PlanStep:
    step = frozen_step(frozen, item.id)
    if frozen.capability_id in view.agent.capabilities:
        return step
    return refused(
        step, "CAPABILITY_NOT_REGISTERED", f"This cannot be carried on here any more: {item.intention.objective}"
    )

"""The agenda after a batch of steps: what came, what changed, and why each item that is gone is gone (contract 8.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from intention_kernel.agent.results import Completed, NeedsDependency
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.outcomes import EndedItem, EndReason, Skipped, StepOutcome
from intention_kernel.runtime.stages.planning.activation import pending_provider
from intention_kernel.runtime.stages.planning.questions import expired
from intention_kernel.runtime.stages.reducing.agenda_items import ItemMaker
from intention_kernel.runtime.stages.reducing.ownership import unneeded, with_dependency, without_gone
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, ReasonCode, TurnPlan

_ENDS: dict[ReasonCode, EndReason] = {
    "CONFIRMATION_DECLINED": "declined",
    "CONFIRMATION_EXPIRED": "expired",
    "QUESTION_EXPIRED": "expired",
    "CONFIRMATION_OUTDATED": "outdated",
}


@dataclass(frozen=True, slots=True)
class AgendaChange:
    """The next agenda. `asked` are the questions that results of this batch brought, in order."""

    agenda: tuple[AgendaItem, ...]
    ended: tuple[EndedItem, ...]
    asked: tuple[Interaction, ...]


def changed_agenda(
    view: TurnView, agenda: Sequence[AgendaItem], plan: TurnPlan, outcomes: Mapping[str, StepOutcome]
) -> AgendaChange:
    """`outcomes` are those of the plan's executed steps, by step id."""
    change = _Change(view, plan, outcomes, {item.id: item for item in agenda})
    change.end_planned()
    for step in plan.steps:
        if step.disposition != "reject":
            change.apply(step)
    return change.result()


@dataclass(slots=True)
class _Change:
    view: TurnView
    plan: TurnPlan
    outcomes: Mapping[str, StepOutcome]
    items: dict[str, AgendaItem]
    gone: list[tuple[AgendaItem, EndReason]] = field(default_factory=list)
    asked: dict[str, Interaction] = field(default_factory=dict)

    def end_planned(self) -> None:
        """What the plan ends, for its reason."""
        for item_id in self.plan.cancelled_item_ids:
            self._end(item_id, "cancelled")
        reasons = {s.item_id: _ENDS.get(s.reason.code, "denied") for s in self.plan.steps if s.disposition == "reject"}
        for item_id in self.plan.removed_item_ids:
            self._end(item_id, reasons.get(item_id) or self._silent_end(item_id))
        for replacement in self.plan.replacements:
            self._end(replacement.item_id, "replaced")
        for item_id in self._displaced_follow_ups():
            self._end(item_id, "dismissed")

    def apply(self, step: PlanStep) -> None:
        """What the step leaves."""
        before = self.items.get(step.opens_item_id)
        others = [item for item in self.items.values() if item.id != step.opens_item_id]
        maker = ItemMaker(self.view, step, before, others)
        outcome = self.outcomes[step.id] if step.disposition == "execute" else None
        item = maker.planned() if outcome is None else maker.ended(outcome)
        if outcome is not None and isinstance(outcome.result, Completed) and outcome.result.interaction is None:
            self._dismiss_questions_of(step)
        if item is None:
            self._end(step.opens_item_id, "completed")
            return
        self.items[item.id] = item
        if outcome is not None and item.interaction is not None:
            self.asked[item.id] = item.interaction
        self._link(step, outcome, item)

    def result(self) -> AgendaChange:
        """The agenda, whose items know of nothing that is gone."""
        for item_id in sorted(unneeded(self.items, [item for item, _ in self.gone])):
            self._end(item_id, "unneeded")
        successors = {r.item_id: f"agenda:{r.step_id}" for r in self.plan.replacements}
        self.items = without_gone(self.items, successors)
        asked = tuple(question for item_id, question in self.asked.items() if item_id in self.items)
        ended = tuple(EndedItem(item.id, reason) for item, reason in self.gone)
        return AgendaChange(tuple(self.items.values()), ended, asked)

    def _end(self, item_id: str, reason: EndReason) -> None:
        item = self.items.pop(item_id, None)
        if item is not None:
            self.gone.append((item, reason))

    def _silent_end(self, item_id: str) -> EndReason:
        item = self.items.get(item_id)
        return "expired" if item is not None and expired(item.interaction, self.view.at) else "answered"

    def _displaced_follow_ups(self) -> list[str]:
        """Optional follow-ups of earlier turns give way when another capability is at work; their work is done."""
        busy = {step.capability_id for step in self.plan.steps if step.disposition != "reject"}
        resumed = {step.item_id for step in self.plan.steps}
        return [
            item.id
            for item in self.view.state.agenda
            if item.completed_follow_up
            and item.interaction is not None
            and item.interaction.mode == "optional"
            and item.id not in resumed
            and busy - {item.capability_id}
        ]

    def _dismiss_questions_of(self, step: PlanStep) -> None:
        for item in list(self.items.values()):
            if item.completed_follow_up and item.capability_id == step.capability_id and item.id != step.item_id:
                self._end(item.id, "dismissed")

    def _link(self, step: PlanStep, outcome: StepOutcome | None, item: AgendaItem) -> None:
        result = outcome.result if outcome is not None else None
        if isinstance(result, NeedsDependency):
            provider = pending_provider(tuple(self.items.values()), result.provider_capability_id, item.id)
            if provider is not None:
                self.items[item.id] = with_dependency(item, provider.id, owned=False)
        if isinstance(result, Skipped):
            for waited in [s for s in self.plan.steps if s.id in step.depends_on and s.opens_item_id in self.items]:
                self.items[item.id] = with_dependency(self.items[item.id], waited.opens_item_id, owned=False)
        consumer = self.items.get(step.consumer_item_id or "")
        if consumer is not None:
            self.items[consumer.id] = with_dependency(consumer, item.id, owned=True)

"""All that a turn brought, before anybody has put it into words: what the brief is made of (contract 2.12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.results import Completed, NeedsConfirmation, NeedsInput
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.outcomes import BlockedResult, StepIssue, StepOutcome
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import KernelState
from intention_kernel.runtime.stages.turn_plan import PlanStep, TurnPlan


@dataclass(frozen=True, slots=True)
class SettledEffect:
    """What a continuation turn is about: the receipt as it was settled, and the effect's own word for it."""

    title: str
    receipt: ReceiptReference


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """One turn with everything done that it does, but the answer.

    `plans` and `outcomes` hold the user's steps first and then those that the kernel started. `state` is what the checkpoint
    will hold; its interaction is the one that is shown. `issues` are those of all reductions, `redactions` those of the
    facts and items in the new state too. `selection` and `interpretation` are None where nothing was understood because
    nobody spoke: in a continuation, which has `settled` instead.
    """

    snapshot: ContextSnapshot
    plans: tuple[TurnPlan, ...]
    outcomes: tuple[StepOutcome, ...]
    state: KernelState
    redactions: Redactions
    selection: Selection | None = None
    interpretation: Interpretation | None = None
    issues: tuple[StepIssue, ...] = ()
    settled: SettledEffect | None = None

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """The steps of all plans."""
        return tuple(step for plan in self.plans for step in plan.steps)

    @property
    def completed(self) -> tuple[tuple[StepOutcome, Completed], ...]:
        """The steps that did their work."""
        return tuple((outcome, outcome.result) for outcome in self.outcomes if isinstance(outcome.result, Completed))

    @property
    def blocked(self) -> tuple[tuple[StepOutcome, BlockedResult], ...]:
        """The steps that wait for receipts."""
        return tuple(
            (outcome, outcome.result) for outcome in self.outcomes if isinstance(outcome.result, BlockedResult)
        )

    @property
    def cancelled_item_ids(self) -> tuple[str, ...]:
        """Of agenda items that the user gave up."""
        return tuple(item_id for plan in self.plans for item_id in plan.cancelled_item_ids)

    @property
    def asks_now(self) -> bool:
        """Whether the question that is shown was asked, or asked again, by this turn, and not only left open by it."""
        shown, before = self.state.interaction, self.snapshot.view.state.interaction
        if shown is None:
            return False
        return before is None or before.id != shown.id or shown.id in {asked.id for asked in self._asked()}

    def _asked(self) -> Iterator[Interaction]:
        yield from (plan.interaction for plan in self.plans if plan.interaction is not None)
        for outcome in self.outcomes:
            match outcome.result:
                case NeedsInput(interaction=Interaction() as asked):
                    yield asked
                case NeedsConfirmation(interaction=Interaction() as asked):
                    yield asked
                case Completed(interaction=Interaction() as asked):
                    yield asked

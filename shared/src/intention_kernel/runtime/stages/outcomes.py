"""How executed steps ended, and what the turn made of the state (contract 2.9 to 2.11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.results import CapabilityIssue, CapabilityResult
from intention_kernel.contracts.agenda import BlockedReceipt, FrozenStep, MissingFact
from intention_kernel.contracts.facts import FactRecord
from intention_kernel.runtime.stages.state import KernelState
from intention_kernel.runtime.stages.turn_plan import PlanStep


@dataclass(frozen=True, slots=True)
class Skipped:
    """The step did not run. Pending: a step that it needs waits itself, and these facts are still missing."""

    code: Literal["DEPENDENCY_NOT_COMPLETED", "DEPENDENCY_PENDING"]
    pending_facts: tuple[MissingFact, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockedResult:
    """The step met receipts that nobody can vouch for yet (protocol R32).

    `earlier` are the writes that the turn had finished before, in order (R15). `turn_id` is the turn whose journal holds
    what the step saw: this one where it is None, in a continuation the one that it resumes.
    """

    receipts: tuple[BlockedReceipt, ...]
    earlier: tuple[FrozenStep, ...] = ()
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """An executable step and how it ended; `receipts` are the effects that it met, in order."""

    step: PlanStep
    result: CapabilityResult | Skipped | BlockedResult
    receipts: tuple[ReceiptReference, ...] = ()


@dataclass(frozen=True, slots=True)
class StepIssue:
    """An issue for the brief, and the step it belongs to."""

    step_id: str
    issue: CapabilityIssue


EndReason = Literal[
    "completed",
    "declined",
    "cancelled",
    "expired",
    "outdated",
    "denied",
    "answered",
    "replaced",
    "dismissed",
    "unneeded",
]
"""`answered`: by a request of its own · `replaced`: by a newer request of the same capability · `dismissed`: a follow-up
question that nobody needs any more · `unneeded`: a provider whose consumer is gone."""


@dataclass(frozen=True, slots=True)
class EndedItem:
    """An agenda item that is there no more, and why: nothing leaves the agenda without one of these."""

    item_id: str
    reason: EndReason


@dataclass(frozen=True, slots=True)
class Reduction:
    """The state after a batch of steps, and what changed in it."""

    state: KernelState
    published: tuple[FactRecord, ...] = ()
    invalidated: tuple[FactRecord, ...] = ()
    cancelled_item_ids: tuple[str, ...] = ()
    issues: tuple[StepIssue, ...] = ()
    ended: tuple[EndedItem, ...] = ()

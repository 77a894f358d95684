"""How executed steps ended, and what the turn made of the state (contract 2.9 to 2.11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.results import CapabilityIssue, CapabilityResult
from intention_kernel.contracts.agenda import BlockedReceipt, MissingFact
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
    """The step met receipts that nobody can vouch for yet (protocol R32)."""

    receipts: tuple[BlockedReceipt, ...]


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


@dataclass(frozen=True, slots=True)
class Reduction:
    """The state after a batch of steps, and what changed in it."""

    state: KernelState
    published: tuple[FactRecord, ...] = ()
    invalidated: tuple[FactRecord, ...] = ()
    cancelled_item_ids: tuple[str, ...] = ()
    issues: tuple[StepIssue, ...] = ()

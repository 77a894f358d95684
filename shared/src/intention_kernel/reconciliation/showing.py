"""What a person reads before they decide, shared by every surface (design 7)."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ports.approvals import DecidingQueue, Proposal
from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.reconciliation.admissible import Verdict, terms_of
from intention_kernel.reconciliation.consequences import Consequences, consequences
from intention_kernel.reconciliation.judging import not_decidable, verdict, with_workers_stopped
from intention_kernel.reconciliation.key_window import KeyWindow, key_window
from intention_kernel.reconciliation.queue import declared
from intention_kernel.reconciliation.rules import asked
from intention_kernel.reconciliation.workbench import EffectOf


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person may decide now. `applied` None: it may, else why not. `with_workers_stopped` is the verdict on
    "not applied" once the person has stated that the workers are stopped. The rules are those that ask for a second person
    then, of each resolution."""

    applied: str | None
    not_applied: Verdict
    with_workers_stopped: Verdict
    applied_rules: tuple[str, ...]
    not_applied_rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A receipt's whole story, what may be decided about it, and what will happen then. `proposal` is its last, open or over."""

    case: ReceiptCase
    choices: Choices
    if_applied: Consequences
    if_not_applied: Consequences
    key_window: KeyWindow
    proposal: Proposal | None


async def show(queue: DecidingQueue, receipt_id: str, effect_of: EffectOf | None = None) -> Shown | None:
    """One receipt; None where there is none. Without `effect_of` nothing is assumed of its provider."""
    case = await queue.case(receipt_id)
    if case is None:
        return None
    rules, proposal = await queue.rules(), await queue.proposal_of(receipt_id)
    terms = terms_of(declared(case, effect_of))
    choices = Choices(
        applied=not_decidable(case),
        not_applied=verdict(case, terms),
        with_workers_stopped=verdict(with_workers_stopped(case), terms),
        applied_rules=asked(rules, case, "applied", terms).names,
        not_applied_rules=asked(rules, case, "not_applied", terms).names,
    )
    follows = (consequences(case, "applied"), consequences(case, "not_applied"))
    return Shown(case, choices, *follows, key_window(case.open, terms), proposal)

"""What a caller asks about, if it is within their reach."""

from __future__ import annotations

from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.reconciliation.showing import Shown, show

from receipt_reconciler.web.api.callers import Caller


async def case_of(caller: Caller, receipt_id: str) -> ReceiptCase:
    """A receipt. Raises ProblemError, the same one, where there is none and where it is out of reach."""
    case = await caller.desk.queue.case(receipt_id)
    if case is None:
        raise await caller.not_found()
    await _refuse_out_of_reach(caller, case)
    return case


async def shown_of(caller: Caller, receipt_id: str) -> Shown:
    """The same with all that may be decided about it."""
    shown = await show(caller.desk.queue, receipt_id, caller.desk.effect_of)
    if shown is None:
        raise await caller.not_found()
    await _refuse_out_of_reach(caller, shown.case)
    return shown


async def _refuse_out_of_reach(caller: Caller, case: ReceiptCase) -> None:
    receipt = case.open.receipt
    if not caller.who.scope.covers(receipt.tenant_id, receipt.effect_id):
        raise await caller.not_found(out_of_reach=True)

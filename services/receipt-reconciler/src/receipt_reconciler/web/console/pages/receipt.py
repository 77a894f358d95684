"""`/receipts/{id}`: the page of one receipt, and the forms that only show more of it."""

from __future__ import annotations

from intention_kernel.reconciliation.showing import Shown
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.forms import Form
from receipt_reconciler.web.console.pages.reading import effect_of, shown_receipt
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.views.receipt import receipt_view
from receipt_reconciler.web.console.views.wording import REASON_CODES


async def receipt(ask: Ask) -> Response:
    """As it is now, with values masked."""
    return receipt_page(ask, await shown_receipt(ask, ask.part("receipt_id")))


async def reveal(ask: Ask) -> Response:
    """With its real values, once, for a reason that is an audit line."""
    shown = await shown_receipt(ask, ask.part("receipt_id"))
    reason = ask.form.line("reason")
    if not reason:
        return receipt_page(ask, shown, status=422, problem="To see the real values, say why.")
    receipt_id, scope = shown.case.open.receipt.receipt_id, ask.who.scope
    if not await ask.desk.conversations.note_reveal_of_receipt(receipt_id, scope, ask.who.user, reason):
        raise not_found("receipt")
    return receipt_page(ask, await shown_receipt(ask, receipt_id), revealed=True)


def receipt_page(
    ask: Ask,
    shown: Shown,
    *,
    status: int = 200,
    problem: str | None = None,
    changes: tuple[str, ...] = (),
    typed: Form | None = None,
    revealed: bool = False,
) -> Response:
    """The page, with what went wrong of a form and everything that was typed into it."""
    return ask.page(
        "receipt.html",
        status=status,
        view=receipt_view(shown, effect_of(ask, shown), ask.who, revealed=revealed),
        problem=problem,
        changes=changes,
        typed=typed or Form(),
        reason_codes=tuple(REASON_CODES.items()),
    )

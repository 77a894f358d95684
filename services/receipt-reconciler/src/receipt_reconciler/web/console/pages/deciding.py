"""Deciding: first what would happen, by the decision's own path with nothing written; then, once confirmed, the decision."""

from __future__ import annotations

from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ports.approvals import OtherProposal
from intention_kernel.ports.queue_work import Held
from intention_kernel.ports.receipt_ledger import Resolution
from intention_kernel.reconciliation.contest import ContestOpened, Doubt, contest
from intention_kernel.reconciliation.queue import (
    Decision,
    Invalid,
    NeedsSecondPerson,
    NotFound,
    Refused,
    Resolved,
    VersionChanged,
    WouldPropose,
    WouldResolve,
    resolve,
)
from intention_kernel.reconciliation.showing import Shown
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.pages.reading import effect_of, shown_receipt
from receipt_reconciler.web.console.pages.receipt import receipt_page
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.views.changes import changes_since
from receipt_reconciler.web.console.views.deciding import follows_view
from receipt_reconciler.web.console.views.receipt import receipt_view
from receipt_reconciler.web.console.views.times import when
from receipt_reconciler.web.console.views.values import NoValueError, fields_of, typed_value
from receipt_reconciler.web.console.views.wording import REASON_CODES

_RESOLUTIONS: dict[str, Resolution] = {"applied": "applied", "not_applied": "not_applied"}
_EDIT, _CONFIRM = "edit", "confirm"


async def decide(ask: Ask) -> Response:
    """`step` of the form: nothing shows what would happen, `confirm` decides, `edit` shows the form with what was typed."""
    shown = await shown_receipt(ask, ask.part("receipt_id"))
    if ask.form.text("step") == _EDIT:
        return receipt_page(ask, shown, typed=ask.form)
    try:
        decision = _decision(ask, shown)
    except NoValueError as error:
        return receipt_page(ask, shown, status=422, problem=str(error), typed=ask.form)
    confirmed = ask.form.text("step") == _CONFIRM
    contested = ask.form.text("contested") == "yes"
    answer = await resolve(ask.desk.queue, decision, ask.desk.effect_of, contested=contested, dry_run=not confirmed)
    match answer:
        case WouldResolve() | WouldPropose():
            return _foretold(ask, shown, decision, answer)
        case Resolved():
            return ask.sent_on(f"/receipts/{decision.receipt_id}", "decided")
        case NeedsSecondPerson():
            return ask.sent_on(f"/receipts/{decision.receipt_id}", "proposed")
        case NotFound():
            raise not_found("receipt")
        case _:
            return await _refused(ask, decision, answer)


async def open_contest(ask: Ask) -> Response:
    """A person says that what is recorded is wrong."""
    shown = await shown_receipt(ask, ask.part("receipt_id"))
    receipt_id, seen = shown.case.open.receipt.receipt_id, ask.form.number("expected_version")
    answer = await contest(ask.desk.queue, Doubt(receipt_id, ask.form.line("reason"), ask.who.user, seen))
    match answer:
        case ContestOpened():
            return ask.sent_on(f"/receipts/{receipt_id}", "contested")
        case NotFound():
            raise not_found("receipt")
        case _:
            return await _refused(ask, Decision(receipt_id, "applied", "", "", expected_version=seen), answer)


def _decision(ask: Ask, shown: Shown) -> Decision:
    """What the form says. Raises NoValueError."""
    form, resolution = ask.form, _RESOLUTIONS.get(ask.form.text("resolution"))
    if resolution is None:
        raise NoValueError("Choose whether it was applied or not.")
    seen = form.number("expected_version")
    if seen is None:
        raise NoValueError("The form does not say which version of the receipt was shown.")
    applied = resolution == "applied"
    code = form.optional("reason_code")
    return Decision(
        receipt_id=shown.case.open.receipt.receipt_id,
        resolution=resolution,
        reason=form.line("reason"),
        actor=ask.who.user,
        value=_value(ask, shown) if applied else None,
        reference=form.optional("reference") if applied else None,
        reason_code=code if code in REASON_CODES else None,
        evidence=form.optional("evidence"),
        workers_stopped=not applied and form.is_set("workers_stopped"),
        expected_version=seen,
    )


def _value(ask: Ask, shown: Shown) -> JsonValue:
    """What was typed, or what a resolver found: that may be taken over by somebody who does not see it."""
    source = ask.form.text("value_from")
    if source in ("", "typed"):
        effect = effect_of(ask, shown)
        return typed_value(None if effect is None else fields_of(effect.result), ask.form)
    for seen in shown.case.observations:
        if seen.finding == "found" and seen.at.isoformat() == source:
            return seen.value
    raise NoValueError("The value to take over is not there.")


def _foretold(ask: Ask, shown: Shown, decision: Decision, answer: WouldResolve | WouldPropose) -> Response:
    receipt = shown.case.open.receipt
    second = answer if isinstance(answer, WouldPropose) else None
    return ask.page(
        "confirm.html",
        view=receipt_view(shown, effect_of(ask, shown), ask.who),
        decision=decision,
        code=REASON_CODES.get(decision.reason_code or ""),
        follows=follows_view(receipt.thread_id, answer.consequences),
        rules=() if second is None else second.rules,
        hash=None if second is None else second.decision_hash,
        value_words=_value_words(ask, decision),
        fields=tuple((name, value) for name, value in ask.form.fields if name != "step"),
    )


def _value_words(ask: Ask, decision: Decision) -> str:
    """What was typed is shown to who typed it; what is taken over may be somebody's secret."""
    if decision.resolution != "applied":
        return ""
    taken_over = ask.form.text("value_from") not in ("", "typed")
    return "the one that was found, as it is" if taken_over else dumps(decision.value).decode("utf-8", "replace")


async def _refused(
    ask: Ask, decision: Decision, answer: VersionChanged | Held | Refused | Invalid | OtherProposal
) -> Response:
    """The receipt as it is now, why nothing was decided, and everything that was typed."""
    fresh = await shown_receipt(ask, decision.receipt_id)
    now, status = fresh.case.open.looked_at, 409
    changes: tuple[str, ...] = ()
    match answer:
        case Invalid(problem=problem):
            status, text = 422, problem
        case VersionChanged(why=why):
            text, changes = why, changes_since(fresh, decision.expected_version)
        case Held(owner=owner, until=until):
            text = f"{owner} works on it until {when(until, now).exact}; take it over with a reason, or wait"
        case Refused(verdict=verdict):
            again = verdict.not_before
            text = verdict.reason + ("" if again is None else f"; look again after {when(again, now).exact}")
        case OtherProposal(proposer=proposer):
            text = f"another decision waits already, proposed by {proposer}; see it below"
    problem = f"Nothing was decided: {text}."
    return receipt_page(ask, fresh, status=status, problem=problem, changes=changes, typed=ask.form)

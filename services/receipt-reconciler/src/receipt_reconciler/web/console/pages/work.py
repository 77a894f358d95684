"""What people do about a receipt before they decide: each form is one operation of `reconciliation.work`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from intention_kernel.ids import derived_id, random_id
from intention_kernel.ports.queue_work import Held, NoteKind
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.queue import Invalid, NotFound, VersionChanged
from intention_kernel.reconciliation.work import Done, Kept, NoteResult, NotPossible, Task, WorkResult
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.pages.reading import shown_receipt
from receipt_reconciler.web.console.pages.receipt import receipt_page
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.views.times import when

_KINDS: dict[str, NoteKind] = {"link": "link", "ticket": "ticket", "quotation": "quotation", "digest": "digest"}
_MINUTE, _LONGEST_MINUTES = 60.0, 129_600


async def claim(ask: Ask) -> Response:
    """For some minutes; again by the same person, for longer."""
    seconds = _seconds(ask, work.CLAIM_SECONDS)
    return await _done(ask, "claimed", lambda task: work.claim(ask.desk.queue, task, seconds))


async def takeover(ask: Ask) -> Response:
    """Whoever has it, for a reason that they can read."""
    reason = ask.form.line("reason")
    return await _done(ask, "taken", lambda task: work.takeover(ask.desk.queue, task, reason))


async def release(ask: Ask) -> Response:
    """Give an own claim back."""
    return await _done(ask, "released", lambda task: work.release(ask.desk.queue, task))


async def snooze(ask: Ask) -> Response:
    """For some minutes, or until a resolver says something else."""
    until_change = ask.form.text("until") == "change"
    seconds = None if until_change else _seconds(ask, 3_600.0)
    reason = ask.form.optional("reason")
    return await _done(ask, "snoozed", lambda task: work.snooze(ask.desk.queue, task, seconds, reason))


async def wake(ask: Ask) -> Response:
    """Back into sight."""
    return await _done(ask, "woken", lambda task: work.wake(ask.desk.queue, task))


async def probe(ask: Ask) -> Response:
    """Its resolver looks at the reconciler's next round."""
    return await _done(ask, "probed", lambda task: work.probe(ask.desk.queue, task, ask.desk.effect_of))


async def note(ask: Ask) -> Response:
    """A comment, or evidence; of a file its hash and its name are kept."""
    kind = _KINDS.get(ask.form.text("kind"))
    name, content = ask.form.files.get("file", ("", b""))

    async def kept(task: Task) -> NoteResult:
        if kind is None:
            return await work.comment(ask.desk.queue, task, ask.form.line("text"))
        text = work.digest_of(content, name) if kind == "digest" and name else ask.form.line("text")
        return await work.evidence(ask.desk.queue, task, kind, text)

    return await _done(ask, "noted", kept)


async def _done(ask: Ask, said: str, operation: Callable[[Task], Awaitable[WorkResult | NoteResult]]) -> Response:
    shown = await shown_receipt(ask, ask.part("receipt_id"))
    receipt_id = shown.case.open.receipt.receipt_id
    operation_id = derived_id(
        "console", ask.who.user, receipt_id, ask.form.optional("operation_id") or str(random_id())
    )
    answer = await operation(Task(receipt_id, ask.who.user, ask.form.number("work_version"), operation_id))
    match answer:
        case Done() | Kept():
            return ask.sent_on(f"/receipts/{receipt_id}", said)
        case NotFound():
            raise not_found("receipt")
        case Held(owner=owner, until=until):
            words = when(until, ask.clock.now())
            status, problem = 409, f"{owner} works on it until {words.exact} ({words.words})."
        case VersionChanged(why=why) | NotPossible(why=why):
            status, problem = 409, _sentence(why)
        case Invalid(problem=why):
            status, problem = 422, _sentence(why)
    fresh = await shown_receipt(ask, receipt_id)
    return receipt_page(ask, fresh, status=status, problem=problem, typed=ask.form)


def _seconds(ask: Ask, otherwise: float) -> float:
    minutes = ask.form.number("minutes")
    return otherwise if minutes is None else min(minutes, _LONGEST_MINUTES) * _MINUTE


def _sentence(words: str) -> str:
    return f"Nothing was changed: {words}."

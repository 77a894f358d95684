"""Routes of work before a decision: claim, takeover, release, snooze, wake, probe, comments, evidence."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from intention_kernel.ports.queue_work import Held
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.queue import Invalid, NotFound, VersionChanged
from pydantic import Field
from starlette.responses import Response

from receipt_reconciler.web.api import outcomes
from receipt_reconciler.web.api.answering import answer
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.conversing import LARGEST
from receipt_reconciler.web.api.idempotency import IdempotencyKey, Key, reused
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.reach import case_of
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, NoteKept, WorkDone

router: APIRouter = router_of("work")
Worker = Annotated[Caller, needs("receipts:work", changes=True)]

ExpectedWork = Annotated[
    int | None,
    Field(ge=0, le=LARGEST, description="`work.version` as you saw it; left out: as it is", examples=[0]),
]


class ClaimBody(Body):
    """How long, and of which version of the work."""

    seconds: Annotated[float, Field(ge=1, le=work.LONGEST_CLAIM_SECONDS, examples=[1800])] = work.CLAIM_SECONDS
    expected_version: ExpectedWork = None


class TakeoverBody(ClaimBody):
    """The same, and why: whoever had it reads that."""

    reason: Annotated[str, Field(min_length=1, max_length=2_000, examples=["ana is away, the customer calls"])]


class ReleaseBody(Body):
    """Of which version of the work."""

    expected_version: ExpectedWork = None


class SnoozeBody(Body):
    """How long; without `seconds`, until a resolver answers something else."""

    seconds: Annotated[float | None, Field(ge=1, le=work.LONGEST_SNOOZE_SECONDS, examples=[7200])] = None
    reason: Annotated[str | None, Field(max_length=2_000)] = None
    expected_version: ExpectedWork = None


class CommentBody(Body):
    """What to say."""

    text: Annotated[str, Field(min_length=1, max_length=work.LONGEST_NOTE_BYTES, examples=["the bank is asked"])]


class EvidenceBody(Body):
    """What shows it: an http(s) address, a ticket's number, a quotation, or `sha256:…` with a file's name."""

    kind: Literal["link", "ticket", "quotation", "digest"]
    text: Annotated[str, Field(min_length=1, max_length=work.LONGEST_NOTE_BYTES, examples=["https://bank.example/7"])]


@router.post("/receipts/{receipt:id}/claim", operation_id="claimReceipt", response_model=WorkDone)
async def claim(receipt: str, body: ClaimBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Yours for a while: nobody else decides or contests it meanwhile. Once more makes it longer."""
    task = await _task(caller, receipt, key, body.expected_version)
    return await _done(caller, receipt, await work.claim(caller.desk.queue, task, body.seconds))


@router.post("/receipts/{receipt:id}/takeover", operation_id="takeOverReceipt", response_model=WorkDone)
async def takeover(receipt: str, body: TakeoverBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Yours whoever has it."""
    task = await _task(caller, receipt, key, body.expected_version)
    return await _done(caller, receipt, await work.takeover(caller.desk.queue, task, body.reason, body.seconds))


@router.post("/receipts/{receipt:id}/release", operation_id="releaseReceipt", response_model=WorkDone)
async def release(receipt: str, body: ReleaseBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Give your claim back."""
    task = await _task(caller, receipt, key, body.expected_version)
    return await _done(caller, receipt, await work.release(caller.desk.queue, task))


@router.post("/receipts/{receipt:id}/snooze", operation_id="snoozeReceipt", response_model=WorkDone)
async def snooze(receipt: str, body: SnoozeBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Out of sight for a while. What contradicts the record brings it back at once."""
    task = await _task(caller, receipt, key, body.expected_version)
    return await _done(caller, receipt, await work.snooze(caller.desk.queue, task, body.seconds, body.reason))


@router.post("/receipts/{receipt:id}/wake", operation_id="wakeReceipt", response_model=WorkDone)
async def wake(receipt: str, body: ReleaseBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Back into sight."""
    task = await _task(caller, receipt, key, body.expected_version)
    return await _done(caller, receipt, await work.wake(caller.desk.queue, task))


@router.post("/receipts/{receipt:id}/probe", operation_id="probeReceipt", response_model=WorkDone)
async def probe(receipt: str, body: ReleaseBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Have the effect's resolver look at the reconciler's next round."""
    task = await _task(caller, receipt, key, body.expected_version)
    return await _done(caller, receipt, await work.probe(caller.desk.queue, task, caller.desk.effect_of))


@router.post(
    "/receipts/{receipt:id}/comments", operation_id="commentOnReceipt", response_model=NoteKept, status_code=201
)
async def comment(receipt: str, body: CommentBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Say something to whoever comes next. It is never changed or deleted."""
    task = await _task(caller, receipt, key, None)
    return await _kept(caller, await work.comment(caller.desk.queue, task, body.text))


@router.post("/receipts/{receipt:id}/evidence", operation_id="addEvidence", response_model=NoteKept, status_code=201)
async def evidence(receipt: str, body: EvidenceBody, caller: Worker, key: IdempotencyKey) -> Response:
    """Keep what shows whether the effect took place. It is never changed or deleted."""
    task = await _task(caller, receipt, key, None)
    return await _kept(caller, await work.evidence(caller.desk.queue, task, body.kind, body.text))


async def _task(caller: Caller, receipt_id: str, key: Key, expected_version: int | None) -> work.Task:
    await case_of(caller, receipt_id)
    return work.Task(receipt_id, caller.name, expected_version, key.operation(caller.name))


async def _done(caller: Caller, receipt_id: str, result: work.WorkResult) -> Response:
    match result:
        case work.Done(version=version, until=until):
            return answer({"workVersion": version, "until": None if until is None else until.isoformat()})
        case Held() as by:
            raise outcomes.held(by)
        case VersionChanged(why=why):
            now = (await case_of(caller, receipt_id)).work.version
            raise ProblemError("version_conflict", outcomes.sentence(why), workVersion=now)
        case work.NotPossible(why=why):
            raise ProblemError("not_possible", outcomes.sentence(why))
        case other:
            raise await _refused(caller, other)


async def _kept(caller: Caller, result: work.NoteResult) -> Response:
    match result:
        case work.Kept(note_id=note_id):
            return answer({"noteId": note_id}, 201)
        case work.NotPossible(why=why):
            raise ProblemError("not_possible", outcomes.sentence(why))
        case other:
            raise await _refused(caller, other)


async def _refused(caller: Caller, result: NotFound | Invalid) -> ProblemError:
    match result:
        case NotFound():
            return await caller.not_found()
        case work.IdReused():
            return reused()
        case Invalid(problem=problem):
            return outcomes.invalid(problem)

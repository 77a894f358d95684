"""A settlement that turned out wrong: a person contests it, another decides on evidence (protocol R25, R27)."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ids import derived_id
from intention_kernel.ports.operator_queue import Contest, Contested, NotSettled, OperatorQueue
from intention_kernel.ports.queue_work import Held
from intention_kernel.ports.receipt_ledger import Changed, Unknown
from intention_kernel.reconciliation.queue import Invalid, NotFound, VersionChanged


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a person says is wrong, of the receipt as it was shown to them in `expected_version` (None: as it is now).

    `contest_id` None: derived from the content, so that the same doubt about the same version is one contest.
    """

    receipt_id: str
    reason: str
    actor: str
    expected_version: int | None = None
    contest_id: str | None = None


@dataclass(frozen=True, slots=True)
class ContestOpened:
    """No attempt is made and its value is not handed out, until another person decides. `version` is the one to decide on."""

    version: int


ContestAnswer = ContestOpened | NotFound | VersionChanged | Held | Invalid


async def contest(queue: OperatorQueue, doubt: Doubt) -> ContestAnswer:
    """Flag the receipt and put it on top of the queue. The same doubt about the same version is one contest.

    Refused while another person has claimed the receipt.
    """
    case = await queue.case(doubt.receipt_id)
    if case is None:
        return NotFound()
    for name, text in (("a reason", doubt.reason), ("who contests", doubt.actor)):
        if not text.strip():
            return Invalid(f"{name} is needed")
    receipt = case.open.receipt
    version = receipt.version if doubt.expected_version is None else doubt.expected_version
    answer = await queue.contest(
        Contest(
            thread_id=receipt.thread_id,
            effect_key=receipt.effect_key,
            seen_version=version,
            contest_id=doubt.contest_id
            or derived_id("contest", receipt.receipt_id, str(version), doubt.actor, doubt.reason),
            actor=doubt.actor,
            reason=doubt.reason,
        )
    )
    match answer:
        case Contested(version=now):
            return ContestOpened(now)
        case Held() as held:
            return held
        case NotSettled(state=state):
            return VersionChanged(f"the receipt is {state} and nobody settled it, so there is nothing to contest")
        case Changed(retrying=True):
            return VersionChanged("the identical call is being repeated right now; its answer may settle it")
        case Changed(state=state, version=now):
            return VersionChanged(f"the receipt is {state} and has version {now} now")
        case Unknown():
            return NotFound()

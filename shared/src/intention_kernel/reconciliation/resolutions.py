"""Decisions that come as records (interface 2, receipts.resolutions): read, made as on every other surface, or kept with a reason."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, assert_never

from intention_kernel.contracts.resolution import decode_resolution
from intention_kernel.errors import InfrastructureError, RejectedError, words_of
from intention_kernel.ports.approvals import DecidingQueue, OtherProposal
from intention_kernel.ports.queue_work import Held
from intention_kernel.ports.rejections import RecordKeeper, Rejection
from intention_kernel.ports.turn_store import Origin
from intention_kernel.reconciliation.queue import (
    Decision,
    Invalid,
    NeedsSecondPerson,
    NotFound,
    Refused,
    ResolveAnswer,
    Resolved,
    VersionChanged,
    WouldPropose,
    WouldResolve,
    resolve,
)
from intention_kernel.reconciliation.workbench import EffectOf

FAILED = "failed"
"""Making the decision raised what nobody foresaw."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """The decision is made, now or by an earlier record with its id; `proposed`: once a second person approves it."""

    how: Literal["settled", "proposed"]


@dataclass(frozen=True, slots=True)
class NotTaken:
    """It is no decision, or one that is refused; `reason` is stable, `detail` for people."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Resolutions:
    """Whoever may write records decides: nothing of a record is asked for but that it fits."""

    queue: DecidingQueue
    keeper: RecordKeeper
    effect_of: EffectOf

    async def take(self, origin: Origin) -> str:
        """What became of the record: `settled`, `proposed`, or why it was not taken. Once this returns, that is durable.

        Raises InfrastructureError where the store cannot answer: call it with the same record again.
        """
        decision = read_decision(origin.value)
        judged = decision if isinstance(decision, NotTaken) else await self._made(decision)
        place = {"topic": origin.topic, "partition": origin.partition, "offset": origin.offset}
        if isinstance(judged, Taken):
            logger.info("resolution.%s", judged.how, extra=place)
            return judged.how
        thread_id = await self._thread_of(decision) if judged.reason != FAILED else None
        await self.keeper.reject(Rejection(origin, judged.reason, judged.detail, thread_id))
        logger.warning("resolution.rejected: %s: %s", judged.reason, judged.detail, extra=place)
        return judged.reason

    async def _made(self, decision: Decision) -> Taken | NotTaken:
        try:
            return judged_by(await resolve(self.queue, decision, self.effect_of))
        except InfrastructureError:
            raise
        except Exception as error:
            # Whatever it is, those behind it do not wait for it; a person sends it again once its cause is gone.
            logger.exception("a decision could not be made", extra={"receipt_id": decision.receipt_id})
            return NotTaken(FAILED, words_of(error))

    async def _thread_of(self, decision: Decision | NotTaken) -> str | None:
        """The thread, where it is known: what is kept goes with it when the thread is deleted."""
        case = None if isinstance(decision, NotTaken) else await self.queue.case(decision.receipt_id)
        return None if case is None else case.open.receipt.thread_id


def read_decision(value: bytes | None) -> Decision | NotTaken:
    """The decision in a record's value, whatever its bytes are."""
    try:
        record = decode_resolution(value)
    except RejectedError as error:
        return NotTaken(error.reason, error.detail)
    return Decision(
        receipt_id=record.receipt_id,
        resolution=record.resolution,
        reason=record.reason,
        actor=record.actor,
        value=record.value,
        reference=record.reference,
        expected_version=record.expected_version,
        decision_id=record.decision_id,
    )


def judged_by(answer: ResolveAnswer) -> Taken | NotTaken:
    """What an answer means for the record that asked."""
    match answer:
        case Resolved():
            return Taken("settled")
        case NeedsSecondPerson():
            return Taken("proposed")
        case OtherProposal(proposal_id=proposal_id):
            return NotTaken("other_proposal", f"another decision waits for a second person: {proposal_id}")
        case NotFound():
            return NotTaken("unknown_receipt", "there is no such receipt")
        case VersionChanged(why=why):
            return NotTaken("version_changed", why)
        case Held(owner=owner, until=until):
            return NotTaken("held", f"{owner} works on it until {until.isoformat()}")
        case Refused(verdict=verdict):
            return NotTaken("not_admitted", verdict.reason)
        case Invalid(problem=problem):
            return NotTaken("invalid", problem)
        case WouldResolve() | WouldPropose():
            raise AssertionError("only a dry run answers this")
        case _:
            assert_never(answer)

"""A person's decision about a receipt, shared by every surface (design 7, protocol 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from intention_kernel.agent.effect import Effect
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.errors import JsonError
from intention_kernel.ids import derived_id
from intention_kernel.ports.approvals import DecidingQueue, OtherProposal, Proposal, ProposeAnswer, Proposed
from intention_kernel.ports.operator_queue import Alone, DecideAnswer, Decides, OperatorQueue, ReceiptCase
from intention_kernel.ports.queue_work import Held, IdTaken
from intention_kernel.ports.receipt_ledger import Changed, Late, Resolution, Settlement, Unknown
from intention_kernel.reconciliation.admissible import NotAdmitted, terms_of
from intention_kernel.reconciliation.consequences import Consequences, consequences
from intention_kernel.reconciliation.judging import not_contested, not_decidable, verdict, with_workers_stopped
from intention_kernel.reconciliation.proposing import new_proposal
from intention_kernel.reconciliation.results import result_problem
from intention_kernel.reconciliation.rules import Asked, asked
from intention_kernel.reconciliation.workbench import EffectOf


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person concluded, of the receipt as it was shown to them in `expected_version` (None: as it is now).

    `decision_id` None: derived from the content, so that the same decision about the same attempt is made once.
    """

    receipt_id: str
    resolution: Resolution
    reason: str
    actor: str
    value: JsonValue = None
    reference: str | None = None
    reason_code: str | None = None
    evidence: str | None = None
    workers_stopped: bool = False
    expected_version: int | None = None
    decision_id: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settled, now or by an earlier call with the same decision; the continuation is asked for."""

    settlement: int
    version: int


@dataclass(frozen=True, slots=True)
class WouldResolve:
    """A dry run: it would be settled, and this would follow."""

    consequences: Consequences


@dataclass(frozen=True, slots=True)
class NeedsSecondPerson:
    """Not made: it is proposed, now or by an earlier call, and another person approves it by the proposal's hash."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class WouldPropose:
    """A dry run: these rules ask for a second person; the proposal would have this hash, and this follows once it is approved."""

    consequences: Consequences
    rules: tuple[str, ...]
    decision_hash: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """No such receipt."""


@dataclass(frozen=True, slots=True)
class VersionChanged:
    """The receipt is not as it was shown; look again. `why` says what it is now."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Not admitted by protocol R22 (or R25), with the reason."""

    verdict: NotAdmitted


@dataclass(frozen=True, slots=True)
class Invalid:
    """The decision cannot be one, whatever the receipt is."""

    problem: str


ResolveAnswer = (
    Resolved
    | WouldResolve
    | NeedsSecondPerson
    | WouldPropose
    | OtherProposal
    | NotFound
    | VersionChanged
    | Held
    | Refused
    | Invalid
)


async def resolve(
    queue: DecidingQueue,
    decision: Decision,
    effect_of: EffectOf | None = None,
    *,
    contested: bool = False,
    dry_run: bool = False,
) -> ResolveAnswer:
    """Settle as a person decides, if the receipt is as it was shown (R23) and "not applied" is admitted (R22); where a rule asks
    for a second person, propose it instead.

    With `workers_stopped` the statement is recorded first; a declared quiet period counts from its first making. Refused while
    another person has claimed the receipt. `contested`: it decides a contest, which another person has opened, on evidence
    (R25), so that no rule asks. `dry_run`: the same path, with nothing written.
    """
    case = await queue.case(decision.receipt_id)
    if case is None:
        return NotFound()
    effect = declared(case, effect_of)
    problem = _problem(decision, effect, contested=contested)
    if problem is not None:
        return Invalid(problem)
    settlement = _settlement(case, decision, contested=contested)
    if not _made_already(case, settlement):
        changed = _changed(case, decision, contested=contested)
        if changed is not None:
            return changed
        terms = terms_of(effect)
        if decision.resolution == "not_applied":
            case = _stated(case, decision) if dry_run else await _with_statement(queue, case, decision)
            judged = verdict(case, terms)
            if isinstance(judged, NotAdmitted):
                return Refused(judged)
            settlement = replace(settlement, not_after=judged.not_after)
        if not contested:
            second = asked(await queue.rules(), case, decision.resolution, terms)
            if second.rules:
                return await _propose(queue, case, decision, settlement, second, dry_run=dry_run)
            settlement = replace(settlement, not_after=_earlier(settlement.not_after, second.free_until))
    answer = await queue.decide(settlement, contested=contested, look_only=dry_run)
    if dry_run and isinstance(answer, Decides):
        return WouldResolve(_foretold(answer, case, decision.resolution))
    return told(answer)


async def _propose(
    queue: DecidingQueue,
    case: ReceiptCase,
    decision: Decision,
    settlement: Settlement,
    second: Asked,
    *,
    dry_run: bool,
) -> ResolveAnswer:
    proposal = new_proposal(
        decision.receipt_id,
        settlement,
        second,
        workers_stopped=decision.workers_stopped,
        call_id=decision.decision_id,
    )
    answer: ProposeAnswer = await queue.propose(proposal, look_only=dry_run)
    match answer:
        case Proposed(proposal=kept):
            return NeedsSecondPerson(kept)
        case Decides():
            follows = _foretold(answer, case, decision.resolution)
            return WouldPropose(follows, proposal.rules, proposal.decision_hash)
        case OtherProposal():
            return answer
        case IdTaken():
            return Invalid("another decision was proposed under this id")
        case _:
            return told(answer)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((time for time in (one, other) if time is not None), default=None)


def _stated(case: ReceiptCase, decision: Decision) -> ReceiptCase:
    return with_workers_stopped(case) if decision.workers_stopped else case


async def _with_statement(queue: OperatorQueue, case: ReceiptCase, decision: Decision) -> ReceiptCase:
    """The case with the person's statement in it, read again so that the look is later than the statement."""
    if not decision.workers_stopped:
        return case
    if case.workers_stopped_at is None:
        await queue.state_workers_stopped(case, decision.actor, decision.reason)
    return await queue.case(decision.receipt_id) or case


def declared(case: ReceiptCase, effect_of: EffectOf | None) -> Effect | None:
    """What the application declares of the receipt's effect, where it is known."""
    receipt = case.open.receipt
    return None if effect_of is None else effect_of(receipt.agent_id, receipt.effect_id)


def _problem(decision: Decision, effect: Effect | None, *, contested: bool) -> str | None:
    needed = [("a reason", decision.reason), ("who decides", decision.actor)]
    if contested:
        needed.append(("evidence", decision.evidence or ""))
    for name, text in needed:
        if not text.strip():
            return f"{name} is needed"
    if decision.resolution == "not_applied":
        given = decision.value is not None or decision.reference is not None
        return "what was not applied has neither value nor reference" if given else None
    if effect is not None:
        return result_problem(effect, decision.value)
    try:
        dumps(decision.value)
    except JsonError as error:
        return f"the value is not JSON: {error}"
    return None


def _changed(case: ReceiptCase, decision: Decision, *, contested: bool) -> VersionChanged | None:
    receipt = case.open.receipt
    why = not_contested(case) if contested else not_decidable(case)
    if why is None and decision.expected_version not in (None, receipt.version):
        why = f"the receipt has version {receipt.version}, not {decision.expected_version}"
    return None if why is None else VersionChanged(why)


def _made_already(case: ReceiptCase, settlement: Settlement) -> bool:
    return any(made.decision_id == settlement.decision_id for made in case.decisions)


def _settlement(case: ReceiptCase, decision: Decision, *, contested: bool) -> Settlement:
    receipt = case.open.receipt
    # A contest may come to what was decided before; it is another decision, of another settlement.
    kind = f"contest {receipt.settlements}" if contested else "decision"
    value = dumps(decision.value) if decision.resolution == "applied" else None
    content = (decision.resolution, (value or b"").decode(), decision.reference or "", decision.actor, decision.reason)
    return Settlement(
        thread_id=receipt.thread_id,
        effect_key=receipt.effect_key,
        seen_version=receipt.version if decision.expected_version is None else decision.expected_version,
        resolution=decision.resolution,
        value=value,
        reference=decision.reference,
        decision_id=decision.decision_id or derived_id(kind, receipt.receipt_id, str(receipt.attempt), *content),
        reason_code=decision.reason_code,
        reason=decision.reason,
        evidence=decision.evidence,
        actor=decision.actor,
    )


def _foretold(answer: Decides, case: ReceiptCase, resolution: Resolution) -> Consequences:
    """What the store said it would have written; who goes on is read from the case."""
    expected = consequences(case, resolution)
    return replace(
        expected,
        settlement=answer.settlement,
        state=answer.state,
        version=answer.version,
        continuation=answer.continuation or expected.continuation,
    )


def told(answer: DecideAnswer) -> Resolved | VersionChanged | Held | Refused | NotFound:
    """What the store said of a decision, in the words of every surface."""
    match answer:
        case Decides(settlement=settlement, version=version):
            return Resolved(settlement, version)
        case Held():
            return answer
        case Changed(retrying=True):
            return VersionChanged("the identical call is being repeated right now; its answer may settle it")
        case Changed(state=state, version=version):
            return VersionChanged(f"the receipt is {state} and has version {version} now")
        case Alone():
            return Refused(NotAdmitted("a contest is decided by another person than the one who opened it"))
        case Late():
            return Refused(NotAdmitted("the time in which the provider knows our key ended meanwhile"))
        case Unknown():
            return NotFound()

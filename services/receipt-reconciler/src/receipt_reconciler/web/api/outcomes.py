"""What the shared implementation answers, as the problem that it is."""

from __future__ import annotations

from intention_kernel.ports.approvals import OtherProposal
from intention_kernel.ports.queue_work import Held
from intention_kernel.reconciliation.admissible import NotAdmitted

from receipt_reconciler.web.api.problems import Code, ProblemError


def held(by: Held) -> ProblemError:
    """Another person works on it."""
    return ProblemError(
        "leased_by",
        f"{by.owner} works on it until {by.until.isoformat()}.",
        owner=by.owner,
        until=by.until.isoformat(),
    )


def other_proposal(other: OtherProposal) -> ProblemError:
    """Another decision waits."""
    return ProblemError("other_proposal", proposalId=other.proposal_id, proposer=other.proposer)


def not_admitted(verdict: NotAdmitted) -> ProblemError:
    """A rule refuses it."""
    before = None if verdict.not_before is None else verdict.not_before.isoformat()
    return ProblemError("not_admitted", sentence(verdict.reason), notBefore=before)


def invalid(problem: str, pointer: str = "") -> ProblemError:
    """It cannot be one, whatever there is; `pointer`: which part of the body."""
    return ProblemError("invalid_request", sentence(problem), errors=[{"pointer": pointer, "detail": problem}])


def sentence(text: str) -> str:
    """As a sentence."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def stale_or_conflict(seen: int, now: int) -> Code:
    """Of a receipt that is not as it was seen."""
    return "version_conflict" if seen == now else "stale_if_match"

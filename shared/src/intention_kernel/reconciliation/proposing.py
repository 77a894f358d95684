"""Pure: a decision that waits for a second person, and the hash by which that person approves exactly it (design 7)."""

from __future__ import annotations

import re

from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.ids import derived_id, random_id
from intention_kernel.ports.approvals import NewProposal, Proposal
from intention_kernel.ports.receipt_ledger import Settlement
from intention_kernel.reconciliation.rules import Asked

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def decision_hash(receipt_id: str, settlement: Settlement, *, workers_stopped: bool) -> str:
    """64 hex digits that are equal exactly where the decision is: the receipt and its version, resolution, value (as JSON is
    equal: the order of members and the spelling of numbers are not part of it), reference, reason, reason code, evidence,
    whether its proposer states that the workers are stopped, and who proposes.

    Not bound is what changes nothing about what is written: the ids of proposal and decision, and until when "not applied" is
    admitted, which is judged again at the approval. Of text, what no store can hold counts as U+FFFD.
    """
    bound: dict[str, JsonValue] = {
        "receiptId": receipt_id,
        "version": settlement.seen_version,
        "resolution": settlement.resolution,
        "value": None if settlement.value is None else [loads(settlement.value)],
        "reference": _stored(settlement.reference),
        "reason": _stored(settlement.reason),
        "reasonCode": _stored(settlement.reason_code),
        "evidence": _stored(settlement.evidence),
        "workersStopped": workers_stopped,
        "proposer": _stored(settlement.actor),
    }
    return digest(bound).hex()


def is_what_it_was(proposal: Proposal) -> bool:
    """Whether what is stored is what was hashed."""
    bound = decision_hash(proposal.receipt_id, proposal.settlement, workers_stopped=proposal.workers_stopped)
    return bound == proposal.decision_hash


def new_proposal(
    receipt_id: str, settlement: Settlement, asked: Asked, *, workers_stopped: bool, call_id: str | None
) -> NewProposal:
    """The decision as a proposal. A caller's id of the decision is one proposal however often it comes; without one it is known
    by its content while it is open, and may be proposed again after that."""
    proposal_id = random_id().hex if call_id is None else derived_id("proposal", receipt_id, call_id)
    return NewProposal(
        proposal_id=proposal_id,
        receipt_id=receipt_id,
        settlement=settlement,
        workers_stopped=workers_stopped,
        decision_hash=decision_hash(receipt_id, settlement, workers_stopped=workers_stopped),
        rules=asked.names,
        expires_seconds=asked.expires_seconds,
    )


def _stored(text: str | None) -> str | None:
    return None if text is None else _UNSTORABLE.sub("\ufffd", text)

"""Rows of the approvals' statements as values, and values as parameters."""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg

from intention_kernel.ports.approvals import (
    ApprovalRule,
    ApproveAnswer,
    HashDiffers,
    NewProposal,
    NoSuchProposal,
    NotOpen,
    OtherProposal,
    Proposal,
    SelfApproval,
)
from intention_kernel.ports.operator_queue import Decides
from intention_kernel.ports.queue_work import Held, IdTaken
from intention_kernel.ports.receipt_ledger import Changed, Late, Settlement, Unknown
from intention_kernel.postgres import reconciliation_rows as rows
from intention_kernel.postgres.packing import unpack
from intention_kernel.postgres.text import clean, clean_or_none

_SETS = ("effects", "tenants", "classes", "resolutions")


def rule(row: asyncpg.Record) -> ApprovalRule:
    """A row of approval_rules.sql."""
    sets = {name: None if row[name] is None else frozenset(row[name]) for name in _SETS}
    return ApprovalRule(**dict(row) | sets)


def rule_columns(one: ApprovalRule) -> tuple[object, ...]:
    """The parameters of approval_rule_set.sql, but for who does it."""
    return (
        clean(one.rule_id),
        *map(_listed, (one.effects, one.tenants, one.classes, one.resolutions)),
        one.least_amount,
        clean_or_none(one.currency),
        one.window_closed,
        one.expires_seconds,
        one.enabled,
    )


def _listed(words: Iterable[str] | None) -> list[str] | None:
    return None if words is None else sorted(map(clean, words))


def proposal_columns(proposal: NewProposal) -> tuple[object, ...]:
    """The parameters of approval_propose.sql, but for the last."""
    settlement = proposal.settlement
    return (
        clean(proposal.proposal_id),
        proposal.decision_hash,
        list(proposal.rules),
        proposal.expires_seconds,
        proposal.workers_stopped,
        settlement.thread_id,
        settlement.effect_key,
        settlement.seen_version,
        *rows.settlement_columns(settlement),
        settlement.not_after,
    )


def proposal(row: asyncpg.Record) -> Proposal:
    """A row of approval_proposal.sql and its like."""
    return Proposal(
        proposal_id=row["proposal_id"],
        receipt_id=row["receipt_id"],
        settlement=_settlement(row),
        workers_stopped=row["workers_stopped"],
        decision_hash=row["decision_hash"],
        rules=tuple(row["rules"]),
        proposer=row["proposer"],
        proposed_at=row["proposed_at"],
        expires_at=row["expires_at"],
        state=row["state_now"],
        closed_by=row["closed_by"],
        closed_at=row["closed_at"],
        closing_reason=row["closing_reason"],
        tenant_id=row["tenant_id"],
        effect_id=row["effect_id"],
        summary=rows.summary_of(row),
    )


def _settlement(row: asyncpg.Record) -> Settlement:
    return Settlement(
        thread_id=row["thread_id"],
        effect_key=row["effect_key"],
        seen_version=row["seen_version"],
        resolution=row["resolution"],
        value=None if row["value"] is None else unpack(row["value"]),
        reference=row["reference"],
        decision_id=row["decision_id"],
        reason_code=row["reason_code"],
        reason=_exactly(row["reason"]),
        evidence=None if row["evidence"] is None else _exactly(row["evidence"]),
        actor=row["proposer"],
    )


def _exactly(stored: bytes) -> str:
    """What `rows.raw` was given: the hash of a decision is made of its words."""
    return stored.decode("utf-8", "surrogatepass")


def propose_answer(row: asyncpg.Record) -> OtherProposal | Decides | IdTaken | Held | Changed | Late | Unknown:
    """What propose_decision_v1 said, where nothing was kept."""
    match row["outcome"]:
        case "would_propose":
            return Decides(row["settlement"], row["state"], row["version"], row["continuation"])
        case "other":
            return OtherProposal(row["proposal_id"], row["proposer"])
        case "id_taken":
            return IdTaken()
        case "held":
            return Held(row["owner"], row["until"])
        case "late":
            return Late()
        case "not_found":
            return Unknown()
        case outcome:
            return Changed(row["state"], row["version"], retrying=outcome == "retrying")


def approve_answer(row: asyncpg.Record) -> ApproveAnswer:
    """What approve_proposal_v1 said."""
    match row["outcome"]:
        case "settled":
            return Decides(row["settlement"], row["state"], row["version"], row["continuation"])
        case "no_proposal" | "not_found":
            return NoSuchProposal()
        case "not_open":
            return NotOpen(row["state"])
        case "hash_differs":
            return HashDiffers()
        case "self":
            return SelfApproval()
        case "held":
            return Held(row["owner"], row["until"])
        case "late":
            return Late()
        case outcome:
            return Changed(row["state"], row["version"], retrying=outcome == "retrying")

"""The operator queue as JSON documents, the same on every surface; members are camelCase."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from decimal import Decimal

from pydantic.alias_generators import to_camel

from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.receipt import Summary
from intention_kernel.ports.approvals import ApprovalRule, Proposal
from intention_kernel.ports.operator_queue import QueueItem
from intention_kernel.ports.queue_work import AuditLine, Written
from intention_kernel.reconciliation.admissible import Admitted, Verdict
from intention_kernel.reconciliation.consequences import Consequences
from intention_kernel.reconciliation.showing import Shown


def item_document(item: QueueItem) -> dict[str, JsonValue]:
    """One line of the queue."""
    members = {name: value for name, value in asdict(item).items() if name not in ("summary", "now")}
    return {**_document(members), **_summary(item.summary), "ageSeconds": (item.now - item.opened_at).total_seconds()}


def shown_document(shown: Shown) -> dict[str, JsonValue]:
    """A receipt's whole story, and what may be decided about it now."""
    case = shown.case
    receipt = {
        name: value for name, value in asdict(case.open.receipt).items() if name not in ("summary", "payload", "value")
    }
    return {
        **_document(receipt),
        **_summary(case.open.receipt.summary),
        # What an application wrote stays as it wrote it.
        "payload": case.open.receipt.payload,
        "value": case.open.receipt.value,
        "attempts": _document(asdict(case.open.attempts)),
        "workersStoppedAt": _json(case.workers_stopped_at),
        "items": [_document(asdict(item)) for item in case.items],
        "observations": [
            {**_document({name: value for name, value in asdict(seen).items() if name != "value"}), "value": seen.value}
            for seen in case.observations
        ],
        "decisions": [_document(asdict(decision)) for decision in case.decisions],
        "transitions": [_document(asdict(transition)) for transition in case.transitions],
        "blockedTurns": list(case.blocked_turns),
        "work": _document(asdict(case.work)),
        "notes": [note_document(note) for note in case.notes],
        "audit": [audit_document(line) for line in case.audit],
        "mayDecide": {
            "applied": {"admitted": shown.choices.applied is None, "reason": shown.choices.applied},
            "notApplied": verdict_document(shown.choices.not_applied),
            "notAppliedWithWorkersStopped": verdict_document(shown.choices.with_workers_stopped),
            "secondPerson": {
                "applied": list(shown.choices.applied_rules),
                "notApplied": list(shown.choices.not_applied_rules),
            },
        },
        "willHappen": {
            "applied": consequences_document(shown.if_applied),
            "notApplied": consequences_document(shown.if_not_applied),
        },
        "keyWindow": shown.key_window.state,
        "keyClosesAt": _json(shown.key_window.closes_at),
        "proposal": None if shown.proposal is None else proposal_document(shown.proposal),
    }


def consequences_document(follows: Consequences) -> dict[str, JsonValue]:
    """What follows from a decision."""
    members = {name: value for name, value in asdict(follows).items() if name != "turns"}
    return {**_document(members), "turns": list(follows.turns)}


def proposal_document(proposal: Proposal) -> dict[str, JsonValue]:
    """A decision that waits for a second person, or did. `expectedVersion` is the receipt's that it is about."""
    settlement = proposal.settlement
    members = {
        name: value for name, value in asdict(proposal).items() if name not in ("settlement", "rules", "summary")
    }
    return {
        **_document(members),
        **_summary(proposal.summary),
        "threadId": settlement.thread_id,
        "effectKey": settlement.effect_key,
        "rules": list(proposal.rules),
        "expectedVersion": settlement.seen_version,
        "resolution": settlement.resolution,
        "value": None if settlement.value is None else loads(settlement.value),
        "reference": settlement.reference,
        "reason": settlement.reason,
        "reasonCode": settlement.reason_code,
        "evidence": settlement.evidence,
        "decisionId": settlement.decision_id,
    }


def rule_document(rule: ApprovalRule) -> dict[str, JsonValue]:
    """A rule; what it says nothing of is null, and means any."""
    sets: dict[str, JsonValue] = {
        name: None if words is None else [*sorted(words)]
        for name, words in (
            ("effects", rule.effects),
            ("tenants", rule.tenants),
            ("classes", rule.classes),
            ("resolutions", rule.resolutions),
        )
    }
    members = {name: value for name, value in asdict(rule).items() if name not in sets}
    return {**_document(members), **sets}


def note_document(note: Written) -> dict[str, JsonValue]:
    """A comment or evidence."""
    return _document(asdict(note))


def audit_document(line: AuditLine) -> dict[str, JsonValue]:
    """One line of the audit log."""
    members = {name: value for name, value in asdict(line).items() if name != "detail"}
    return {**_document(members), "detail": line.detail}


def verdict_document(verdict: Verdict) -> dict[str, JsonValue]:
    """Whether "not applied" is admitted, and why."""
    if isinstance(verdict, Admitted):
        return {"admitted": True, "reason": verdict.reason, "notAfter": _json(verdict.not_after)}
    return {"admitted": False, "reason": verdict.reason, "notBefore": _json(verdict.not_before)}


def _summary(summary: Summary) -> dict[str, JsonValue]:
    return _document(asdict(summary))


def _document(members: dict[str, object]) -> dict[str, JsonValue]:
    return {to_camel(name): _json(value) for name, value in members.items()}


def _json(value: object) -> JsonValue:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a document")

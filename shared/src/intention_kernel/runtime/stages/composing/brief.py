"""The brief: a turn as the composing and the reviewing model read it, and what is delivered beside it (contract 3.13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from intention_kernel.agent.results import Completed
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.composing.canonical import Copy
from intention_kernel.runtime.stages.composing.claims import DECISION_EVIDENCE
from intention_kernel.runtime.stages.composing.decision import Decision, decide
from intention_kernel.runtime.stages.composing.delivery import Delivery, build_delivery
from intention_kernel.runtime.stages.composing.evidence import EvidenceContents, evidence_of, result_evidence
from intention_kernel.runtime.stages.composing.told import issue_evidence, issues_of, notice_of_settled
from intention_kernel.runtime.stages.context.projection import projection_of
from intention_kernel.runtime.stages.outcomes import StepIssue, StepOutcome
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

Data = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Brief:
    """`document` is JSON for models: redacted, without anything private. `delivery` never goes to one.

    `evidence_ids` are the original ids by the ones that models read, which may be redacted.
    """

    document: Mapping[str, JsonValue]
    delivery: Delivery
    redactions: Redactions
    evidence_ids: Mapping[str, tuple[str, ...]]


def build_brief(turn: TurnOutcome) -> Brief:
    """A pure function of the turn."""
    decision = decide(turn)
    evidence = evidence_of(turn, decision)
    delivery = build_delivery(turn, decision, frozenset(evidence))
    document = turn.redactions.value(_document(turn, decision, evidence, delivery))
    ids: dict[str, tuple[str, ...]] = {}
    for evidence_id in evidence:
        shown = turn.redactions.text(evidence_id)
        ids[shown] = (*ids.get(shown, ()), evidence_id)
    return Brief(cast("Data", document), delivery, turn.redactions, ids)


def _document(turn: TurnOutcome, decision: Decision, evidence: EvidenceContents, delivery: Delivery) -> Data:
    """What is not there is absent."""
    projection = _projection(turn)
    optional: Data = {
        "settlement": _settlement(turn),
        "interaction": projection.get("interaction"),
        "requiredQuestion": delivery.requirements.goal,
        "requiredResponses": [_copy(copy) for copy in delivery.requirements.required] or None,
        "canonicalFallback": _copy(delivery.canonical) if delivery.canonical is not None else None,
    }
    always: Data = {
        "responseGoal": "; ".join(dict.fromkeys(plan.response_goal for plan in turn.plans if plan.response_goal)),
        "conversation": _conversation(turn, projection),
        "decision": _decision(decision),
        "modelGuidance": projection["selectedModelGuidancePolicies"],
        "completed": [_completed(outcome, result, evidence) for outcome, result in turn.completed],
        "capabilities": [{"id": c.id, "description": c.description} for c in turn.snapshot.capabilities],
        "pending": projection["agenda"],
        "issues": [_issue(entry) for entry in issues_of(turn)],
        "allowedActions": list(decision.capability_ids),
        "facts": _facts(projection, evidence),
        "evidence": [{"id": evidence_id, "content": content} for evidence_id, content in evidence.items()],
        "artifacts": [{"id": a.id, "kind": a.kind, "data": a.data} for a in delivery.artifacts],
    }
    return always | {name: member for name, member in optional.items() if member is not None}


def _projection(turn: TurnOutcome) -> Data:
    """The context's projection over the new state: what is private stays so by the same rules."""
    view = turn.snapshot.view
    after = replace(view, state=replace(turn.state, messages=view.state.messages))
    return projection_of(after, turn.snapshot.guidance, turn.redactions)[0]


def _conversation(turn: TurnOutcome, projection: Data) -> Data:
    """In a continuation nobody has said anything now."""
    conversation = cast("Data", projection["conversation"]) | {
        "agentIdentity": turn.snapshot.view.agent.definition.identity
    }
    if turn.settled is not None:
        return conversation
    return conversation | {"currentMessage": cast("Data", projection["currentMessage"])["content"]}


def _decision(decision: Decision) -> Data:
    return {
        "evidenceId": DECISION_EVIDENCE,
        "mode": decision.mode,
        "capabilityIds": list(decision.capability_ids),
        "rationale": decision.rationale,
        "evidence": [
            {"text": said.text, "meaning": said.meaning, "messageIndex": said.message_index}
            for said in decision.evidence
        ],
    }


def _completed(outcome: StepOutcome, result: Completed, evidence: EvidenceContents) -> Data:
    own = (result_evidence(outcome.step.id), *(record.id for record in result.evidence if record.id in evidence))
    return {
        "stepId": outcome.step.id,
        "capabilityId": outcome.step.capability_id,
        "objective": outcome.step.intention.objective,
        "output": cast("JsonValue", result.output),
        "evidenceIds": list(own),
    }


def _issue(entry: StepIssue) -> Data:
    issue = entry.issue
    shown: Data = {
        "stepId": entry.step_id,
        "code": issue.code,
        "message": issue.message,
        "retryable": issue.retryable,
        "evidenceId": issue_evidence(issue.code),
    }
    return shown if issue.details is None else shown | {"details": issue.details}


def _facts(projection: Data, evidence: EvidenceContents) -> list[JsonValue]:
    """Their evidence is in the list of all evidence, or nowhere."""
    shown = []
    for fact in cast("list[Data]", projection["facts"]):
        cited = [name for name in cast("list[str]", fact.get("evidenceIds", [])) if name in evidence]
        shown.append({name: member for name, member in fact.items() if name != "evidence"} | {"evidenceIds": cited})
    return cast("list[JsonValue]", shown)


def _settlement(turn: TurnOutcome) -> JsonValue:
    settled = notice_of_settled(turn)
    return {"evidenceId": settled.receipt_id, "message": settled.text} if settled is not None else None


def _copy(copy: Copy) -> JsonValue:
    claims: list[JsonValue] = [{"text": claim.text, "evidenceIds": list(claim.evidence_ids)} for claim in copy.claims]
    return {"message": copy.message, "claims": claims}

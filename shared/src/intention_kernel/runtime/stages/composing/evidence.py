"""What an answer may rest on, as models may read it: facts, and evidence by id (contract 2.12 and 3.13)."""

from __future__ import annotations

from collections.abc import Mapping

from intention_kernel.contracts.facts import EvidenceRecord
from intention_kernel.runtime.stages.composing.claims import DECISION_EVIDENCE
from intention_kernel.runtime.stages.composing.decision import Decision
from intention_kernel.runtime.stages.composing.told import (
    issue_evidence,
    issues_of,
    notice_of_settled,
    notices_of_blocked,
)
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

AGENT_EVIDENCE = "agent.configuration"

EvidenceContents = Mapping[str, str]
"""What models read of each piece of evidence, by id."""


def result_evidence(step_id: str) -> str:
    """The id under which the output of a completed step can be cited."""
    return f"result:{step_id}"


def evidence_of(turn: TurnOutcome, decision: Decision) -> EvidenceContents:
    """Each id once, the first record counts; what a fact hides from models is not in it."""
    contents: dict[str, str] = {
        AGENT_EVIDENCE: "Who the agent is and what it can do, as the brief says.",
        DECISION_EVIDENCE: decision.rationale,
    }
    for entry in issues_of(turn):
        evidence_id = issue_evidence(entry.issue.code)
        contents[evidence_id] = "\n".join(filter(None, (contents.get(evidence_id), entry.issue.message)))
    for notice in (*notices_of_blocked(turn), notice_of_settled(turn)):
        if notice is not None:
            contents.setdefault(notice.receipt_id, notice.text)
    for outcome, _ in turn.completed:
        contents[result_evidence(outcome.step.id)] = f"The output of completed step {outcome.step.id}, in the brief."
    return contents | {name: text for name, text in _recorded(turn).items() if name not in contents}


def _records(turn: TurnOutcome) -> tuple[EvidenceRecord, ...]:
    now = (record for _, result in turn.completed for record in result.evidence)
    stored = (record for fact in turn.state.facts.values() for record in fact.evidence)
    return (*now, *stored)


def _recorded(turn: TurnOutcome) -> dict[str, str]:
    """Evidence of results and facts. A capability may cite in its public words what also supports a fact that models may
    not read: then those words are all that is shown of it."""
    contents: dict[str, str] = {}
    for record in _records(turn):
        contents.setdefault(record.id, record.content)
    cited: dict[str, list[str]] = {}
    for _, result in turn.completed:
        for claim in result.canonical_response.claims if result.canonical_response is not None else ():
            for evidence_id in claim.evidence_ids:
                cited.setdefault(evidence_id, []).append(claim.text)
    for evidence_id in _hidden_ids(turn) & contents.keys():
        if evidence_id in cited:
            contents[evidence_id] = "\n".join(cited[evidence_id])
        else:
            del contents[evidence_id]
    return contents


def _hidden_ids(turn: TurnOutcome) -> set[str]:
    """Evidence of facts that models may not read: of this turn's, whatever became of them, and of those before and after."""
    ids: set[str] = set()
    for facts in (turn.snapshot.view.state.facts, turn.state.facts):
        for fact in facts.values():
            if fact.model_visibility != "full":
                ids.update(fact.evidence_ids, (record.id for record in fact.evidence))
    for outcome, result in turn.completed:
        capability = turn.snapshot.view.agent.capabilities.get(outcome.step.capability_id or "")
        declared = capability.definition.provides if capability is not None else ()
        private = {fact.reference.key for fact in declared if fact.model_visibility != "full"}
        ids.update(*(fact.evidence_ids for fact in result.facts if fact.key in private))
    return ids

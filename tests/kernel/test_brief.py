"""The brief: what models are told of a turn, and what they never are (contract 3.13, G3, G6)."""

from __future__ import annotations

from typing import cast

import pytest
from intention_kernel.agent.capability import FactDeclaration
from intention_kernel.agent.results import (
    Artifact,
    CanonicalResponse,
    CapabilityIssue,
    Completed,
    Failed,
    ResponseClaim,
)
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import EvidenceRecord, FactCandidate, FactRecord, ModelVisibility, Producer
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.runtime.stages.composing.blocked import settled_text
from intention_kernel.runtime.stages.composing.brief import build_brief
from intention_kernel.runtime.stages.composition import Composition
from intention_kernel.runtime.stages.outcomes import StepIssue
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

from tests.support.kernel import agent, capability
from tests.support.turn_outcomes import blocked, done, ended, question, settled, step, turn


def document(outcome: TurnOutcome) -> dict[str, JsonValue]:
    return dict(build_brief(outcome).document)


def text_of(outcome: TurnOutcome) -> str:
    return dumps(document(outcome)).decode()


def evidence(outcome: TurnOutcome) -> dict[str, str]:
    entries = cast("list[dict[str, str]]", document(outcome)["evidence"])
    return {entry["id"]: entry["content"] for entry in entries}


def fact(visibility: ModelVisibility, fact_type: str = "guest", value: JsonValue = "Jane Doe") -> FactRecord:
    return FactRecord(
        type=fact_type,
        value=value,
        evidence_ids=(f"e-{fact_type}",),
        produced_by=Producer(capability_id="hotel.find", capability_version=1, turn_id="t", step_id="s"),
        evidence=(EvidenceRecord(id=f"e-{fact_type}", source="external", content=f"the register says {value}"),),
        model_visibility=visibility,
        model_redactions=("private-redaction",),
    )


def item(item_id: str = "agenda:1") -> AgendaItem:
    intention = IntentionRequest(
        id="i", objective="book a room", resolution="resolved", proposed_capability="hotel.book"
    )
    return AgendaItem(
        id=item_id,
        intention=intention,
        status="waiting_input",
        capability_id="hotel.book",
        continuation={"secret": "private-continuation"},
        model_redactions=("private-redaction",),
        interaction=question("private-question"),
    )


def test_the_brief_tells_what_was_done_what_waits_and_what_failed() -> None:
    shown = question("Which date?", payload={"a": 1})
    outcome = turn(
        done("a", output={"rooms": 2}),
        planned=[step("c", "hotel.book", "reject", "POLICY_DENIED", "Not for guests.")],
        agenda=(item(),),
        before=shown,
        shown=shown,
        issues=(StepIssue("b", CapabilityIssue("FULL", "Full.", retryable=True, details={"until": "May"})),),
        text="two rooms please",
    )
    brief = document(outcome)
    assert brief["completed"] == [
        {
            "stepId": "a",
            "capabilityId": "hotel.find",
            "objective": "objective of a",
            "output": {"rooms": 2},
            "evidenceIds": ["result:a", "evidence-a"],
        }
    ]
    assert [dict(entry)["code"] for entry in cast("list[dict[str, str]]", brief["issues"])] == ["FULL", "POLICY_DENIED"]
    assert cast("list[dict[str, JsonValue]]", brief["issues"])[0]["details"] == {"until": "May"}
    assert cast("list[dict[str, JsonValue]]", brief["pending"])[0].keys() == {"id", "intention", "status"}
    assert cast("dict[str, JsonValue]", brief["interaction"])["goal"] == "Which date?"
    assert cast("dict[str, JsonValue]", brief["conversation"])["currentMessage"] == "two rooms please"
    assert cast("dict[str, JsonValue]", brief["conversation"])["agentIdentity"] == "A helpful agent."
    assert brief["allowedActions"] == ["hotel.find"]
    assert set(evidence(outcome)) == {
        "agent.configuration",
        "turn.decision",
        "issue:FULL",
        "issue:POLICY_DENIED",
        "result:a",
        "evidence-a",
    }


def test_private_members_of_the_agenda_and_of_questions_are_in_no_brief() -> None:
    shown = question(protected_canonical_message="private-link")
    outcome = turn(done("a"), agenda=(item(),), before=shown, shown=shown, facts={"guest@1": fact("full")})
    assert "private-" not in text_of(outcome)


DECISIONS: list[tuple[str, TurnOutcome, str]] = [
    ("something was done", turn(done("a")), "selected"),
    ("a question is asked for it", turn(planned=[step("a", "hotel.book", "defer")]), "selected"),
    ("done and given up", turn(done("a"), cancelled=("agenda:1",)), "selected_with_control"),
    ("given up", turn(cancelled=("agenda:1",)), "control"),
    ("refused", turn(planned=[step("a", "hotel.book", "reject", "POLICY_DENIED")]), "no_match"),
    ("not understood", turn(planned=[step("a", None, "clarify", "AMBIGUOUS_INTENTION")]), "no_match"),
    ("nothing matched", turn(mode="no_match"), "no_match"),
    (
        "nothing matched, but the question was answered",
        turn(mode="no_match", answer=InteractionAnswer(interaction_id="q-1", value=1)),
        "conversational",
    ),
    ("small talk", turn(), "conversational"),
    ("the model said selected, the plan has nothing", turn(mode="selected"), "conversational"),
]


@pytest.mark.parametrize(("row", "outcome", "mode"), DECISIONS, ids=[row[0] for row in DECISIONS])
def test_the_decision_comes_from_the_final_batch_and_plan(row: str, outcome: TurnOutcome, mode: str) -> None:
    """G3, G15: not from what a model said when it selected."""
    assert cast("dict[str, JsonValue]", document(outcome)["decision"])["mode"] == mode


@pytest.mark.parametrize(("visibility", "shown"), [("full", True), ("presence", False), ("hidden", False)])
def test_evidence_of_facts_that_models_may_not_read_is_withheld(visibility: ModelVisibility, shown: bool) -> None:
    """3.13; a fact that was there before the turn counts too."""
    facts = {"guest@1": fact(visibility)}
    for outcome in (turn(done("a"), facts=facts), turn(facts=facts)):
        assert ("Jane Doe" in text_of(outcome)) is shown
        assert ("e-guest" in text_of(outcome)) is shown
    present = cast("list[dict[str, JsonValue]]", document(turn(facts=facts))["facts"])
    assert [entry["value"] for entry in present] == {"full": ["Jane Doe"], "presence": [{"available": True}]}.get(
        visibility, []
    )


def test_evidence_of_a_hidden_fact_of_this_turn_is_withheld_though_the_fact_is_gone_again() -> None:
    compiled = agent(capability("hotel.find", provides=(FactDeclaration("guest", model_visibility="hidden"),)))
    record = EvidenceRecord(id="e-guest", source="external", content="Jane Doe")
    result = Completed(
        output={}, facts=(FactCandidate(type="guest", value="Jane Doe", evidence_ids=("e-guest",)),), evidence=(record,)
    )
    outcome = turn(ended("a", result), compiled=compiled)
    assert "Jane Doe" not in text_of(outcome)
    assert "e-guest" not in text_of(outcome)


def test_public_words_may_cite_evidence_of_a_hidden_fact_and_show_nothing_else_of_it() -> None:
    record = EvidenceRecord(id="e-guest", source="external", content="Jane Doe, born 1970")
    words = CanonicalResponse(
        "You are known here.", (ResponseClaim("You are known here.", ("e-guest",)),), required=True
    )
    hidden = {"guest@1": fact("hidden")}
    outcome = turn(
        ended("a", Completed(output={}, evidence=(record,), canonical_response=words)), done("b"), facts=hidden
    )
    assert evidence(outcome)["e-guest"] == "You are known here."
    assert "Jane" not in text_of(outcome)


def test_redacted_strings_are_nowhere_in_a_brief_and_cited_ids_lead_back_to_their_own() -> None:
    outcome = turn(done("Jane Doe", output={"name": "Jane Doe"}), redacted=["Jane Doe"], text="I am Jane Doe")
    brief = build_brief(outcome)
    assert "Jane Doe" not in dumps(dict(brief.document)).decode()
    assert brief.evidence_ids["evidence-[redacted]"] == ("evidence-Jane Doe",)


def test_required_words_and_the_question_are_named_in_the_brief() -> None:
    """G6, G9: only results of this turn make a duty."""
    shown = question()
    outcome = turn(done("a", "Paid.", required=True), done("b"), before=shown, shown=shown)
    brief = document(outcome)
    assert brief["requiredResponses"] == [
        {"message": "Paid.", "claims": [{"text": "Paid.", "evidenceIds": ["evidence-a"]}]}
    ]
    assert brief["requiredQuestion"] == "Which date?"
    later = document(turn(done("b"), before=shown, shown=shown))
    assert "requiredResponses" not in later
    assert "requiredQuestion" not in later


def test_a_blocked_step_is_an_issue_and_its_sentence_is_required_with_the_receipt_as_evidence() -> None:
    """R32."""
    outcome = turn(blocked("a", "r-1"), done("b"), issues=(StepIssue("a", CapabilityIssue("OTHER", "other")),))
    brief = document(outcome)
    assert [entry["code"] for entry in cast("list[dict[str, str]]", brief["issues"])] == ["EFFECT_UNCERTAIN"]
    required = cast("list[dict[str, JsonValue]]", brief["requiredResponses"])
    assert cast("list[dict[str, JsonValue]]", required[0]["claims"])[0]["evidenceIds"] == ["r-1"]
    assert "r-1" in evidence(outcome)


def test_artifacts_of_all_completed_steps_are_shown_with_the_answer() -> None:
    card = Artifact("card", "hotel.card", {"room": 7})
    brief = build_brief(turn(ended("a", Completed(output={}, artifacts=(card,))), done("b")))
    assert brief.delivery.artifacts == (card,)
    assert brief.document["artifacts"] == [{"id": "card", "kind": "hotel.card", "data": {"room": 7}}]


def test_the_history_that_models_read_has_no_protected_text() -> None:
    shown = question(protected_canonical_message="https://pay/secret")
    answer = Composition("Pay: https://pay/secret", "canonical", grounded=True, interaction=shown)
    assert answer.model_text == "Pay: [redacted]"
    assert "protectedCanonicalMessage" not in cast("dict[str, JsonValue]", answer.response(blocked=False).interaction)


def test_evidence_that_a_hidden_fact_shares_is_not_shown_with_another_fact_either() -> None:
    shared = fact("full", "room", 7).model_copy(
        update={
            "evidence_ids": ("e-guest",),
            "evidence": (EvidenceRecord(id="e-guest", source="external", content="Jane Doe has room 7"),),
        }
    )
    outcome = turn(done("a"), facts={"guest@1": fact("hidden"), "room@1": shared})
    assert "Jane Doe" not in text_of(outcome)
    assert [entry["evidenceIds"] for entry in cast("list[dict[str, JsonValue]]", document(outcome)["facts"])] == [[]]


def test_a_continuation_whose_step_fails_has_to_tell_the_outcome_of_the_effect_too() -> None:
    """Protocol R30."""
    issue = CapabilityIssue("EFFECT_NOT_APPLIED", "No stock.")
    outcome = turn(ended("a", Failed(issue)), issues=(StepIssue("a", issue),), settlement=settled("failed"))
    required = cast("list[dict[str, JsonValue]]", document(outcome)["requiredResponses"])
    assert [copy["message"] for copy in required] == [settled_text("the booking", "r-1", "failed")]

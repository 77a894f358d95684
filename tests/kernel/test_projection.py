"""What models see of a turn (contract 2.3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest
from intention_kernel.contracts.agenda import AgendaItem, FrozenStep, MissingFact
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.facts import EvidenceRecord, FactRecord, FactReference, ModelVisibility, Producer
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.context.context import build_context
from intention_kernel.runtime.stages.redactions import REDACTED
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import TurnView

from tests.support.kernel import AT, agent, capability, view

ONE = agent(capability("hotel.find"), recent_messages=2)
PRODUCER = Producer(capability_id="hotel.find", capability_version=1, turn_id="t", step_id="s")
INTENTION = IntentionRequest(id="i", objective="Book for Anna Smith", resolution="resolved")


def messages(count: int, first: int = 0) -> list[dict[str, JsonValue]]:
    return [
        {"role": "user", "text": f"message {index}", "turnId": "t", "at": "2026-01-01T00:00:00Z", "index": index}
        for index in range(first, first + count)
    ]


def projected(turn: TurnView) -> dict[str, JsonValue]:
    built = build_context(turn)
    assert isinstance(built, ContextSnapshot)
    return dict(built.projection)


def fact(visibility: ModelVisibility = "full", *, redactions: tuple[str, ...] = ()) -> FactRecord:
    return FactRecord(
        type="guest",
        value={"name": "Anna Smith"},
        produced_by=PRODUCER,
        evidence_ids=("e1",),
        evidence=(EvidenceRecord(id="e1", source="user", content="I am Anna Smith", data={"raw": "kept"}),),
        depends_on=(FactReference(type="booking"),),
        model_visibility=visibility,
        model_redactions=redactions,
    )


def test_only_the_recent_messages_are_shown_and_the_others_are_counted() -> None:
    shown = projected(view(ONE, "now", messages=messages(3, first=40)))
    assert shown["conversation"] == {
        "recentMessages": [
            {"role": "user", "content": "message 41", "at": "2026-01-01T00:00:00Z", "index": 41},
            {"role": "user", "content": "message 42", "at": "2026-01-01T00:00:00Z", "index": 42},
        ],
        "totalMessages": 43,
    }
    assert shown["currentMessage"] == {"role": "user", "content": "now", "at": rfc3339(AT), "index": 43}
    assert shown["omissions"] == [
        {"path": "conversation.messages", "reason": "only the most recent messages are shown", "omitted": 41}
    ]


def test_an_agent_may_show_no_message_but_the_current_one() -> None:
    shown = projected(view(agent(capability("hotel.find"), recent_messages=0), messages=messages(2)))
    assert shown["conversation"] == {"recentMessages": [], "totalMessages": 2}


def test_a_message_that_holds_a_text_for_the_user_alone_is_shown_in_its_other_words() -> None:
    spoken: dict[str, JsonValue] = {**messages(1)[0], "text": "Your code is 4711", "modelText": "Your code was given."}
    shown = projected(view(ONE, messages=[spoken]))
    conversation = cast("dict[str, list[dict[str, JsonValue]]]", shown["conversation"])
    assert conversation["recentMessages"][0]["content"] == "Your code was given."


def test_a_visible_fact_is_shown_with_evidence_and_provenance_and_without_what_the_host_keeps() -> None:
    assert projected(view(ONE, facts={"guest@1": fact()}))["facts"] == [
        {
            "type": "guest",
            "value": {"name": "Anna Smith"},
            "modelVisibility": "full",
            "evidenceIds": ["e1"],
            "dependsOn": [{"type": "booking"}],
            "producedBy": {"capabilityId": "hotel.find", "capabilityVersion": 1, "turnId": "t", "stepId": "s"},
            "evidence": [{"id": "e1", "source": "user", "content": "I am Anna Smith"}],
        }
    ]


@pytest.mark.parametrize(
    ("visibility", "shown", "omission"),
    [
        ("hidden", [], "facts"),
        ("presence", [{"value": {"available": True}, "evidenceIds": [], "evidence": []}], "facts.value"),
    ],
)
def test_a_fact_shows_no_more_than_it_was_declared_to(
    visibility: ModelVisibility, shown: list[dict[str, JsonValue]], omission: str
) -> None:
    projection = projected(view(ONE, facts={"guest@1": fact(visibility)}))
    facts = cast("list[dict[str, JsonValue]]", projection["facts"])
    assert [{name: f[name] for name in ("value", "evidenceIds", "evidence")} for f in facts] == shown
    omissions = cast("list[dict[str, JsonValue]]", projection["omissions"])
    assert [(o["path"], o["omitted"]) for o in omissions] == [(omission, 1)]


def test_an_agenda_item_shows_its_public_members_and_nothing_else() -> None:
    item = AgendaItem(
        id="agenda:1",
        intention=INTENTION,
        status="waiting_facts",
        missing_facts=(MissingFact(type="guest", description="who stays"),),
        dependencies=("agenda:0",),
        capability_id="hotel.book",
        continuation={"private": 1},
        frozen=FrozenStep(
            step_id="s", capability_id="c", capability_version=1, intention=INTENTION, input={"private": 1}
        ),
    )
    assert projected(view(ONE, agenda=(item,)))["agenda"] == [
        {
            "id": "agenda:1",
            "intention": {"id": "i", "objective": "Book for Anna Smith", "resolution": "resolved"},
            "status": "waiting_facts",
            "missingFacts": [{"type": "guest", "description": "who stays"}],
            "dependencies": ["agenda:0"],
        }
    ]


def question(**members: object) -> Interaction:
    given: dict[str, object] = {"id": "q", "kind": "choice", "goal": "Which one, Anna Smith?"}
    return Interaction.model_validate(given | members)


def test_the_open_question_is_shown_without_mode_and_protected_text() -> None:
    asked = question(
        mode="optional",
        response_mode="contextual",
        payload={"for": "models"},
        protected_canonical_message="PIN 4711",
        options=(InteractionOption(id="a", label="A", value=1, reference_examples=("first",)),),
    )
    assert projected(view(ONE, interaction=asked))["interaction"] == {
        "id": "q",
        "kind": "choice",
        "goal": "Which one, Anna Smith?",
        "options": [{"id": "a", "label": "A", "value": 1, "referenceExamples": ["first"]}],
        "payload": {"for": "models"},
    }


def test_a_protected_text_is_redacted_wherever_it_stands_while_its_question_waits() -> None:
    asked = question(protected_canonical_message="PIN 4711")
    waiting = AgendaItem(id="w", intention=INTENTION, status="waiting_input", interaction=asked)
    for turn in (
        view(ONE, "is it PIN 4711?", interaction=asked),
        view(ONE, "is it PIN 4711?", agenda=(waiting,)),
    ):
        message = cast("dict[str, JsonValue]", projected(turn)["currentMessage"])
        assert message["content"] == f"is it {REDACTED}?"


def test_an_expired_question_is_shown_and_marked() -> None:
    late = question(expires_at=rfc3339(AT - timedelta(seconds=1)))
    open_still = question(expires_at=rfc3339(AT + timedelta(seconds=1)))
    assert cast("dict[str, JsonValue]", projected(view(ONE, interaction=late))["interaction"])["expired"] is True
    assert "expired" not in cast("dict[str, JsonValue]", projected(view(ONE, interaction=open_still))["interaction"])


def test_redactions_of_facts_and_of_agenda_items_are_taken_out_of_all_of_it() -> None:
    item = AgendaItem(id="agenda:1", intention=INTENTION, status="blocked", model_redactions=("Which one",))
    turn = view(
        ONE,
        "Anna Smith here",
        messages=[{**messages(1)[0], "text": "I am Anna Smith"}],
        facts={"guest@1": fact(redactions=("Anna Smith",))},
        agenda=(item,),
        interaction=question(options=(InteractionOption(id="a", label="A", reference_examples=("Anna Smith",)),)),
    )
    text = str(projected(turn))
    assert "Anna" not in text
    assert "Which one" not in text
    assert text.count(REDACTED) >= 7


def test_what_the_host_says_and_which_models_are_asked_is_never_shown() -> None:
    compiled = agent(capability("hotel.find"), model_policy={"turn.interpret": "secret-alias"})
    turn = replace(view(compiled), tenant_id="secret-tenant", host_context={"secret-name": "secret-value"})
    assert projected(turn)["agent"] == {"id": "agent", "version": 1, "identity": "A helpful agent."}
    assert "secret-" not in str(projected(turn))

"""The table of contract 2.8: what is planned for a step by itself, in its order, and which question the plan asks."""

from __future__ import annotations

import pytest
from intention_kernel.agent.policy import Allow, Clarify, Confirm, Deny, PolicyContext, PolicyDefinition, Verdict
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.errors import PolicyContractError
from intention_kernel.runtime.stages.planning.replacement import MAX_AGENDA_ITEMS

from tests.support.kernel import agent, capability, write
from tests.support.planning import Talk, declared, question, required, wants

AMBIGUOUS = wants(None, alternatives=("fly", "take the train"), objective="go to Rome")


def verdict_of(context: PolicyContext) -> Verdict:
    """Answers what the input's note says."""
    note = context.input["note"] if isinstance(context.input, dict) else ""
    verdicts: dict[object, Verdict] = {
        "deny": Deny("not at night"),
        "clarify": Clarify(question("fixed", "choice")),
        "confirm": Confirm("it costs"),
    }
    return verdicts.get(note, Allow())


def talk() -> Talk:
    return Talk(
        agent(
            capability("weather.find"),
            capability("guest.find", provides=(declared("guest"),)),
            capability("stay.find", requires=(required("guest"),)),
            write("hotel.book"),
            write("hotel.cancel", confirmation="capability"),
            policies=(PolicyDefinition("by-note", verdict_of),),
        )
    )


@pytest.mark.parametrize(
    ("intention", "disposition", "code", "kind"),
    [
        (AMBIGUOUS, "clarify", "AMBIGUOUS_INTENTION", "clarification"),
        (wants(None), "reject", "UNSUPPORTED_INTENTION", None),
        (wants("gone.away"), "reject", "CAPABILITY_NOT_REGISTERED", None),
        (wants("weather.find", input={"note": 1}), "clarify", "INVALID_CAPABILITY_INPUT", "clarification"),
        (wants("weather.find", "deny"), "reject", "POLICY_DENIED", None),
        (wants("weather.find", "clarify"), "clarify", "POLICY_REQUIRES_CLARIFICATION", "choice"),
        (wants("stay.find"), "defer", "MISSING_REQUIRED_FACTS", "input"),
        (wants("stay.find", "confirm"), "defer", "MISSING_REQUIRED_FACTS", "input"),
        (wants("weather.find", "confirm"), "defer", "CONFIRMATION_REQUIRED", "confirmation"),
        (wants("hotel.book"), "defer", "CONFIRMATION_REQUIRED", "confirmation"),
        (wants("hotel.book", "deny"), "reject", "POLICY_DENIED", None),
        (wants("hotel.cancel"), "execute", "READY", None),
        (wants("weather.find"), "execute", "READY", None),
    ],
)
def test_a_step_gets_the_disposition_of_the_first_check_that_it_does_not_pass(
    intention: IntentionRequest, disposition: str, code: str, kind: str | None
) -> None:
    turn = talk().say(intention)
    (step,) = turn.plan.steps
    assert (step.disposition, step.reason.code) == (disposition, code)
    assert (step.question.kind if step.question else None) == kind
    assert turn.plan.interaction == step.question


@pytest.mark.parametrize(
    "owned",
    [wants("weather.find", input={"note": 1}), wants("weather.find", "clarify"), wants("weather.find", "confirm")],
)
def test_the_kernels_questions_are_their_capabilitys_and_have_an_id_of_their_own(owned: IntentionRequest) -> None:
    thread = talk()
    thread.say(owned)
    assert thread.state.interaction is not None
    assert thread.state.interaction.capability_id == "weather.find"
    assert thread.state.interaction.id.startswith("turn-1-interaction-")


def test_an_ambiguous_request_asks_which_of_its_alternatives_was_meant() -> None:
    thread = talk()
    thread.say(AMBIGUOUS)
    asked = thread.state.interaction
    assert asked is not None
    assert asked.capability_id is None
    assert [(o.id, o.label, o.value, o.target_capability_id) for o in asked.options] == [
        ("alternative-1", "fly", "fly", None),
        ("alternative-2", "take the train", "take the train", None),
    ]


def test_an_input_that_does_not_fit_is_shown_with_what_is_wrong() -> None:
    thread = talk()
    thread.say(wants("weather.find", input={"note": 1}))
    assert thread.state.interaction is not None
    payload = thread.state.interaction.payload
    assert isinstance(payload, dict)
    assert payload["proposedInput"] == {"note": 1}
    assert isinstance(payload["issues"], list)
    assert payload["issues"][0]["path"] == "/note"  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (wants("hotel.book"), wants("stay.find"), "input"),
        (wants("stay.find"), wants("weather.find", input={"note": 1}), "clarification"),
        (wants("weather.find", input={"note": 1}), wants("weather.find", "clarify"), "choice"),
        (wants("weather.find", "clarify"), AMBIGUOUS, "clarification"),
    ],
)
def test_of_several_questions_the_most_urgent_is_shown_and_the_others_wait(
    first: IntentionRequest, second: IntentionRequest, shown: str
) -> None:
    thread = talk()
    thread.say(first, second)
    assert thread.state.interaction is not None
    assert thread.state.interaction.kind == shown
    assert all(item.interaction is not None for item in thread.state.agenda)
    assert len(thread.state.agenda) == 2


def test_policies_are_asked_in_order_and_the_first_that_does_not_allow_decides() -> None:
    asked: list[str] = []

    def says(name: str, verdict: Verdict) -> PolicyDefinition:
        def evaluate(context: PolicyContext) -> Verdict:
            asked.append(name)
            return verdict

        return PolicyDefinition(name, evaluate)

    policies = (says("a", Allow()), says("b", Deny("b says no")), says("c", Confirm("never asked")))
    turn = Talk(agent(capability("weather.find"), policies=policies)).say(wants("weather.find"))
    assert asked == ["a", "b"]
    assert turn.plan.steps[0].reason.message == "b says no"


def test_a_policy_sees_the_validated_input_the_facts_and_nothing_private_of_the_agenda() -> None:
    seen: list[PolicyContext] = []

    def look(context: PolicyContext) -> Verdict:
        seen.append(context)
        return Allow()

    thread = Talk(agent(write("hotel.book"), capability("weather.find"), policies=(PolicyDefinition("look", look),)))
    thread.host_context = {"user": "u1"}
    thread.say(wants("hotel.book"))
    thread.say(wants("weather.find", input={}))
    context = seen[-1]
    assert (context.capability_id, context.input, context.host_context) == (
        "weather.find",
        {"note": ""},
        {"user": "u1"},
    )
    (item,) = context.agenda
    assert (item.status, item.frozen, item.interaction, item.continuation) == ("waiting_confirmation", None, None, None)


def test_a_policy_that_answers_with_no_verdict_stops_the_turn() -> None:
    policies = (PolicyDefinition("odd", lambda _: True),)  # type: ignore[arg-type,return-value]
    with pytest.raises(PolicyContractError, match="INVALID_POLICY_VERDICT"):
        Talk(agent(capability("weather.find"), policies=policies)).say(wants("weather.find"))


def test_a_request_beyond_the_agendas_bound_is_refused_and_told() -> None:
    thread = talk()
    turn = thread.say(*(wants("hotel.book", str(number)) for number in range(MAX_AGENDA_ITEMS + 1)))
    assert turn.codes[-1] == ("hotel.book", "AGENDA_FULL")
    assert len(thread.state.agenda) == MAX_AGENDA_ITEMS
    before = thread.state
    turn = thread.say(wants("weather.find"))
    assert turn.codes == [("weather.find", "AGENDA_FULL")]
    assert thread.state == before
    thread.say(cancel=[item.id for item in before.agenda[:2]])
    assert thread.say(wants("weather.find")).codes == [("weather.find", "READY")]


def test_the_response_is_for_the_question_or_else_for_what_was_asked_and_given_up() -> None:
    thread = talk()
    assert thread.say().plan.response_goal == "Answer the message."
    assert thread.say(wants("weather.find", "Rome")).plan.response_goal == "weather.find Rome"
    asked = thread.say(wants("hotel.book", objective="book")).plan.response_goal
    assert asked == "Please confirm before I go on: hotel.book"
    assert "keep the open question open" in thread.say().plan.response_goal
    cancelled = thread.say(cancel=[thread.item("hotel.book").id, "unknown"]).plan
    assert (cancelled.response_goal, len(cancelled.cancelled_item_ids)) == ("No longer pursued: book", 1)

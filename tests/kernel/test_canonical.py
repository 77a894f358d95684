"""Answers that need no model: which turns have one, and what it says (contract 2.12, G5 to G9)."""

from __future__ import annotations

import pytest
from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.definition import ResponseFallbacks
from intention_kernel.agent.results import (
    CanonicalResponse,
    CapabilityIssue,
    Completed,
    Failed,
    NeedsConfirmation,
    NeedsInput,
    ResponseClaim,
)
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.runtime.stages.composing.blocked import blocked_response, blocked_text, settled_text
from intention_kernel.runtime.stages.composing.brief import build_brief
from intention_kernel.runtime.stages.composing.canonical import Copy, joined, refused
from intention_kernel.runtime.stages.composing.compose import answer_turn
from intention_kernel.runtime.stages.context.clicks import RefusedClick
from intention_kernel.runtime.stages.outcomes import StepIssue
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

from tests.support.kernel import ScriptedModels, agent, capability
from tests.support.turn_outcomes import blocked, done, ended, question, settled, step, turn

CONFIRM = question("Book room 7 for 90 EUR?", kind="confirmation")
DATE = question("Which date?")
LINK = question("Please pay.", protected_canonical_message="https://pay/secret")

WITHOUT_A_MODEL: list[tuple[str, TurnOutcome, str, str]] = [
    ("own words", turn(done("a", "Room 7 is free.")), "direct", "Room 7 is free."),
    (
        "own words of two steps, one of which the other holds",
        turn(done("a", "Room 7 is free."), done("b", "Room 7 is free. It costs 90.")),
        "direct",
        "Room 7 is free. It costs 90.",
    ),
    (
        "G6: a required result is there once, though another one says the same",
        turn(done("a", "Paid.", required=True), done("b", "Paid.", required=True)),
        "direct",
        "Paid.",
    ),
    (
        "G7: a confirmation that the plan asks for",
        turn(planned=[step("a", "hotel.book", "defer", "CONFIRMATION_REQUIRED")], asked_by_plan=CONFIRM, shown=CONFIRM),
        "direct",
        CONFIRM.goal,
    ),
    ("G7: a question of a capability", turn(ended("a", NeedsInput(DATE)), shown=DATE), "direct", DATE.goal),
    (
        "G7: a confirmation of a capability",
        turn(ended("a", NeedsConfirmation(CONFIRM, {})), shown=CONFIRM),
        "direct",
        CONFIRM.goal,
    ),
    ("G7: a question asked again", turn(ended("a", NeedsInput(DATE)), before=DATE, shown=DATE), "direct", DATE.goal),
    (
        "G7: an answer of the wrong type leaves the question as it was",
        turn(before=CONFIRM, shown=CONFIRM, answer=InteractionAnswer(interaction_id="q-1", value="perhaps")),
        "direct",
        CONFIRM.goal,
    ),
    (
        "G9: a required result and behind it the question",
        turn(done("a", "Found two rooms.", required=True), ended("b", NeedsInput(DATE)), shown=DATE),
        "direct",
        "Found two rooms.\n\nWhich date?",
    ),
    (
        "G9: a result that ends with the question holds it already, and is the last",
        turn(done("a", "Two rooms. Which date?", required=True), done("b", "It rains.", required=True), shown=DATE),
        "direct",
        "It rains.\n\nTwo rooms. Which date?",
    ),
    (
        "a required result that the question holds is there once",
        turn(done("a", "Paid.", required=True), ended("b", NeedsInput(x := question("Paid. Which date?"))), shown=x),
        "direct",
        "Paid. Which date?",
    ),
    (
        "the question that is still open is said again behind own words",
        turn(done("a", "Breakfast is at 7."), before=CONFIRM, shown=CONFIRM),
        "direct",
        f"Breakfast is at 7.\n\n{CONFIRM.goal}",
    ),
    (
        "an optional question stands beside own words",
        turn(done("a", "Done."), shown=question("Anything else?", mode="optional")),
        "direct",
        "Done.",
    ),
    (
        "protected text behind own words and question",
        turn(done("a", "Reserved."), ended("b", NeedsInput(LINK)), shown=LINK),
        "protected",
        "Reserved.\n\nPlease pay.\n\nhttps://pay/secret",
    ),
    (
        "protected text that holds the question",
        turn(ended("a", NeedsInput(x := question("Pay.", protected_canonical_message="Pay. Code 1"))), shown=x),
        "protected",
        "Pay. Code 1",
    ),
    (
        "protected text of a completed step without words",
        turn(done("a", interaction=LINK), shown=LINK),
        "protected",
        "Please pay.\n\nhttps://pay/secret",
    ),
    (
        "G9: redacted required words go out as they are",
        turn(done("a", "Your card ends 4242.", required=True), redacted=["4242"]),
        "redacted",
        "Your card ends 4242.",
    ),
    (
        "a redacted question goes out as it is",
        turn(ended("a", NeedsInput(DATE)), shown=DATE, redacted=["date"], before=None),
        "direct",
        DATE.goal,
    ),
    (
        "redacted contextual question",
        turn(
            ended("a", NeedsInput(x := question("For Jane?", response_mode="contextual"))), shown=x, redacted=["Jane"]
        ),
        "redacted",
        "For Jane?",
    ),
    ("R32: a blocked step", turn(blocked("a", "r-1")), "direct", blocked_text("the booking", "r-1")),
    (
        "R32: a blocked step beside own words and an open question",
        turn(done("a", "Breakfast is at 7."), blocked("b", "r-1"), before=DATE, shown=DATE),
        "direct",
        f"Breakfast is at 7.\n\n{blocked_text('the booking', 'r-1')}\n\nWhich date?",
    ),
    (
        "R32: two steps on one receipt are told once",
        turn(blocked("a", "r-1"), blocked("b", "r-1")),
        "direct",
        blocked_text("the booking", "r-1"),
    ),
    (
        "a continuation with own words",
        turn(done("a", "Your room is booked."), settlement=settled()),
        "direct",
        "Your room is booked.",
    ),
    (
        "R30: a continuation whose item is gone",
        turn(settlement=settled("failed")),
        "direct",
        settled_text("the booking", "r-1", "failed"),
    ),
    (
        "a continuation that asks for more tells the outcome first",
        turn(ended("a", NeedsInput(DATE)), shown=DATE, settlement=settled()),
        "direct",
        f"{settled_text('the booking', 'r-1', 'completed')}\n\nWhich date?",
    ),
    (
        "a continuation that is blocked again does not say that it is settled",
        turn(blocked("a", "r-1"), settlement=settled("failed")),
        "direct",
        blocked_text("the booking", "r-1"),
    ),
    (
        "a continuation that is blocked on another receipt tells both",
        turn(blocked("a", "r-2"), settlement=settled()),
        "direct",
        f"{settled_text('the booking', 'r-1', 'completed')}\n\n{blocked_text('the booking', 'r-2')}",
    ),
]


@pytest.mark.parametrize(
    ("row", "outcome", "path", "message"), WITHOUT_A_MODEL, ids=[row[0] for row in WITHOUT_A_MODEL]
)
async def test_turns_with_words_for_everything_ask_no_model(
    row: str, outcome: TurnOutcome, path: str, message: str
) -> None:
    """2.12, ways 1 to 3; G6, G7, G9; protocol R30, R32."""
    models = ScriptedModels()
    answer = await answer_turn(outcome, models)
    assert (answer.message, answer.source, answer.grounded, answer.failure_code) == (message, "canonical", True, None)
    assert build_brief(outcome).delivery.path == path
    assert answer.interaction == outcome.state.interaction
    assert all(claim.text in answer.message for claim in answer.claims)
    assert models.tasks == []


NEEDS_A_MODEL: list[tuple[str, TurnOutcome, str | None]] = [
    ("small talk", turn(), None),
    ("a result without words", turn(done("a")), None),
    ("G8: words for one of two results", turn(done("a", "Found.", required=True), done("b")), None),
    ("G8: a result without words and a question", turn(done("a"), ended("b", NeedsInput(DATE)), shown=DATE), None),
    ("small talk while a question is open", turn(before=CONFIRM, shown=CONFIRM), CONFIRM.goal),
    (
        "a contextual question",
        turn(ended("a", NeedsInput(x := question(response_mode="contextual"))), shown=x),
        "Which date?",
    ),
    (
        "a failure",
        turn(
            ended("a", Failed(CapabilityIssue("FULL", "The hotel is full."))),
            issues=(StepIssue("a", CapabilityIssue("FULL", "The hotel is full.")),),
        ),
        "The hotel is full.",
    ),
    (
        "a rejected step",
        turn(planned=[step("a", "hotel.book", "reject", "POLICY_DENIED", "Not for guests.")]),
        "Not for guests.",
    ),
    (
        "a rejected step beside a question",
        turn(
            ended("b", NeedsInput(DATE)),
            planned=[step("a", "hotel.book", "reject", "CONFIRMATION_EXPIRED", "Too late.")],
            shown=DATE,
        ),
        "Too late.\n\nWhich date?",
    ),
    ("nothing matched", turn(mode="no_match"), None),
    (
        "a continuation without words",
        turn(done("a"), settlement=settled()),
        settled_text("the booking", "r-1", "completed"),
    ),
    (
        "a protected question of before leaves an answer to give",
        turn(done("a"), before=LINK, shown=LINK),
        None,
    ),
]


@pytest.mark.parametrize(("row", "outcome", "fallback"), NEEDS_A_MODEL, ids=[row[0] for row in NEEDS_A_MODEL])
async def test_other_turns_ask_a_model_and_fall_back_to_nothing_partial(
    row: str, outcome: TurnOutcome, fallback: str | None
) -> None:
    """2.12, ways 4 and 5; G5, G8: what no model has said acceptably is said in full, or not at all."""
    brief = build_brief(outcome)
    canonical = brief.delivery.canonical
    assert brief.delivery.path == "model"
    assert (canonical.message if canonical is not None else None) == fallback


def test_a_continuation_tells_how_a_new_attempt_on_the_receipt_ended() -> None:
    again = ReceiptReference("r-1", "hotel.book:1", "completed", 2)
    outcome = turn(ended("a", NeedsInput(DATE), again), shown=DATE, settlement=settled("failed"))
    canonical = build_brief(outcome).delivery.canonical
    assert canonical is not None
    assert canonical.message.startswith(settled_text("the booking", "r-1", "completed"))


def test_unsupported_requests_have_the_agents_own_fallback() -> None:
    compiled = agent(capability("hotel.find"), response_fallbacks=ResponseFallbacks("I only know about hotels."))
    refusals = [
        step("a", None, "reject", "UNSUPPORTED_INTENTION", "no capability"),
        step("b", "hotel.find", "reject", "POLICY_DENIED", "Not now."),
    ]
    canonical = build_brief(turn(planned=refusals, compiled=compiled)).delivery.canonical
    assert canonical is not None
    assert canonical.message == "I only know about hotels.\n\nNot now."


async def test_required_words_that_no_model_may_read_are_never_half_an_answer() -> None:
    """2.12, way 2: with another result that has no words there is no answer but the technical one."""
    models = ScriptedModels()
    answer = await answer_turn(turn(done("a", "Card 4242.", required=True), done("b"), redacted=["4242"]), models)
    assert (answer.source, answer.failure_code, models.tasks) == ("technical_fallback", "UNGROUNDED_RESPONSE", [])


async def test_words_that_cite_what_is_not_there_are_not_delivered() -> None:
    """2.12, way 1: a citation failure of protected delivery is a technical response."""
    words = CanonicalResponse("Reserved.", (ResponseClaim("Reserved.", ("nowhere",)),))
    bad = Completed(output={}, canonical_response=words)
    answer = await answer_turn(turn(ended("a", bad), ended("b", NeedsInput(LINK)), shown=LINK), ScriptedModels())
    assert (answer.source, answer.failure_code) == ("technical_fallback", "UNGROUNDED_RESPONSE")
    assert answer.interaction is LINK


def test_the_default_text_of_a_blocked_step_is_the_one_of_the_interface() -> None:
    """Interface 3."""
    assert blocked_response("a charge", "r").message == (
        "I could not confirm whether a charge went through. I have not tried again. "
        "It is being checked, reference r; I will go on as soon as it is known."
    )


@pytest.mark.parametrize(
    ("copies", "closing", "message"),
    [
        ([], (), None),
        ([], ("Q?",), "Q?"),
        (["a", "a"], (), "a"),
        (["ab", "a"], (), "ab"),
        (["a", "b"], ("Q?",), "a\n\nb\n\nQ?"),
        (["a Q?", "b"], ("Q?",), "b\n\na Q?"),
        (["a"], ("Q?", "Q? P"), "a\n\nQ? P"),
    ],
)
def test_texts_are_joined_without_saying_anything_twice(
    copies: list[str], closing: tuple[str, ...], message: str | None
) -> None:
    result = joined([Copy(text) for text in copies], *closing)
    assert (result.message if result is not None else None) == message


@pytest.mark.parametrize(("open_question", "tail"), [(None, ""), (DATE, "\n\nWhich date?")])
def test_a_refused_click_is_answered_in_our_words_and_shows_the_open_question(open_question: object, tail: str) -> None:
    click = RefusedClick("INTERACTION_OPTION_NOT_FOUND", "That is no choice.")
    answer = refused(click, DATE if open_question else None)
    assert (answer.message, answer.source, answer.grounded) == (f"That is no choice.{tail}", "canonical", True)
    assert answer.interaction == open_question

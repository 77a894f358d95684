"""Confirmations: each row is one of contract 8.2 or of our own decisions about consent (design 8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from intention_kernel.agent.policy import Allow, Clarify, Confirm, Deny, PolicyContext, PolicyDefinition, Verdict
from intention_kernel.agent.results import (
    CapabilityIssue,
    Completed,
    Failed,
    NeedsConfirmation,
    NeedsDependency,
    NeedsInput,
)
from intention_kernel.contracts.facts import FactReference
from intention_kernel.contracts.receipt import Summary
from pydantic import BaseModel

from tests.support.kernel import agent, capability, write
from tests.support.planning import DONE, Talk, declared, fact, published, question, required, wants

BOOK = wants("hotel.book", "Ritz", objective="book the Ritz")
WEATHER = wants("weather.find", "Rome")


def talk(**members: object) -> Talk:
    """A booking that needs a confirmation, a payment that does too, and a read."""
    made = agent(write("hotel.book", **members), write("pay.charge"), capability("weather.find"))
    return Talk(made)


def asked_to_book(**members: object) -> Talk:
    """The booking waits for its confirmation."""
    thread = talk(**members)
    thread.say(BOOK)
    return thread


def test_a_write_is_never_carried_out_in_the_turn_that_proposes_it() -> None:
    thread = talk()
    turn = thread.say(BOOK)
    assert turn.codes == [("hotel.book", "CONFIRMATION_REQUIRED")]
    assert turn.ran == []
    item = thread.item("hotel.book")
    assert item.status == "waiting_confirmation"
    assert item.interaction == thread.state.interaction
    assert item.interaction is not None
    assert [(option.id, option.value) for option in item.interaction.options] == [("yes", True), ("no", False)]
    assert item.interaction.payload == {"objective": "book the Ritz", "input": {"note": "Ritz"}}


def test_a_yes_resumes_exactly_the_planned_operation() -> None:
    thread = asked_to_book()
    frozen = thread.item("hotel.book").frozen
    assert frozen is not None
    turn = thread.say(answer=True)
    (step,) = turn.ran
    assert (step.id, step.input, step.reason.code) == (frozen.step_id, {"note": "Ritz"}, "CONFIRMATION_ACCEPTED")
    assert (step.intention, step.answer) == (BOOK, None), "the yes is the kernel's, not an answer to the capability"
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


class Longer(BaseModel):
    """The input of a later build, which writes a member more."""

    note: str = ""
    breakfast: bool = True


def test_what_was_confirmed_is_carried_out_as_it_was_validated_then() -> None:
    thread = talk()
    thread.say(wants("hotel.book", input={}))
    thread.agent = agent(write("hotel.book", input=Longer))
    (step,) = thread.say(answer=True).ran
    assert step.input == {"note": ""}


def test_what_is_shown_beside_a_question_does_not_decide_what_is_carried_out() -> None:
    """The payload is for display: a later change of it, by whomever, changes nothing."""
    thread = asked_to_book()
    item = thread.item("hotel.book")
    assert item.interaction is not None
    forged = item.interaction.model_copy(update={"payload": {"objective": "x", "input": {"note": "Savoy"}}})
    agenda = (item.model_copy(update={"interaction": forged}),)
    thread.state = replace(thread.state, agenda=agenda, interaction=forged)
    (step,) = thread.say(answer=True).ran
    assert step.input == {"note": "Ritz"}


def test_a_no_ends_the_item_and_nothing_runs() -> None:
    thread = asked_to_book()
    turn = thread.say(answer=False)
    assert (turn.codes, turn.ran) == ([("hotel.book", "CONFIRMATION_DECLINED")], [])
    assert set(turn.ended.values()) == {"declined"}
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_a_no_with_the_same_operation_said_again_asks_for_nothing_new() -> None:
    thread = asked_to_book()
    assert thread.say(BOOK, answer=False).codes == [("hotel.book", "CONFIRMATION_DECLINED")]
    assert thread.state.agenda == ()


@pytest.mark.parametrize("value", ["yes", 1, 0, None, {"action": "confirm"}, "true", [True]])
def test_an_answer_that_is_neither_yes_nor_no_leaves_the_confirmation_open(value: object) -> None:
    thread = asked_to_book()
    before = thread.state
    turn = thread.say(answer=value)
    assert (turn.plan.steps, turn.plan.answered_interaction_id) == ((), None)
    assert thread.state == before


def test_an_answer_of_the_wrong_type_beside_other_work_leaves_the_confirmation_open() -> None:
    """The original dropped the pending write here, silently."""
    thread = asked_to_book()
    turn = thread.say(WEATHER, answer="later")
    assert [step.capability_id for step in turn.ran] == ["weather.find"]
    assert (thread.statuses, thread.asked) == ([("hotel.book", "waiting_confirmation")], "hotel.book")


def test_an_answer_to_another_question_is_no_consent() -> None:
    thread = asked_to_book()
    open_one = thread.state.interaction
    assert open_one is not None
    older = open_one.model_copy(update={"id": "an-older-question"})
    thread.state = replace(thread.state, interaction=older)
    assert thread.say(answer=True).ran == []
    assert thread.statuses == [("hotel.book", "waiting_confirmation")]


def test_an_unrelated_question_is_answered_while_the_confirmation_stays_open() -> None:
    thread = asked_to_book()
    before = thread.state.interaction
    turn = thread.say(WEATHER)
    assert [step.capability_id for step in turn.ran] == ["weather.find"]
    assert thread.state.interaction == before
    assert thread.item("hotel.book").frozen is not None


@pytest.mark.parametrize(
    "said_again",
    [
        wants("hotel.book", "Ritz", objective="in other words"),
        wants("hotel.book", "", objective="book the Ritz", said="ok"),
    ],
    ids=["same input", "same objective and the words of the answer"],
)
def test_an_operation_that_is_said_again_with_its_yes_is_carried_out_once(said_again: object) -> None:
    """C6."""
    thread = asked_to_book()
    turn = thread.say(said_again, answer=True)  # type: ignore[arg-type]
    assert [step.input for step in turn.ran] == [{"note": "Ritz"}]
    assert thread.state.agenda == ()


def test_an_operation_that_is_said_again_without_an_answer_is_neither_consent_nor_a_second_request() -> None:
    thread = asked_to_book()
    before = thread.state
    assert thread.say(BOOK).plan.steps == ()
    assert thread.state == before


def test_a_yes_and_an_independent_read_both_run() -> None:
    thread = asked_to_book()
    assert [step.capability_id for step in thread.say(WEATHER, answer=True).ran] == ["hotel.book", "weather.find"]


@pytest.mark.parametrize("second", [wants("pay.charge", "10"), wants("hotel.book", "Savoy")], ids=["other", "same"])
def test_a_yes_is_used_and_a_second_write_of_the_message_gets_its_own_confirmation(second: object) -> None:
    """The original lost the consent here; a write conflict of ours drops none."""
    thread = asked_to_book()
    turn = thread.say(second, answer=True)  # type: ignore[arg-type]
    assert [step.input for step in turn.ran] == [{"note": "Ritz"}]
    (waiting,) = thread.state.agenda
    assert (waiting.status, waiting.interaction) == ("waiting_confirmation", thread.state.interaction)
    assert waiting.frozen is not None
    assert waiting.frozen.input != {"note": "Ritz"}


def test_two_writes_of_one_message_are_confirmed_one_after_the_other() -> None:
    thread = talk()
    turn = thread.say(BOOK, wants("pay.charge", "10"))
    assert turn.codes == [("hotel.book", "CONFIRMATION_REQUIRED"), ("pay.charge", "CONFIRMATION_REQUIRED")]
    assert thread.asked == "hotel.book"
    assert [step.capability_id for step in thread.say(answer=True).ran] == ["hotel.book"]
    assert thread.asked == "pay.charge"
    assert [step.capability_id for step in thread.say(answer=True).ran] == ["pay.charge"]
    assert thread.state.agenda == ()


def test_a_second_confirmation_waits_behind_the_one_that_is_shown() -> None:
    thread = asked_to_book()
    thread.say(wants("pay.charge", "10"))
    assert thread.asked == "hotel.book"
    assert thread.item("pay.charge").interaction is not None
    thread.say(answer=False)
    assert thread.asked == "pay.charge"


def test_a_changed_mind_replaces_the_pending_operation_and_is_confirmed_anew() -> None:
    thread = asked_to_book()
    first = thread.state.interaction
    turn = thread.say(wants("hotel.book", "Savoy"))
    assert set(turn.ended.values()) == {"replaced"}
    assert thread.state.interaction != first
    (step,) = thread.say(answer=True).ran
    assert step.input == {"note": "Savoy"}


def test_a_refused_change_of_mind_leaves_the_pending_operation() -> None:
    made = agent(write("hotel.book"), policies=(policy(lambda c: Deny("no") if c.input == {"note": "X"} else Allow()),))
    thread = Talk(made)
    thread.say(BOOK)
    assert thread.say(wants("hotel.book", "X")).codes == [("hotel.book", "POLICY_DENIED")]
    assert thread.asked == "hotel.book"


def test_a_cancelled_item_goes_with_its_question() -> None:
    thread = asked_to_book()
    turn = thread.say(cancel=[thread.item("hotel.book").id])
    assert set(turn.ended.values()) == {"cancelled"}
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_a_yes_beside_its_own_cancellation_carries_nothing_out() -> None:
    thread = asked_to_book()
    turn = thread.say(answer=True, cancel=[thread.item("hotel.book").id])
    assert (turn.ran, set(turn.ended.values())) == ([], {"cancelled"})


def test_an_expired_confirmation_takes_no_yes_and_says_so() -> None:
    thread = asked_to_book(expires_seconds=60)
    thread.later(60)
    turn = thread.say(answer=True)
    assert (turn.codes, turn.ran) == ([("hotel.book", "CONFIRMATION_EXPIRED")], [])
    assert set(turn.ended.values()) == {"expired"}
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_a_confirmation_is_open_until_its_time_is_over() -> None:
    thread = asked_to_book(expires_seconds=60)
    thread.later(59)
    assert [step.capability_id for step in thread.say(answer=True).ran] == ["hotel.book"]


def test_what_is_cancelled_after_it_expired_is_told_as_cancelled_alone() -> None:
    thread = asked_to_book(expires_seconds=60)
    thread.later(61)
    turn = thread.say(cancel=[thread.item("hotel.book").id])
    assert (turn.codes, set(turn.ended.values())) == ([], {"cancelled"})


def test_a_no_to_an_expired_confirmation_is_still_a_no() -> None:
    thread = asked_to_book(expires_seconds=60)
    thread.later(61)
    assert thread.say(answer=False).codes == [("hotel.book", "CONFIRMATION_DECLINED")]


def test_a_confirmation_expires_only_from_the_time_that_it_is_shown() -> None:
    thread = talk()
    thread.agent = agent(write("hotel.book"), write("pay.charge", expires_seconds=60))
    thread.say(BOOK, wants("pay.charge", "10"))
    thread.later(3_600)
    thread.say(answer=True)
    thread.later(30)
    assert [step.capability_id for step in thread.say(answer=True).ran] == ["pay.charge"]


def test_an_expired_confirmation_ends_in_a_turn_about_something_else_and_is_told() -> None:
    thread = asked_to_book(expires_seconds=60)
    thread.later(61)
    turn = thread.say(WEATHER)
    assert turn.codes == [("hotel.book", "CONFIRMATION_EXPIRED"), ("weather.find", "READY")]
    assert thread.state.agenda == ()


def test_a_request_that_is_made_again_after_it_expired_is_confirmed_anew() -> None:
    thread = asked_to_book(expires_seconds=60)
    thread.later(61)
    turn = thread.say(BOOK, answer=True)
    assert turn.codes == [("hotel.book", "CONFIRMATION_EXPIRED"), ("hotel.book", "CONFIRMATION_REQUIRED")]
    assert turn.ran == []


@pytest.mark.parametrize(
    "changed",
    [agent(write("hotel.book", version=2), capability("weather.find")), agent(capability("weather.find"))],
    ids=["another version", "gone"],
)
def test_a_yes_after_the_definition_changed_is_not_carried_out(changed: object) -> None:
    thread = asked_to_book()
    thread.agent = changed  # type: ignore[assignment]
    turn = thread.say(answer=True)
    assert (turn.codes, turn.ran) == ([("hotel.book", "CONFIRMATION_OUTDATED")], [])
    assert set(turn.ended.values()) == {"outdated"}
    assert thread.state.interaction is None


def policy(evaluate: object) -> PolicyDefinition:
    return PolicyDefinition("policy", evaluate)  # type: ignore[arg-type]


def with_switch(verdict: Verdict) -> Talk:
    """A booking whose policy answers so once the host says that it is night."""

    def at_night(context: PolicyContext) -> Verdict:
        return verdict if context.host_context.get("night") else Allow()

    return Talk(agent(write("hotel.book"), policies=(policy(at_night),)))


def test_a_policy_that_denies_now_stands_above_a_yes() -> None:
    thread = with_switch(Deny("closed"))
    thread.say(BOOK)
    thread.host_context = {"night": True}
    turn = thread.say(answer=True)
    assert (turn.codes, turn.ran, set(turn.ended.values())) == ([("hotel.book", "POLICY_DENIED")], [], {"denied"})


def test_a_policy_that_asks_for_confirmation_is_content_with_the_yes() -> None:
    thread = with_switch(Confirm("at night"))
    thread.say(BOOK)
    thread.host_context = {"night": True}
    assert [step.reason.code for step in thread.say(answer=True).ran] == ["CONFIRMATION_ACCEPTED"]


def test_a_policy_that_asks_something_first_is_answered_and_then_the_user_is_asked_to_confirm_again() -> None:
    def at_night(context: PolicyContext) -> Verdict:
        asks = context.host_context.get("night") and context.answer is None
        return Clarify(question("which-door")) if asks else Allow()

    thread = Talk(agent(write("hotel.book"), policies=(policy(at_night),)))
    thread.say(BOOK)
    thread.host_context = {"night": True}
    assert thread.say(answer=True).codes == [("hotel.book", "POLICY_REQUIRES_CLARIFICATION")]
    assert thread.say(answer="back door").codes == [("hotel.book", "CONFIRMATION_REQUIRED")]
    (step,) = thread.say(answer=True).ran
    assert step.answer is not None
    assert step.answer.value == "back door"


def test_a_read_that_a_policy_wants_confirmed_is_confirmed() -> None:
    made = agent(capability("weather.find"), policies=(policy(lambda _: Confirm("costly")),))
    thread = Talk(made)
    assert thread.say(WEATHER).codes == [("weather.find", "CONFIRMATION_REQUIRED")]
    assert [step.capability_id for step in thread.say(answer=True).ran] == ["weather.find"]


def test_a_yes_whose_fact_is_gone_waits_and_asks_again_when_it_is_back() -> None:
    guest = capability("guest.find", provides=(declared("guest"),))
    thread = Talk(agent(guest, write("hotel.book", requires=(required("guest"),))))
    thread.results["guest.find"] = published(fact("guest"))
    thread.say(wants("guest.find"))
    thread.say(BOOK)
    thread.state = replace(thread.state, facts={})
    turn = thread.say(answer=True)
    assert (turn.codes, turn.ran) == ([("hotel.book", "MISSING_REQUIRED_FACTS")], [])
    assert thread.item("hotel.book").frozen is None, "the consent was for what was shown then"
    back = thread.say(wants("guest.find"))
    assert back.codes == [("guest.find", "READY"), ("hotel.book", "CONFIRMATION_REQUIRED")]
    assert [step.capability_id for step in thread.say(answer=True).ran] == ["hotel.book"]


def test_a_confirmed_write_that_fails_is_told_and_keeps_its_item() -> None:
    thread = asked_to_book()
    thread.results["hotel.book"] = Failed(CapabilityIssue("NO_ROOM", "No room left."))
    turn = thread.say(answer=True)
    assert [issue.issue.code for issue in turn.batches[0].reduction.issues] == ["NO_ROOM"]
    assert (thread.statuses, thread.asked) == ([("hotel.book", "blocked")], None)
    again = thread.say(wants("hotel.book", "Savoy"))
    assert set(again.ended.values()) == {"replaced"}


def test_a_confirmed_write_that_needs_more_is_confirmed_again_with_it() -> None:
    """A yes is for one run of what was shown: what comes after a new answer is shown again."""
    thread = asked_to_book()
    thread.results["hotel.book"] = lambda step: NeedsInput(question("beds"), {"k": 1}) if not step.answer else DONE
    thread.say(answer=True)
    assert thread.say(answer="two").codes == [("hotel.book", "CONFIRMATION_REQUIRED")]
    (step,) = thread.say(answer=True).ran
    assert (step.continuation, step.answer and step.answer.value) == ({"k": 1}, "two")
    assert thread.state.agenda == ()


def test_a_question_of_other_work_is_shown_and_the_confirmation_comes_back_after_it() -> None:
    thread = asked_to_book()
    thread.results["weather.find"] = lambda step: NeedsInput(question("city")) if not step.answer else DONE
    thread.say(WEATHER)
    assert thread.asked == "weather.find"
    thread.say(answer="Rome")
    assert (thread.asked, thread.statuses) == ("hotel.book", [("hotel.book", "waiting_confirmation")])


def own_mode() -> Talk:
    """A write that asks for consent itself."""
    return Talk(agent(write("hotel.book", confirmation="capability"), capability("weather.find")))


def asks_itself(step: object) -> Completed | NeedsConfirmation:
    answer = step.answer  # type: ignore[attr-defined]
    if answer is None:
        return NeedsConfirmation(question("sure", "confirmation", payload={"price": 9}), {"note": "Ritz, 9 EUR"})
    return DONE


def test_confirmation_by_the_capability_stores_its_question_under_its_name_with_what_it_is_about() -> None:
    thread = own_mode()
    thread.results["hotel.book"] = asks_itself
    thread.say(BOOK)
    item = thread.item("hotel.book")
    assert (item.status, item.frozen, item.continuation) == ("waiting_confirmation", None, {"note": "Ritz, 9 EUR"})
    assert thread.state.interaction is not None
    assert thread.state.interaction.capability_id == "hotel.book"
    assert thread.state.interaction.payload == {
        "intention": "book the Ritz",
        "input": {"note": "Ritz"},
        "capabilityPayload": {"price": 9},
    }


def test_a_yes_to_the_capabilitys_own_question_runs_it_with_its_input_its_continuation_and_the_answer() -> None:
    thread = own_mode()
    thread.results["hotel.book"] = asks_itself
    thread.say(BOOK)
    (step,) = thread.say(answer=True).ran
    assert (step.input, step.continuation) == ({"note": "Ritz"}, {"note": "Ritz, 9 EUR"})
    assert step.answer is not None
    assert step.answer.value is True
    assert thread.state.agenda == ()


def test_a_no_to_the_capabilitys_own_question_ends_it_and_does_not_run_it() -> None:
    thread = own_mode()
    thread.results["hotel.book"] = asks_itself
    thread.say(BOOK)
    turn = thread.say(answer=False)
    assert (turn.codes, turn.ran, thread.state.agenda) == ([("hotel.book", "CONFIRMATION_DECLINED")], [], ())


def test_confirmation_by_the_capability_authorises_nothing() -> None:
    """The mode leaves consent to the capability: it runs in the very turn that proposes it, before anybody was asked, and
    the kernel does not stop one that never asks."""
    thread = own_mode()
    turn = thread.say(BOOK)
    assert [(step.capability_id, step.reason.code, step.answer) for step in turn.ran] == [("hotel.book", "READY", None)]
    assert thread.state.agenda == ()


def test_the_kernels_yes_is_not_shown_to_a_capability_that_asks_itself() -> None:
    made = agent(write("hotel.book", confirmation="capability"), policies=(policy(lambda _: Confirm("costly")),))
    thread = Talk(made)
    thread.results["hotel.book"] = asks_itself
    thread.say(BOOK)
    (first,) = thread.say(answer=True).ran
    assert first.answer is None
    (second,) = thread.say(answer=True).ran
    assert second.answer is not None
    assert thread.state.agenda == ()


def test_a_write_that_waits_for_a_fact_after_its_yes_asks_again() -> None:
    guest = capability("guest.find", provides=(declared("guest"),))
    thread = Talk(agent(guest, write("hotel.book")))
    thread.results["guest.find"] = published(fact("guest"))
    needs = NeedsDependency(FactReference(type="guest"), "guest.find", {"note": "who"})
    thread.results["hotel.book"] = lambda step: DONE if "guest@1" in thread.state.facts else needs
    thread.say(BOOK)
    turn = thread.say(answer=True)
    assert turn.codes == [
        ("hotel.book", "CONFIRMATION_ACCEPTED"),
        ("guest.find", "READY"),
        ("hotel.book", "CONFIRMATION_REQUIRED"),
    ]
    thread.say(answer=True)
    assert thread.state.agenda == ()


def test_consent_is_asked_for_what_will_be_carried_out_and_not_for_a_models_words() -> None:
    """A model may word one thing and propose another: the question has the capability's title and the frozen input."""
    thread = Talk(agent(write("hotel.book", describe=lambda payload: Summary(f"the booking of {payload['note']}"))))
    asked = thread.say(wants("hotel.book", "the suite", objective="look at the weather")).plan.interaction
    assert asked is not None
    assert asked.goal == "Please confirm before I go on: the booking of the suite (note: the suite)"


def test_an_input_stands_beside_the_objective_where_there_is_no_title_for_it() -> None:
    """`describe` is made for the effect's payload, which need not be the input; what it raises asks no less."""
    thread = Talk(agent(write("hotel.book", describe=lambda payload: Summary(payload["room"]["no"]))))
    asked = thread.say(wants("hotel.book", "Ritz", objective="book a room")).plan.interaction
    assert asked is not None
    assert asked.goal == "Please confirm before I go on: book a room (note: Ritz)"

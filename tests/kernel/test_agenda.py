"""The agenda after each kind of result, the open question, and answers to questions (contract 3.9, 8.3 to 8.5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from intention_kernel.agent.results import (
    CapabilityIssue,
    CapabilityResult,
    Completed,
    Failed,
    NeedsConfirmation,
    NeedsDependency,
    NeedsInput,
)
from intention_kernel.contracts.agenda import AgendaItem, BlockedReceipt, FrozenStep
from intention_kernel.contracts.facts import FactReference
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.errors import TurnHeldError
from intention_kernel.runtime.stages.outcomes import BlockedResult
from intention_kernel.runtime.stages.planning.resumption import plan_resumption, resumed_steps

from tests.support.kernel import agent, capability, write
from tests.support.planning import DONE, Result, Script, Talk, declared, fact, published, question, required, wants

UNKNOWN = BlockedResult((BlockedReceipt(effect_key="hotel.book:1", receipt_id="r1", title="the booking"),))


def talk() -> Talk:
    return Talk(
        agent(
            capability("weather.find"),
            capability("guest.find", provides=(declared("guest"),)),
            capability("stay.find", requires=(required("guest"),)),
            write("hotel.book", confirmation="capability"),
        )
    )


def asks(asked: Interaction, then: Result = DONE) -> Script:
    """Asks, and is content with any answer."""
    return lambda step: then if step.answer is not None else NeedsInput(asked, {"so": "far"})


def follow_up(mode: str = "required") -> Completed:
    return replace(DONE, interaction=question("more", mode=mode), continuation={"seen": 1})


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (DONE, None),
        (follow_up(), "waiting_input"),
        (NeedsInput(question("city")), "waiting_input"),
        (NeedsDependency(FactReference(type="guest"), "guest.find", {}), "waiting_facts"),
        (NeedsConfirmation(question("sure", "confirmation"), {}), "waiting_confirmation"),
        (Failed(CapabilityIssue("NO", "No.")), "blocked"),
        (UNKNOWN, "blocked"),
    ],
    ids=["completed", "follow-up", "input", "dependency", "confirmation", "failed", "uncertain receipt"],
)
def test_each_kind_of_result_leaves_its_item(result: Result, status: str | None) -> None:
    thread = talk()
    thread.results = {"hotel.book": result, "guest.find": Failed(CapabilityIssue("NO", "No."))}
    thread.say(wants("hotel.book", "Ritz"))
    items = [item for item in thread.state.agenda if item.capability_id == "hotel.book"]
    assert [item.status for item in items] == ([status] if status else [])
    assert [item.id for item in items] == (["agenda:turn-1-step-1"] if status else [])
    assert [item.blocked is not None for item in items] == ([result is UNKNOWN] if status else [])


def test_a_step_that_met_an_uncertain_receipt_is_kept_with_all_that_a_continuation_needs() -> None:
    earlier = (FrozenStep(step_id="s0", capability_id="x.y", capability_version=1, intention=wants("x.y"), input=1),)
    thread = talk()
    thread.results["hotel.book"] = replace(UNKNOWN, earlier=earlier)
    turn = thread.say(wants("hotel.book", "Ritz"))
    blocked = thread.item("hotel.book").blocked
    assert blocked is not None
    assert (blocked.turn_id, blocked.earlier, blocked.receipts) == ("turn-1", earlier, UNKNOWN.receipts)
    assert (blocked.step.step_id, blocked.step.input) == (turn.ran[0].id, {"note": "Ritz"})
    assert thread.state.interaction is None


def test_a_settlement_resumes_the_blocked_step_as_it_was_and_its_end_removes_the_item() -> None:
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    blocked_step = thread.say(wants("hotel.book", "Ritz")).ran[0]
    thread.results["hotel.book"] = DONE
    view = thread.say(wants("weather.find")).view
    batch = thread.resumed(plan_resumption(view, "turn-1"))
    (outcome,) = batch.outcomes
    assert (outcome.step.id, outcome.step.input) == (blocked_step.id, {"note": "Ritz"})
    assert (outcome.step.reason.code, outcome.step.trigger) == ("SETTLED", "reconciliation")
    assert ([end.reason for end in batch.reduction.ended], thread.state.agenda) == (["completed"], ())


def test_a_resumed_step_that_meets_the_next_receipt_stays_blocked_under_its_item_and_its_turn() -> None:
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    thread.say(wants("hotel.book"))
    before = thread.item("hotel.book")
    thread.results["hotel.book"] = replace(UNKNOWN, turn_id="turn-1")
    thread.resumed(plan_resumption(thread.say().view, "turn-1"))
    assert thread.item("hotel.book") == before


def test_only_what_that_turn_left_is_resumed() -> None:
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    thread.say(wants("hotel.book", "a"))
    thread.say(wants("hotel.book", "b"))
    view = thread.say().view
    assert [step.intention.id for step in plan_resumption(view, "turn-2").steps] == ["wants-hotel.book-b"]
    assert [step.intention.id for step in resumed_steps(view, "turn-2")] == ["wants-hotel.book-b"]
    assert plan_resumption(view, "turn-9").steps == resumed_steps(view, "turn-9") == ()


def test_writes_that_a_turn_had_finished_before_come_first_each_once() -> None:
    """R15: they meet their effects again, and belong to no item."""
    thread = talk()
    first = FrozenStep(
        step_id="s0", capability_id="hotel.book", capability_version=1, intention=wants("hotel.book", "0"), input={}
    )
    thread.results["hotel.book"] = replace(UNKNOWN, earlier=(first,))
    thread.say(wants("hotel.book", "a"))
    steps = resumed_steps(thread.say().view, "turn-1")
    assert [(step.id == "s0", step.item_id is None) for step in steps] == [(True, True), (False, False)]


def test_a_blocked_step_whose_capability_is_gone_is_held() -> None:
    """R8: this build could not meet its effects; it stays until a build that fits is there."""
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    thread.say(wants("hotel.book"))
    thread.agent = agent(capability("weather.find"))
    with pytest.raises(TurnHeldError, match="expected version 1, found none"):
        resumed_steps(thread.say().view, "turn-1")


def test_a_step_that_is_blocked_on_a_receipt_gives_way_to_no_request() -> None:
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    thread.say(wants("hotel.book", "a"))
    thread.results["hotel.book"] = DONE
    assert thread.say(wants("hotel.book", "b")).ended == {}
    assert thread.statuses == [("hotel.book", "blocked")]


def test_a_step_that_is_blocked_on_a_receipt_cannot_be_given_up_and_the_user_is_told() -> None:
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    thread.say(wants("hotel.book"))
    before = thread.state
    assert thread.say(cancel=[thread.item("hotel.book").id]).codes == [("hotel.book", "EFFECT_IN_DOUBT")]
    assert thread.state == before


def test_an_answer_resumes_the_item_with_its_input_its_continuation_and_the_question() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city"))
    thread.say(wants("weather.find", "Rome"))
    open_one = thread.state.interaction
    (step,) = thread.say(answer={"city": "Rome"}).ran
    assert (step.input, step.continuation, step.interaction) == ({"note": "Rome"}, {"so": "far"}, open_one)
    assert step.answer is not None
    assert step.answer.value == {"city": "Rome"}
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_a_partial_answer_is_kept_in_the_continuation_of_the_same_item() -> None:
    thread = talk()
    thread.results["weather.find"] = NeedsInput(question("city"), {"round": 1})
    thread.say(wants("weather.find"))
    before = thread.item("weather.find")
    thread.results["weather.find"] = NeedsInput(question("day"), {"round": 2})
    thread.say(answer="Rome")
    after = thread.item("weather.find")
    assert (after.id, after.continuation, thread.asked) == (before.id, {"round": 2}, "weather.find")


def test_an_answer_is_never_lent_to_another_operation() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city"))
    thread.say(wants("weather.find"))
    turn = thread.say(wants("guest.find"), answer="Rome")
    assert [(s.capability_id, s.answer is not None) for s in turn.ran] == [
        ("weather.find", True),
        ("guest.find", False),
    ]


def test_a_request_that_the_answer_was_read_as_is_not_made_twice() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city"))
    thread.say(wants("weather.find"))
    assert len(thread.say(wants("weather.find", "Rome", said="Rome"), answer="Rome", said="Rome").ran) == 1


def test_a_fresh_request_replaces_the_unfinished_one_of_the_same_capability() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city"))
    thread.say(wants("weather.find"))
    thread.results["weather.find"] = DONE
    assert set(thread.say(wants("weather.find", "Rome")).ended.values()) == {"replaced"}
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_an_unrelated_item_survives_a_turn_as_it_was() -> None:
    thread = talk()
    thread.results["hotel.book"] = UNKNOWN
    thread.results["weather.find"] = NeedsInput(question("city"), {"deep": [1]})
    thread.say(wants("hotel.book"), wants("weather.find"))
    known = AgendaItem.from_json(thread.item("weather.find").to_json() | {"ofALaterBuild": {"x": [1]}})
    others = tuple(known if item.id == known.id else item for item in thread.state.agenda)
    thread.state = replace(thread.state, agenda=others)
    before = [item.to_json() for item in thread.state.agenda]
    thread.say(wants("guest.find"))
    assert [item.to_json() for item in thread.state.agenda] == before


def test_an_ambiguous_request_waits_until_it_is_said_afresh() -> None:
    """The original dropped it with the next message, whatever that was."""
    thread = talk()
    thread.say(wants(None, alternatives=("a", "b")))
    thread.say()
    thread.say(answer="alternative-1")
    assert len(thread.state.agenda) == 1
    turn = thread.say(wants("weather.find"), answer="a")
    assert (list(turn.ended.values()), thread.state.interaction) == (["answered"], None)


def test_an_ambiguous_request_gives_way_to_the_next_ambiguous_one() -> None:
    thread = talk()
    thread.say(wants(None, alternatives=("a", "b")))
    thread.say(wants(None, alternatives=("c", "d")))
    assert len(thread.state.agenda) == 1


def test_questions_that_wait_are_shown_one_after_the_other_the_oldest_first() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city"))
    thread.results["guest.find"] = asks(question("who"))
    thread.results["hotel.book"] = asks(question("beds"))
    thread.say(wants("weather.find"), wants("guest.find"), wants("hotel.book"))
    shown = []
    while thread.state.interaction is not None:
        shown.append(thread.state.interaction.id)
        thread.say(answer="x")
    assert shown == ["city", "who", "beds"]


def test_two_items_whose_questions_have_one_id_are_told_apart() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("same"))
    thread.say(wants("weather.find", "a"), wants("weather.find", "b"))
    assert len({item.interaction.id for item in thread.state.agenda if item.interaction}) == 2
    assert [step.input for step in thread.say(answer="x").ran] == [{"note": "a"}]
    assert [step.input for step in thread.say(answer="x").ran] == [{"note": "b"}]


def test_a_question_expires_where_its_capability_says_so_and_is_told() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city", expires_seconds=10))
    thread.say(wants("weather.find"))
    thread.later(10)
    assert thread.say(answer="Rome").codes == [("weather.find", "QUESTION_EXPIRED")]
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_a_follow_up_is_no_unfinished_work_and_its_answer_runs_the_capability_with_its_continuation() -> None:
    thread = talk()
    thread.results["weather.find"] = lambda step: DONE if step.answer else follow_up()
    thread.say(wants("weather.find", "Rome"))
    assert thread.item("weather.find").completed_follow_up
    (step,) = thread.say(answer="tomorrow").ran
    assert (step.continuation, step.input) == ({"seen": 1}, {"note": "Rome"})
    assert thread.state.agenda == ()


def test_an_optional_follow_up_gives_way_to_other_work_and_a_required_one_does_not() -> None:
    for mode, left in (("optional", []), ("required", [("weather.find", "waiting_input")])):
        thread = talk()
        thread.results["weather.find"] = follow_up(mode=mode)
        thread.say(wants("weather.find"))
        thread.say(wants("guest.find"))
        assert thread.statuses == left


def test_an_optional_question_does_not_displace_a_required_one() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(question("city"))
    thread.results["guest.find"] = NeedsInput(question("who", mode="optional"))
    thread.say(wants("weather.find"))
    thread.say(wants("guest.find"))
    assert thread.asked == "weather.find"
    assert thread.item("guest.find").optional_input


def test_a_capability_dismisses_its_own_follow_up_and_nobody_elses() -> None:
    thread = talk()
    thread.results["weather.find"] = follow_up()
    thread.results["guest.find"] = follow_up()
    thread.say(wants("weather.find"))
    thread.say(wants("guest.find"))
    thread.results["guest.find"] = replace(DONE, interaction=None)
    thread.say(wants("guest.find"))
    assert thread.asked == "weather.find"


def test_an_open_question_whose_item_is_gone_is_not_kept() -> None:
    thread = talk()
    thread.state = replace(thread.state, interaction=question("orphan"))
    thread.say(wants("weather.find"))
    assert thread.state.interaction is None


def choice(target: str | None = "stay.find") -> Interaction:
    options = [{"id": "stay", "label": "The stay", "value": "s", "target_capability_id": target}]
    return question("menu", "choice", options=options)


def test_a_choice_for_a_capability_that_cannot_run_yet_is_kept_for_its_intention() -> None:
    """D8."""
    thread = talk()
    thread.results["weather.find"] = replace(DONE, interaction=choice())
    thread.say(wants("weather.find"))
    turn = thread.say(wants("stay.find", "Rome"), answer="s", said="the stay")
    assert (turn.codes, list(turn.ended.values())) == ([("stay.find", "MISSING_REQUIRED_FACTS")], ["answered"])
    kept = thread.item("stay.find").deferred_choice_answer
    assert kept is not None
    assert (kept.answer.value, kept.interaction.id) == ("s", "menu")
    thread.results["guest.find"] = published(fact("guest"))
    turn = thread.say(wants("guest.find"))
    assert [s.capability_id for s in turn.ran] == ["guest.find", "stay.find"]
    assert turn.ran[1].answer == kept.answer
    assert thread.state.agenda == ()


def test_a_choice_that_was_delivered_is_not_delivered_again() -> None:
    """D8."""
    thread = talk()
    thread.results["weather.find"] = replace(DONE, interaction=choice())
    thread.say(wants("weather.find"))
    thread.results["stay.find"] = NeedsInput(question("when"))
    thread.results["guest.find"] = published(fact("guest"))
    thread.say(wants("stay.find"), answer="s")
    thread.say(wants("guest.find"))
    assert (thread.item("stay.find").status, thread.item("stay.find").deferred_choice_answer) == ("waiting_input", None)


def test_a_new_request_for_the_same_capability_ends_the_kept_choice() -> None:
    """D8."""
    thread = talk()
    thread.results["weather.find"] = replace(DONE, interaction=choice())
    thread.say(wants("weather.find"))
    thread.say(wants("stay.find", "a"), answer="s")
    thread.say(wants("stay.find", "b"))
    assert thread.item("stay.find").deferred_choice_answer is None


def test_a_choice_that_leads_elsewhere_never_runs_the_capability_that_asked() -> None:
    thread = talk()
    thread.results["weather.find"] = asks(choice("guest.find"))
    thread.say(wants("weather.find"))
    assert thread.say(answer="s").ran == []
    turn = thread.say(wants("guest.find"), answer="s")
    assert [s.capability_id for s in turn.ran] == ["guest.find"]
    assert turn.ran[0].answer is not None
    assert thread.statuses == [("weather.find", "waiting_input")], "its own work is not done yet"


def test_what_was_private_of_unfinished_work_stays_private_while_it_is_unfinished() -> None:
    thread = talk()
    thread.results["weather.find"] = NeedsInput(question("city"), model_redactions=("secret-1",))
    thread.say(wants("weather.find"))
    thread.results["weather.find"] = NeedsInput(question("day"), model_redactions=("secret-2",))
    thread.say(answer="x")
    assert thread.item("weather.find").model_redactions == ("secret-1", "secret-2")


@pytest.mark.parametrize("continuation", [0, False, "", [], {}, None])
def test_a_continuation_may_be_any_json(continuation: object) -> None:
    thread = talk()
    result: CapabilityResult = NeedsInput(question("city"), continuation)  # type: ignore[arg-type]
    thread.results["weather.find"] = result
    thread.say(wants("weather.find"))
    assert thread.item("weather.find").continuation == continuation
    assert type(thread.item("weather.find").continuation) is type(continuation)

"""Dependencies of steps within a turn, and providers that are started for a step (contract 2.8, 2.11; D5 to D7)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from intention_kernel.agent.results import CapabilityIssue, Failed, NeedsDependency, NeedsInput
from intention_kernel.contracts.agenda import BlockedReceipt
from intention_kernel.contracts.facts import FactReference
from intention_kernel.errors import CapabilityContractError
from intention_kernel.runtime.stages.outcomes import BlockedResult

from tests.support.kernel import agent, capability, write
from tests.support.planning import DONE, Talk, declared, fact, published, question, required, wants

GUEST = capability("guest.find", provides=(declared("guest"),))
STAY = capability("stay.find", requires=(required("guest"),))
RUNTIME_STAY = capability("stay.find", requires=(required("guest", resolution="runtime"),))


def talk(*capabilities: object) -> Talk:
    thread = Talk(agent(*capabilities))  # type: ignore[arg-type]
    thread.results["guest.find"] = published(fact("guest"))
    return thread


@pytest.mark.parametrize("order", [("guest.find", "stay.find"), ("stay.find", "guest.find")])
def test_a_step_waits_for_the_step_of_its_turn_that_provides_its_fact(order: tuple[str, str]) -> None:
    turn = talk(GUEST, STAY).say(*map(wants, order))
    steps = {step.capability_id: step for step in turn.plan.steps}
    assert [step.capability_id for step in turn.plan.steps] == list(order)
    assert steps["stay.find"].depends_on == (steps["guest.find"].id,)
    assert steps["guest.find"].depends_on == ()
    assert turn.codes == [(capability_id, "READY") for capability_id in order]


def test_a_fact_that_is_there_makes_no_step_wait() -> None:
    thread = talk(GUEST, STAY)
    thread.say(wants("guest.find"))
    turn = thread.say(wants("guest.find"), wants("stay.find"))
    assert [step.depends_on for step in turn.plan.steps] == [(), ()]


def test_another_version_of_a_fact_does_not_satisfy() -> None:
    """D2."""
    guest = capability("guest.find", provides=(declared("guest", version=2),))
    old = capability("guest.old", provides=(declared("guest"),))
    thread = Talk(agent(guest, old, STAY))
    thread.results["guest.find"] = published(fact("guest", version=2))
    thread.say(wants("guest.find"))
    assert thread.say(wants("stay.find")).codes == [("stay.find", "MISSING_REQUIRED_FACTS")]


def test_a_missing_fact_is_asked_for_and_the_step_goes_on_by_itself_once_it_is_there() -> None:
    thread = talk(GUEST, STAY)
    assert thread.say(wants("stay.find", "Rome")).codes == [("stay.find", "MISSING_REQUIRED_FACTS")]
    assert thread.state.interaction is not None
    assert thread.state.interaction.requested_facts == ("guest",)
    assert thread.state.interaction.goal == "Before I can go on I need this: the guest."
    turn = thread.say(wants("guest.find"))
    assert turn.codes == [("guest.find", "READY"), ("stay.find", "READY")]
    assert (turn.ran[1].input, turn.ran[1].trigger) == ({"note": "Rome"}, "resume")
    assert thread.is_idle


def test_a_provider_that_waits_for_a_confirmation_has_promised_nothing() -> None:
    thread = talk(write("guest.find", provides=(declared("guest"),)), STAY)
    turn = thread.say(wants("guest.find"), wants("stay.find"))
    assert turn.codes == [("guest.find", "CONFIRMATION_REQUIRED"), ("stay.find", "MISSING_REQUIRED_FACTS")]

    thread.show("guest.find")
    turn = thread.say(answer=True)
    assert turn.codes == [("guest.find", "CONFIRMATION_ACCEPTED"), ("stay.find", "READY")]


def test_what_waits_for_a_step_that_cannot_run_waits_too() -> None:
    tour = capability("tour.find", requires=(required("stay"),))
    stay = capability("stay.find", requires=(required("guest"),), provides=(declared("stay"),))
    thread = talk(GUEST, stay, tour)
    thread.results["stay.find"] = published(fact("stay"))
    turn = thread.say(wants("tour.find"), wants("stay.find"))
    assert turn.codes == [("tour.find", "MISSING_REQUIRED_FACTS"), ("stay.find", "MISSING_REQUIRED_FACTS")]
    turn = thread.say(wants("guest.find"))
    assert [step.capability_id for step in turn.ran] == ["guest.find", "stay.find", "tour.find"]


def test_a_runtime_requirement_waits_for_a_provider_that_was_asked_for_in_the_turn() -> None:
    """D6."""
    turn = talk(GUEST, RUNTIME_STAY).say(wants("stay.find"), wants("guest.find"))
    assert turn.plan.steps[0].depends_on == (turn.plan.steps[1].id,)


def test_a_runtime_requirement_that_nobody_provides_is_left_to_the_capability() -> None:
    assert talk(GUEST, RUNTIME_STAY).say(wants("stay.find")).codes == [("stay.find", "READY")]


def test_a_runtime_requirement_does_not_wait_for_a_provider_that_an_answer_merely_resumes() -> None:
    """D6."""
    thread = talk(GUEST, RUNTIME_STAY)
    thread.results["guest.find"] = lambda s: published(fact("guest")) if s.answer else NeedsInput(question("who"))
    thread.say(wants("guest.find"))
    turn = thread.say(wants("stay.find"), answer="Ann")
    assert [(s.capability_id, s.depends_on) for s in turn.plan.steps] == [("guest.find", ()), ("stay.find", ())]


def test_a_consumer_of_a_provider_that_asks_first_waits_for_its_fact() -> None:
    """D7."""
    thread = talk(GUEST, STAY)
    thread.results["guest.find"] = lambda s: published(fact("guest")) if s.answer else NeedsInput(question("who"))
    thread.say(wants("guest.find"), wants("stay.find"))
    waiting = thread.item("stay.find")
    assert (waiting.status, [f.key for f in waiting.missing_facts]) == ("waiting_facts", ["guest@1"])
    assert waiting.dependencies == (thread.item("guest.find").id,)
    assert waiting.owned_dependency_ids == ()
    turn = thread.say(answer="Ann")
    assert [step.capability_id for step in turn.ran] == ["guest.find", "stay.find"]
    assert thread.state.agenda == ()


def test_a_consumer_of_a_provider_that_fails_is_told() -> None:
    """D7."""
    thread = talk(GUEST, STAY)
    thread.results["guest.find"] = Failed(CapabilityIssue("NOBODY", "Nobody of that name."))
    turn = thread.say(wants("guest.find"), wants("stay.find"))
    issues = [issue.issue.code for issue in turn.batches[0].reduction.issues]
    assert issues == ["NOBODY", "DEPENDENCY_NOT_COMPLETED"]
    assert thread.statuses == [("guest.find", "blocked"), ("stay.find", "blocked")]


NEEDS_GUEST = NeedsDependency(FactReference(type="guest"), "guest.find", {"note": "who"}, continuation={"page": 2})


def needing(thread: Talk) -> Talk:
    """The stay asks for the guest while the fact is not there."""
    thread.results["stay.find"] = lambda step: DONE if "guest@1" in thread.state.facts else NEEDS_GUEST
    return thread


def test_a_provider_that_a_step_asks_for_is_started_and_the_step_goes_on_with_its_continuation() -> None:
    thread = needing(talk(GUEST, RUNTIME_STAY))
    turn = thread.say(wants("stay.find", "Rome"))
    assert [(s.capability_id, s.trigger, s.input) for s in turn.ran] == [
        ("stay.find", "user", {"note": "Rome"}),
        ("guest.find", "dependency", {"note": "who"}),
        ("stay.find", "resume", {"note": "Rome"}),
    ]
    assert turn.ran[2].continuation == {"page": 2}
    assert thread.state.agenda == ()


def test_a_provider_goes_through_the_same_checks_as_a_step_of_the_user() -> None:
    thread = needing(talk(write("guest.find", provides=(declared("guest"),)), RUNTIME_STAY))
    turn = thread.say(wants("stay.find"))
    assert turn.codes == [("stay.find", "READY"), ("guest.find", "CONFIRMATION_REQUIRED")]
    stay, guest = thread.item("stay.find"), thread.item("guest.find")
    assert (stay.owned_dependency_ids, stay.dependencies, thread.asked) == ((guest.id,), (guest.id,), "guest.find")
    assert [s.capability_id for s in thread.say(answer=True).ran] == ["guest.find", "stay.find"]
    assert thread.state.agenda == ()


def test_a_provider_that_asks_the_user_is_started_once() -> None:
    thread = needing(talk(GUEST, RUNTIME_STAY))
    thread.results["guest.find"] = lambda s: published(fact("guest")) if s.answer else NeedsInput(question("who"))
    assert len(thread.say(wants("stay.find")).ran) == 2
    assert thread.say().ran == [], "it waits for the answer, and is not started again"
    turn = thread.say(answer="Ann")
    assert [s.capability_id for s in turn.ran] == ["guest.find", "stay.find"]
    assert thread.state.agenda == ()


def test_a_provider_goes_with_the_consumer_that_it_was_started_for() -> None:
    thread = needing(talk(GUEST, RUNTIME_STAY))
    thread.results["guest.find"] = NeedsInput(question("who"))
    thread.say(wants("stay.find"))
    turn = thread.say(cancel=[thread.item("stay.find").id])
    assert sorted(turn.ended.values()) == ["cancelled", "unneeded"]
    assert (thread.state.agenda, thread.state.interaction) == ((), None)


def test_a_consumer_that_goes_on_without_its_provider_still_owns_it() -> None:
    thread = needing(talk(GUEST, RUNTIME_STAY))
    thread.results["guest.find"] = NeedsInput(question("who"))
    thread.say(wants("stay.find"))
    donor = talk(GUEST)
    donor.say(wants("guest.find"))
    stay = thread.item("stay.find").model_copy(update={"dependencies": ()})
    others = (item for item in thread.state.agenda if item.id != stay.id)
    thread.state = replace(thread.state, facts=donor.state.facts, agenda=(stay, *others))
    thread.results["stay.find"] = NeedsInput(question("when"))
    thread.say()
    assert thread.item("stay.find").owned_dependency_ids == (thread.item("guest.find").id,)


def test_a_provider_whose_receipt_is_uncertain_stays_when_its_consumer_is_gone() -> None:
    """Nobody knows whether it went through: that is not forgotten because nobody needs the fact any more."""
    thread = needing(talk(write("guest.find", confirmation="capability", provides=(declared("guest"),)), RUNTIME_STAY))
    receipt = BlockedReceipt(effect_key="guest.find:1", receipt_id="r1", title="the guest")
    thread.results["guest.find"] = BlockedResult((receipt,))
    thread.say(wants("stay.find"))
    assert set(thread.say(cancel=[thread.item("stay.find").id]).ended.values()) == {"cancelled"}
    assert thread.statuses == [("guest.find", "blocked")]


def test_a_provider_that_waits_already_is_waited_for_and_owned_by_nobody() -> None:
    thread = needing(talk(GUEST, RUNTIME_STAY))
    thread.results["guest.find"] = lambda s: published(fact("guest")) if s.answer else NeedsInput(question("who"))
    thread.say(wants("guest.find"))
    thread.say(wants("stay.find"))
    stay, guest = thread.item("stay.find"), thread.item("guest.find")
    assert (stay.dependencies, stay.owned_dependency_ids) == ((guest.id,), ())
    thread.say(cancel=[stay.id])
    assert thread.statuses == [("guest.find", "waiting_input")]


def test_a_fresh_request_for_a_provider_takes_it_away_from_the_consumer_that_started_it() -> None:
    thread = needing(talk(GUEST, RUNTIME_STAY))
    thread.results["guest.find"] = NeedsInput(question("who"))
    thread.say(wants("stay.find"))
    thread.say(wants("guest.find", "Ann"))
    stay, guest = thread.item("stay.find"), thread.item("guest.find")
    assert (stay.dependencies, stay.owned_dependency_ids) == ((guest.id,), ())


@pytest.mark.parametrize(
    ("needs", "code"),
    [
        (NeedsDependency(FactReference(type="guest"), "stay.find", {}), "DYNAMIC_DEPENDENCY_SELF_REFERENCE"),
        (NeedsDependency(FactReference(type="guest"), "gone", {}), "DYNAMIC_DEPENDENCY_PROVIDER_NOT_REGISTERED"),
        (NeedsDependency(FactReference(type="other"), "guest.find", {}), "DYNAMIC_DEPENDENCY_FACT_NOT_PROVIDED"),
    ],
)
def test_a_dependency_that_cannot_be_met_is_a_mistake_of_the_capability(needs: NeedsDependency, code: str) -> None:
    thread = talk(GUEST, RUNTIME_STAY)
    thread.results["stay.find"] = needs
    with pytest.raises(CapabilityContractError, match=code):
        thread.say(wants("stay.find"))

"""What the kernel goes on with by itself (contract 2.11)."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.agent.policy import Allow, Deny, PolicyContext, PolicyDefinition, Verdict
from intention_kernel.agent.results import CapabilityIssue, Failed, NeedsDependency, NeedsInput
from intention_kernel.contracts.facts import FactReference

from tests.support.kernel import agent, capability, write
from tests.support.planning import DONE, Talk, declared, fact, published, question, required, wants

GUEST = capability("guest.find", provides=(declared("guest"),))
RATES = capability("rates.find", provides=(declared("rates"),))
NEEDS_GUEST = NeedsDependency(FactReference(type="guest"), "guest.find", {"note": "who"})
NEEDS_RATES = NeedsDependency(FactReference(type="rates"), "rates.find", {"note": "now"})


def talk(*more: object) -> Talk:
    thread = Talk(agent(GUEST, RATES, *more))  # type: ignore[arg-type]
    thread.results["guest.find"] = published(fact("guest"))
    thread.results["rates.find"] = published(fact("rates"))
    return thread


def test_a_step_may_need_one_fact_after_the_other_in_one_turn() -> None:
    thread = talk(capability("stay.find"))

    def stay(step: object) -> object:
        known = thread.state.facts
        return NEEDS_GUEST if "guest@1" not in known else NEEDS_RATES if "rates@1" not in known else DONE

    thread.results["stay.find"] = stay  # type: ignore[assignment]
    turn = thread.say(wants("stay.find"))
    assert [s.capability_id for s in turn.ran] == ["stay.find", "guest.find", "stay.find", "rates.find", "stay.find"]
    assert thread.state.agenda == ()


def test_a_step_that_asks_for_the_same_fact_again_and_again_gets_it_once_in_a_turn() -> None:
    thread = talk(capability("stay.find"))
    thread.results["stay.find"] = NEEDS_GUEST
    turn = thread.say(wants("stay.find"))
    assert [s.capability_id for s in turn.ran] == ["stay.find", "guest.find", "stay.find"]
    assert thread.statuses == [("stay.find", "waiting_facts")]


def test_a_fact_that_another_step_of_the_batch_published_needs_no_provider() -> None:
    thread = talk(capability("stay.find"))
    thread.results["stay.find"] = lambda step: DONE if "guest@1" in thread.state.facts else NEEDS_GUEST
    turn = thread.say(wants("stay.find"), wants("guest.find"))
    assert [(s.capability_id, s.trigger) for s in turn.ran] == [
        ("stay.find", "user"),
        ("guest.find", "user"),
        ("stay.find", "resume"),
    ]


def test_what_waits_for_a_fresh_fact_goes_on_before_what_waits_longest() -> None:
    old = capability("old.find", requires=(required("rates"),))
    young = capability("young.find", requires=(required("guest"),))
    thread = talk(old, young)
    thread.say(wants("old.find"))
    thread.say(wants("young.find"))
    donor = talk()
    donor.say(wants("rates.find"))
    thread.state = replace(thread.state, facts=donor.state.facts)
    turn = thread.say(wants("guest.find"))
    assert [s.capability_id for s in turn.ran] == ["guest.find", "young.find", "old.find"]


def test_what_wants_a_newer_fact_waits_for_its_provider_although_an_old_one_is_there() -> None:
    thread = talk(capability("stay.find"))
    thread.say(wants("guest.find"))
    thread.results["stay.find"] = NEEDS_GUEST
    thread.results["guest.find"] = lambda s: (
        published(fact("guest", "new")) if s.answer else NeedsInput(question("who"))
    )
    assert [s.capability_id for s in thread.say(wants("stay.find")).ran] == ["stay.find", "guest.find"]
    assert thread.say().ran == []
    thread.results["stay.find"] = DONE
    assert [s.capability_id for s in thread.say(answer="Ann").ran] == ["guest.find", "stay.find"]


def test_an_item_goes_on_only_when_all_of_its_facts_are_there() -> None:
    thread = talk(capability("stay.find", requires=(required("guest"), required("rates"))))
    thread.say(wants("stay.find"))
    assert thread.say(wants("guest.find")).codes == [("guest.find", "READY")]
    assert thread.say(wants("rates.find")).codes == [("rates.find", "READY"), ("stay.find", "READY")]


def test_a_provider_that_is_denied_leaves_the_consumer_waiting_and_the_reason_in_the_plan() -> None:
    def by_trust(context: PolicyContext) -> Verdict:
        return Deny("not for guests") if context.capability_id == "guest.find" else Allow()

    made = agent(GUEST, capability("stay.find"), policies=(PolicyDefinition("trust", by_trust),))
    thread = Talk(made)
    thread.results["stay.find"] = NEEDS_GUEST
    turn = thread.say(wants("stay.find"))
    assert turn.codes == [("stay.find", "READY"), ("guest.find", "POLICY_DENIED")]
    assert thread.statuses == [("stay.find", "waiting_facts")]


def test_a_provider_that_fails_is_told_and_not_tried_again_in_the_turn() -> None:
    thread = talk(capability("stay.find"))
    thread.results["stay.find"] = NEEDS_GUEST
    thread.results["guest.find"] = Failed(CapabilityIssue("NOBODY", "Nobody of that name."))
    turn = thread.say(wants("stay.find"))
    assert [s.capability_id for s in turn.ran] == ["stay.find", "guest.find"]
    assert [issue.issue.code for issue in turn.batches[1].reduction.issues] == ["NOBODY"]


def test_an_open_confirmation_does_not_stop_other_work_and_is_there_afterwards() -> None:
    thread = talk(write("hotel.book"), capability("stay.find", requires=(required("guest"),)))
    thread.say(wants("stay.find"))
    thread.say(wants("hotel.book"))
    thread.show("hotel.book")
    before = thread.state.interaction
    turn = thread.say(wants("guest.find"))
    assert [s.capability_id for s in turn.ran] == ["guest.find", "stay.find"]
    assert thread.state.interaction == before


def test_a_question_of_the_users_own_request_is_not_displaced_by_what_starts_by_itself() -> None:
    thread = talk(capability("stay.find", requires=(required("guest"),)), capability("weather.find"))
    thread.say(wants("stay.find"))
    thread.results["weather.find"] = NeedsInput(question("city"))
    thread.results["stay.find"] = NeedsInput(question("when"))
    thread.say(wants("weather.find"), wants("guest.find"))
    assert thread.asked == "weather.find"
    thread.results["weather.find"] = DONE
    thread.say(answer="Rome")
    assert thread.asked == "stay.find"


def test_the_key_of_an_activation_is_the_same_on_every_attempt() -> None:
    def once() -> list[str]:
        thread = talk(capability("stay.find"))
        thread.results["stay.find"] = NEEDS_GUEST
        return [step.intention.id for step in thread.say(wants("stay.find")).ran]

    assert once() == once()
    assert once()[1] == "automatic:dependency:agenda:turn-1-step-1:guest@1"

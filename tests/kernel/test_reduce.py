"""What results make of facts (contract 2.10; D1 to D4), and which of them are mistakes of a capability."""

from __future__ import annotations

from dataclasses import replace

import pytest
from intention_kernel.agent.results import (
    CanonicalResponse,
    CapabilityResult,
    Completed,
    NeedsConfirmation,
    NeedsInput,
    ResponseClaim,
)
from intention_kernel.contracts.facts import FactReference
from intention_kernel.errors import CapabilityContractError

from tests.support.kernel import agent, capability, write
from tests.support.planning import DONE, Talk, declared, fact, published, question, wants

SEEN = published()


def find(**members: object) -> Talk:
    """One read that provides `guest` and `room`."""
    provides = (declared("guest"), declared("room"))
    return Talk(agent(capability("guest.find", **({"provides": provides} | members)), capability("other.do")))


def run(thread: Talk, result: CapabilityResult) -> Talk:
    thread.results["guest.find"] = result
    thread.say(wants("guest.find"))
    return thread


def test_a_published_fact_says_where_it_comes_from_and_holds_its_evidence() -> None:
    """C3."""
    thread = run(find(), published(fact("guest", {"name": "Ann"})))
    record = thread.state.facts["guest@1"]
    assert record.value == {"name": "Ann"}
    made = record.produced_by
    assert (made.capability_id, made.capability_version, made.turn_id) == ("guest.find", 1, "turn-1")
    assert made.step_id == "turn-1-step-1"
    assert [(e.id, e.content) for e in record.evidence] == [("seen", "the provider said so")]


def test_a_fact_holds_only_the_evidence_that_it_cites() -> None:
    uncited = fact("guest").model_copy(update={"evidence_ids": ()})
    thread = run(find(), published(uncited, fact("room")))
    assert [len(thread.state.facts[key].evidence) for key in ("guest@1", "room@1")] == [0, 1]


def test_a_fact_is_as_visible_as_it_was_declared_and_private_strings_are_derived_from_its_value() -> None:
    def names(value: object) -> tuple[str, ...]:
        return ("Ann", "Ann", "no")

    declaration = declared("guest", model_visibility="hidden", derive_model_redactions=names)
    thread = run(find(provides=(declaration,)), published(fact("guest")))
    record = thread.state.facts["guest@1"]
    assert (record.model_visibility, record.model_redactions) == ("hidden", ("Ann",))


def test_a_result_that_is_not_completed_publishes_nothing() -> None:
    """D3."""
    thread = run(find(), NeedsInput(question("who")))
    assert thread.state.facts == {}


def chain() -> Talk:
    """guest ← stay ← bill, and tour, which depends on nothing."""
    thread = Talk(
        agent(
            capability("guest.find", provides=(declared("guest"),)),
            capability("stay.find", provides=(declared("stay"),)),
            capability("bill.find", provides=(declared("bill"),)),
            capability("tour.find", provides=(declared("tour"),), invalidates=(FactReference(type="stay"),)),
        )
    )
    thread.results["guest.find"] = published(fact("guest"))
    thread.results["stay.find"] = published(fact("stay", depends_on=("guest",)))
    thread.results["bill.find"] = published(fact("bill", depends_on=("stay",)))
    thread.results["tour.find"] = published(fact("tour"))
    for capability_id in ("tour.find", "guest.find", "stay.find", "bill.find"):
        thread.say(wants(capability_id))
    return thread


def test_replacing_a_fact_makes_all_that_was_made_from_it_invalid_and_nothing_else() -> None:
    """D4."""
    thread = chain()
    (batch,) = thread.say(wants("guest.find")).batches
    assert sorted(thread.state.facts) == ["guest@1", "tour@1"]
    assert [record.type for record in batch.reduction.invalidated] == ["guest", "stay", "bill"]
    assert [record.type for record in batch.reduction.published] == ["guest"]


def test_a_capability_invalidates_what_it_declares_and_its_descendants() -> None:
    thread = chain()
    thread.say(wants("tour.find"))
    assert sorted(thread.state.facts) == ["guest@1", "tour@1"]


def test_nothing_is_invalid_before_the_provider_has_succeeded() -> None:
    """D4."""
    thread = chain()
    thread.results["guest.find"] = NeedsInput(question("who"))
    thread.say(wants("guest.find"))
    assert sorted(thread.state.facts) == ["bill@1", "guest@1", "stay@1", "tour@1"]


def test_a_capability_that_asks_first_may_invalidate_what_it_declares() -> None:
    thread = chain()
    thread.results["stay.find"] = NeedsInput(question("which"), invalidates=(FactReference(type="stay"),))
    thread.say(wants("stay.find"))
    assert sorted(thread.state.facts) == ["guest@1", "tour@1"]


def canonical(message: str, *claims: ResponseClaim, required: bool = False) -> Completed:
    return replace(SEEN, canonical_response=CanonicalResponse(message, claims, required))


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (published(fact("stranger")), "UNDECLARED_FACT"),
        (published(fact("guest", version=2)), "UNDECLARED_FACT"),
        (replace(DONE, facts=(fact("guest"),)), "UNKNOWN_EVIDENCE"),
        (NeedsInput(question("who"), invalidates=(FactReference(type="x"),)), "UNDECLARED_FACT_INVALIDATION"),
        (canonical(" "), "INVALID_CANONICAL_RESPONSE"),
        (canonical("It is warm.", required=True), "INVALID_CANONICAL_RESPONSE"),
        (canonical("It is warm.", ResponseClaim("cold", ("seen",))), "INVALID_CANONICAL_RESPONSE"),
        (canonical("It is warm.", ResponseClaim("", ("seen",))), "INVALID_CANONICAL_RESPONSE"),
        (canonical("It is warm.", ResponseClaim("warm", ())), "INVALID_CANONICAL_RESPONSE"),
        (canonical("It is warm.", ResponseClaim("warm", ("heard",))), "INVALID_CANONICAL_RESPONSE"),
        (NeedsConfirmation(question("sure", "confirmation"), {}), "CONFIRMATION_NOT_ALLOWED"),
    ],
)
def test_a_result_that_its_definition_does_not_allow_is_a_mistake_of_the_capability(
    result: CapabilityResult, code: str
) -> None:
    thread = find()
    before = thread.state
    with pytest.raises(CapabilityContractError) as raised:
        run(thread, result)
    assert (raised.value.code, raised.value.capability_id) == (code, "guest.find")
    assert thread.state == before


def test_redactions_that_are_no_strings_are_a_mistake_of_the_capability() -> None:
    declaration = declared("guest", derive_model_redactions=lambda value: "Ann")
    with pytest.raises(CapabilityContractError, match="INVALID_MODEL_REDACTIONS"):
        run(find(provides=(declaration,)), published(fact("guest")))


def test_a_capability_that_asks_for_consent_asks_with_a_confirmation() -> None:
    thread = Talk(agent(write("hotel.book", confirmation="capability")))
    thread.results["hotel.book"] = NeedsConfirmation(question("sure", "choice"), {})
    with pytest.raises(CapabilityContractError, match="INVALID_CAPABILITY_INTERACTION"):
        thread.say(wants("hotel.book"))


def test_words_that_a_capability_may_say_are_accepted() -> None:
    claim = ResponseClaim("It is warm.", ("seen",))
    assert run(find(), canonical("It is warm.", claim, required=True)).state.agenda == ()

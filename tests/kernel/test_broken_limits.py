"""Definitions at their limits: a turn that did something can always tell it."""

from __future__ import annotations

import pytest
from intention_kernel.agent import (
    CanonicalResponse,
    CapabilityExecutionContext,
    CapabilityResult,
    Completed,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    FactRequirement,
)
from intention_kernel.testing import ConversationScript, Talk
from pydantic import BaseModel

from tests.support.kernel import Anything, agent, capability, write


class Order(BaseModel):
    """An order by its number."""

    number: int = 0


async def test_work_for_which_a_turn_has_no_steps_left_goes_on_in_the_next_turn() -> None:
    async def know(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        seen = EvidenceRecord(id="crm", source="external", content="It is customer 3.")
        fact = FactCandidate(type="customer", value=3, evidence_ids=("crm",))
        return Completed(Anything(), facts=(fact,), evidence=(seen,), canonical_response=CanonicalResponse("Hello, 3."))

    async def look(context: CapabilityExecutionContext, order: Order) -> CapabilityResult:
        return Completed(Anything(), canonical_response=CanonicalResponse(f"Order {order.number} is open."))

    script = ConversationScript()
    wishes = script.when("look")
    for number in (1, 2, 3):
        wishes.proposes("order.look", {"number": number})
    script.when("I am 3").proposes("customer.know")
    script.when("thanks").says("Gladly.")
    needs = (FactRequirement("customer", "who the customer is"),)
    talk = Talk(
        agent(
            capability("customer.know", execute=know, provides=(FactDeclaration("customer"),)),
            capability("order.look", input=Order, execute=look, requires=needs),
            max_steps=3,
        ),
        script,
    )
    await talk.says("look")
    turn = await talk.says("I am 3")
    assert turn.capabilities == ("customer.know", "order.look", "order.look")
    turn.says("Hello, 3.")
    assert [item.intention.input for item in talk.agenda] == [{"number": 3}]
    turn = await talk.says("thanks")
    assert turn.capabilities == ("order.look",)
    assert talk.agenda == ()


@pytest.mark.parametrize("seconds", [1e12, 1e300])
async def test_a_question_that_is_open_longer_than_any_date_does_not_expire(seconds: float) -> None:
    script = ConversationScript()
    script.when("write").proposes("note.write")
    talk = Talk(agent(write("note.write", expires_seconds=seconds)), script)
    turn = await talk.says("write")
    turn.asks("confirmation")
    assert talk.interaction is not None
    assert talk.interaction.expires_at is None


async def test_a_large_output_is_told_by_its_digest_and_fails_no_turn() -> None:
    """Observation never makes a turn fail, least of all once its effect is done (design 6)."""

    async def fetch(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        return Completed(Anything(note="x" * 1_500_000), canonical_response=CanonicalResponse("Fetched."))

    script = ConversationScript()
    script.when("fetch").proposes("file.fetch")
    turn = await Talk(agent(capability("file.fetch", execute=fetch)), script).says("fetch")
    turn.says_exactly("Fetched.")
    told = turn.event("capability.completed").data
    assert isinstance(told, dict)
    assert sorted(told) == ["bytes", "digest"]

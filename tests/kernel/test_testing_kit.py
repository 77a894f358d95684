"""The testing kit: what a talk does, and that every assertion fails where it should and says what there was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from intention_kernel.agent import (
    CanonicalResponse,
    CapabilityExecutionContext,
    CapabilityIssue,
    CapabilityResult,
    CompiledAgent,
    Completed,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    Failed,
    InteractionSelection,
    JsonValue,
    RunTurnInput,
    RunTurnResult,
)
from intention_kernel.agent.effect import EffectAuthority
from intention_kernel.errors import EffectNotAppliedError, ModelGatewayError, TurnNotCommittedError
from intention_kernel.testing import START, ConversationScript, EventCollector, MemoryDurability, Talk, fails
from pydantic import BaseModel

from tests.support.kernel import Anything, agent, capability, write


class Order(BaseModel):
    """An order by its number."""

    number: int


class Shop:
    """Counts what really reached it."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []
        self.refuses = False

    async def cancel(self, authority: EffectAuthority) -> JsonValue:
        if self.refuses:
            raise EffectNotAppliedError("The shop is closed.")
        self.cancelled.append(authority.idempotency_key)
        return {"cancelled": len(self.cancelled)}


async def _find(context: CapabilityExecutionContext, order: Order) -> CapabilityResult:
    if order.number > 100:
        return Failed(CapabilityIssue("ORDER_NOT_FOUND", f"There is no order {order.number}."))
    seen = EvidenceRecord(id="shop", source="external", content=f"Order {order.number} is open.")
    fact = FactCandidate(type="order", value={"number": order.number}, evidence_ids=("shop",))
    words = CanonicalResponse(f"Order {order.number} is open.")
    return Completed(Anything(), facts=(fact,), evidence=(seen,), canonical_response=words)


async def _cancel(context: CapabilityExecutionContext, order: Order) -> CapabilityResult:
    shop = context.ports["shop"]
    assert isinstance(shop, Shop)
    await context.run_effect(str(order.number), shop.cancel)
    return Completed(Anything(), canonical_response=CanonicalResponse(f"Order {order.number} is cancelled."))


def _agent(**members: object) -> CompiledAgent:
    find = capability("order.find", input=Order, execute=_find, provides=(FactDeclaration("order"),))
    return agent(find, write("order.cancel", input=Order, execute=_cancel, result=dict, **members))


def _script() -> ConversationScript:
    script = ConversationScript()
    script.when("Where is 7?").proposes("order.find", {"number": 7})
    script.when("Where is 700?").proposes("order.find", {"number": 700})
    script.when("Cancel 7").proposes("order.cancel", {"number": 7})
    script.when("Yes!").answers(True)
    script.when("Hello").says("Good morning.")
    return script


def _talk() -> tuple[Talk, Shop]:
    shop = Shop()
    return Talk(_agent(), _script(), ports={"shop": shop}), shop


async def test_a_talk_tells_what_was_said_asked_done_and_remembered() -> None:
    talk, shop = _talk()
    turn = await talk.says("Where is 7?")
    turn.says_exactly("Order 7 is open.")
    turn.asks_nothing()
    turn.applied_nothing()
    assert (turn.capabilities, turn.models) == (("order.find",), ("capability.select", "turn.interpret"))
    assert talk.facts == {"order@1": {"number": 7}}
    assert talk.fact("order").produced_by.turn_id == turn.result.turn_id
    turn = await talk.says("Cancel 7")
    assert turn.asks("confirmation", "order.cancel (number: 7)") == turn.interaction
    turn.plans("order.cancel", "CONFIRMATION_REQUIRED")
    assert talk.unfinished("order.cancel").status == "waiting_confirmation"
    assert shop.cancelled == []
    turn = await talk.says("Yes!")
    assert turn.applied("order.cancel:7").value == {"cancelled": 1}
    assert (talk.agenda, talk.interaction) == ((), None)
    assert talk.effect("order.cancel:7").payload == {"number": 7}
    assert [t.result.turn_id for t in talk.turns] == ["turn-1", "turn-2", "turn-3"]


@pytest.mark.parametrize("option", ["no", "No"])
async def test_a_click_names_an_option_by_id_or_label_and_needs_no_model_to_be_understood(option: str) -> None:
    talk, shop = _talk()
    await talk.says("Cancel 7")
    turn = await talk.clicks(option)
    turn.plans("order.cancel", "CONFIRMATION_DECLINED")
    assert set(turn.models) == {"response.compose", "response.grounding-review"}
    assert shop.cancelled == []


async def test_a_click_on_nothing_is_a_mistake_of_the_test_and_a_late_one_reaches_the_kernel() -> None:
    talk, _ = _talk()
    with pytest.raises(AssertionError, match="no question is open"):
        await talk.clicks("yes")
    asked = (await talk.says("Cancel 7")).asks("confirmation")
    with pytest.raises(AssertionError, match=r"(?s)no option 'maybe'.*yes: Yes.*no: No"):
        await talk.clicks("maybe")
    await talk.clicks("yes")
    turn = await talk.selects(InteractionSelection(interaction_id=asked.id, option_id="yes"))
    turn.event("interaction.refused")
    turn.applied_nothing()


async def test_a_lost_reply_blocks_the_turn_and_a_settlement_goes_on_without_a_second_call() -> None:
    talk, shop = _talk()
    await talk.says("Cancel 7")
    talk.loses_reply("order.cancel")
    turn = await talk.clicks("yes")
    receipt = turn.waits_for("order.cancel:7")
    assert (receipt.state, turn.effects) == ("uncertain", {"order.cancel:7": "uncertain"})
    turn.says(receipt.receipt_id)
    (await talk.says("Where is 7?")).says("Order 7 is open.")
    turn = await talk.settles_as_applied("order.cancel:7", {"cancelled": 1})
    turn.applied("order.cancel:7")
    turn.says("Order 7 is cancelled.")
    assert shop.cancelled == ["order.cancel:7"]
    assert turn.request is None


async def test_settled_as_not_applied_makes_the_next_attempt_and_only_one_reply_was_lost() -> None:
    talk, shop = _talk()
    await talk.says("Cancel 7")
    talk.loses_reply("order.cancel")
    await talk.clicks("yes")
    turn = await talk.settles_as_not_applied("order.cancel:7")
    assert turn.applied("order.cancel:7").attempt == 2
    assert len(shop.cancelled) == 2


async def test_what_is_not_in_doubt_is_not_settled() -> None:
    talk, _ = _talk()
    await talk.says("Cancel 7")
    await talk.clicks("yes")
    with pytest.raises(TurnNotCommittedError, match="nothing about it is open"):
        await talk.settles_as_applied("order.cancel:7", None)
    with pytest.raises(AssertionError, match=r"(?s)no effect order\.cancel:8.*order\.cancel:7: completed"):
        await talk.settles_as_applied("order.cancel:8", None)


async def test_a_replay_brings_the_stored_result_and_leaves_nothing() -> None:
    talk, shop = _talk()
    await talk.says("Cancel 7")
    turn = await talk.clicks("yes")
    again = await talk.replays(turn)
    assert (again.result.replayed, again.message) == (True, turn.message)
    assert shop.cancelled == ["order.cancel:7"]
    assert len(talk.turns) == 2


class Forgetful(MemoryDurability):
    """Runs every turn under an id of its own: nothing is ever replayed."""

    _runs = 0

    async def run_turn(self, agent: CompiledAgent, turn: RunTurnInput) -> RunTurnResult:
        self._runs += 1
        return await super().run_turn(agent, replace(turn, turn_id=f"run-{self._runs}"))


class Leaky(MemoryDurability):
    """Does more than it was asked."""

    async def run_turn(self, agent: CompiledAgent, turn: RunTurnInput) -> RunTurnResult:
        result = await super().run_turn(agent, turn)
        if result.replayed:
            await super().run_turn(agent, replace(turn, turn_id="more"))
        return result


@pytest.mark.parametrize(("broken", "problem"), [(Forgetful, "was not replayed"), (Leaky, "left something")])
async def test_a_replay_that_runs_or_leaves_anything_is_noticed(broken: type[MemoryDurability], problem: str) -> None:
    talk = Talk(_agent(), durability=broken(_script(), ports={"shop": Shop()}))
    turn = await talk.says("Where is 7?")
    with pytest.raises(AssertionError, match=problem):
        await talk.replays(turn)


async def test_a_continuation_has_no_request_to_replay() -> None:
    talk, _ = _talk()
    await talk.says("Cancel 7")
    talk.loses_reply("order.cancel")
    await talk.clicks("yes")
    turn = await talk.settles_as_applied("order.cancel:7", None)
    with pytest.raises(AssertionError, match="continuation"):
        await talk.replays(turn)


async def test_a_replay_with_other_content_is_a_conflict() -> None:
    talk, _ = _talk()
    turn = await talk.says("Hello")
    other = RunTurnInput(thread_id="thread-1", turn_id=turn.result.turn_id, text="Cancel 7")
    with pytest.raises(TurnNotCommittedError) as raised:
        await talk.agent.run(other, durability=talk.durability)
    assert raised.value.reason == "conflict"


async def test_the_same_talk_leaves_the_same_bytes() -> None:
    async def left() -> tuple[object, ...]:
        talk, _ = _talk()
        await talk.says("Where is 7?")
        await talk.says("Cancel 7")
        talk.advances(1.5)
        talk.loses_reply("order.cancel")
        await talk.clicks("yes")
        await talk.settles_as_applied("order.cancel:7", {"cancelled": 1})
        return talk.durability.store.tables.heads["thread-1"].checkpoint, talk.durability.events("thread-1")

    assert await left() == await left()


async def test_time_goes_by_only_when_it_is_told_to() -> None:
    shop = Shop()
    talk = Talk(_agent(expires_seconds=60.0), _script(), ports={"shop": shop})
    await talk.says("Cancel 7")
    assert talk.durability.clock.now() == START
    talk.advances(61)
    turn = await talk.clicks("yes")
    turn.plans("order.cancel", "CONFIRMATION_EXPIRED")
    assert shop.cancelled == []


async def test_another_build_goes_on_only_where_it_says_so() -> None:
    talk, _ = _talk()
    await talk.says("Where is 7?")
    before = talk.agent.fingerprint
    talk.agent = agent(capability("order.find", input=Order, execute=_find))
    with pytest.raises(TurnNotCommittedError) as raised:
        await talk.says("Where is 7?")
    assert raised.value.reason == "held"
    find = capability("order.find", input=Order, execute=_find, provides=(FactDeclaration("order"),))
    talk.agent = agent(find, accepts_fingerprints=(before,))
    (await talk.says("Where is 7?")).says("Order 7 is open.")


async def test_what_fails_a_turn_is_raised_and_the_next_turn_goes_on() -> None:
    script = _script()
    script.on("turn.interpret", fails("MODEL_UNAVAILABLE"), when=lambda request: "700" in str(request.input))
    talk = Talk(_agent(), script, ports={"shop": Shop()})
    with pytest.raises(ModelGatewayError) as raised:
        await talk.says("Where is 700?")
    assert raised.value.code == "MODEL_UNAVAILABLE"
    assert talk.turns == []
    (await talk.says("Where is 7?")).says("Order 7 is open.")


async def test_an_issue_and_an_effect_that_did_not_happen_are_told() -> None:
    talk, shop = _talk()
    (await talk.says("Where is 700?")).tells_issue("order.find", "ORDER_NOT_FOUND")
    shop.refuses = True
    await talk.says("Cancel 7")
    turn = await talk.clicks("yes")
    turn.tells_issue("order.cancel", "EFFECT_NOT_APPLIED")
    assert turn.effects == {"order.cancel:7": "failed"}


async def test_two_threads_of_one_durability_are_apart_and_sinks_see_both() -> None:
    seen = EventCollector()
    durability = MemoryDurability(_script(), ports={"shop": Shop()}, event_sinks=(seen,))
    one, two = (Talk(_agent(), durability=durability, thread_id=name) for name in ("one", "two"))
    await one.says("Where is 7?")
    await two.says("Hello")
    assert (list(one.facts), list(two.facts)) == (["order@1"], [])
    assert [e.id for e in seen.events] == [e.id for e in (*one.events, *two.events)]


def test_a_talk_takes_a_gateway_or_a_durability_and_not_both() -> None:
    durability = MemoryDurability(_script())
    wrongs: list[Callable[[], object]] = [
        lambda: Talk(_agent()),
        lambda: Talk(_agent(), _script(), durability=durability),
        lambda: Talk(_agent(), durability=durability, ports={}),
    ]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="a gateway"):
            wrong()


async def test_every_assertion_says_what_there_was_instead() -> None:
    talk, _ = _talk()
    asking = await talk.says("Cancel 7")
    done = await talk.clicks("yes")
    found = await talk.says("Where is 7?")
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: done.says("gone"), "Order 7 is cancelled."),
        (lambda: done.says_exactly("Order 7"), "Order 7 is cancelled."),
        (lambda: done.asks("choice"), "Order 7 is cancelled."),
        (lambda: asking.asks("choice"), "a question of kind confirmation"),
        (lambda: asking.asks("confirmation", "order 8"), "order.cancel (number: 7)"),
        (lambda: asking.asks_nothing(), "order.cancel (number: 7)"),
        (lambda: asking.plans("order.cancel", "READY"), "order.cancel: CONFIRMATION_REQUIRED"),
        (lambda: found.tells_issue("order.find", "X"), "nothing"),
        (lambda: done.applied("order.cancel:8"), "order.cancel:7: completed"),
        (lambda: done.applied_nothing(), '{"cancelled":1}'),
        (lambda: done.waits_for("order.cancel:7"), "status completed"),
        (lambda: done.event("plan.drawn"), "plan.created"),
        (lambda: done.event("plan.created", 1), "of 1"),
        (lambda: done.happened("turn.completed", "turn.started"), "no turn.started after turn.completed"),
        (lambda: done.event("plan.created")["colour"], "steps"),
        (lambda: done.event("plan.created").caused_by(asking.event("plan.created")), "causationId"),
        (lambda: talk.fact("colour"), 'order@1: {"number":7}'),
        (lambda: talk.unfinished("order.cancel"), "nothing"),
        (lambda: talk.effect("x"), "order.cancel:7: completed"),
    ]
    for assertion, there_was in wrong:
        with pytest.raises(AssertionError) as raised:
            assertion()
        assert there_was in str(raised.value)


async def test_a_mistake_in_an_operation_is_said_where_the_effect_was_expected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def mistaken(context: CapabilityExecutionContext, order: Order) -> CapabilityResult:
        async def operation(authority: EffectAuthority) -> JsonValue:
            return order  # type: ignore[return-value]

        await context.run_effect("7", operation)
        return Completed(Anything())

    talk = Talk(agent(write("order.cancel", input=Order, execute=mistaken)), _script())
    await talk.says("Cancel 7")
    turn = await talk.clicks("yes")
    with pytest.raises(AssertionError, match=r"order\.cancel:7: uncertain \(.*returned, not storable"):
        turn.applied("order.cancel:7")
    assert "effect.uncertain: order.cancel:7: returned, not storable" in caplog.text


async def test_an_output_may_be_the_json_of_its_type() -> None:
    async def find(context: CapabilityExecutionContext, order: Order) -> CapabilityResult:
        return Completed({"number": order.number}, canonical_response=CanonicalResponse("There it is."))

    talk = Talk(agent(capability("order.find", input=Order, output=Order, execute=find)), _script())
    turn = await talk.says("Where is 7?")
    assert turn.event("capability.completed")["output"] == {"number": 7}


def test_the_kit_needs_no_pytest_and_loads_no_adapter() -> None:
    heavy = ("pytest", "sqlalchemy", "asyncpg", "aiokafka", "faststream", "pydantic_ai", "jsonschema")
    asks = f"import sys, intention_kernel.testing; print([m for m in {heavy!r} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

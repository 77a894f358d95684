"""Conversations as scripts, through the kernel's own stages: what a line says is what is understood, and what is told."""

from __future__ import annotations

import re
from typing import cast

import pytest
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.results import CapabilityIssue, NeedsInput
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import JsonObject
from intention_kernel.errors import ModelGatewayError
from intention_kernel.models.script import ConversationScript, fails
from intention_kernel.runtime.stages.composing.compose import answer_turn
from intention_kernel.runtime.stages.composition import Composition
from intention_kernel.runtime.stages.context.context import RefusedClick, build_context
from intention_kernel.runtime.stages.interpreting.interpret import interpret
from intention_kernel.runtime.stages.outcomes import StepIssue
from intention_kernel.runtime.stages.selecting.select import select
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome
from intention_kernel.runtime.stages.turn_plan import PlanStep

from tests.models.gateway_models import GatewayModels
from tests.models.requests import a_request
from tests.support.kernel import agent, capability, view, write
from tests.support.turn_outcomes import blocked, done, ended, question, settled, step, turn

AGENT = agent(capability("order.find"), write("order.cancel"), capability("hotel.find"))
ONE = agent(write("order.cancel"))
CONFIRMING = Interaction(
    id="q-1",
    kind="confirmation",
    goal="Cancel order 7?",
    capability_id="order.cancel",
    options=(InteractionOption(id="yes", label="Yes", value=True), InteractionOption(id="no", label="No", value=False)),
)
CHOOSING = Interaction(
    id="q-2",
    kind="choice",
    goal="Which one?",
    capability_id="order.find",
    options=(
        InteractionOption(id="o-1", label="The red one", value={"sku": 1}, target_capability_id="order.find"),
        InteractionOption(id="o-2", label="The blue one", value={"sku": 2}, target_capability_id="order.find"),
    ),
)
WAITING = AgendaItem(
    id="agenda:step-1",
    intention=IntentionRequest(id="i-1", objective="find", resolution="resolved", proposed_capability="order.find"),
    status="waiting_input",
)


async def understood(
    script: ConversationScript,
    text: str,
    *,
    compiled: CompiledAgent = AGENT,
    interaction: Interaction | None = None,
    agenda: tuple[AgendaItem, ...] = (),
) -> tuple[Selection, IntentionBatch]:
    """What the kernel makes of a message that the script's model reads."""
    snapshot = build_context(view(compiled, text, interaction=interaction, agenda=agenda))
    assert not isinstance(snapshot, RefusedClick)
    models = GatewayModels(script)
    selection = await select(snapshot, models)
    batch = (await interpret(snapshot, selection, models)).batch
    assert not any("repair" in task for task in models.tasks), "the script's answer was refused"
    return selection, batch


async def told(script: ConversationScript, outcome: TurnOutcome) -> Composition:
    """What the kernel answers with the script's model."""
    return await answer_turn(outcome, GatewayModels(script))


@pytest.mark.parametrize("compiled", [AGENT, ONE], ids=["several capabilities", "one"])
async def test_a_line_proposes_an_operation_with_its_input(compiled: CompiledAgent) -> None:
    script = ConversationScript()
    script.when("Cancel order 7").proposes("order.cancel", {"note": "7"})
    selection, batch = await understood(script, " cancel ORDER 7 ", compiled=compiled)
    assert "order.cancel" in selection.capability_ids
    (intention,) = batch.intentions
    assert (intention.proposed_capability, intention.input) == ("order.cancel", {"note": "7"})
    assert intention.objective == " cancel ORDER 7 "


async def test_an_input_may_be_made_of_what_models_see() -> None:
    script = ConversationScript()
    script.when(re.compile("cancel .*")).proposes(
        "order.cancel", lambda context: {"note": str(cast("JsonObject", context["agent"])["id"])}, objective="cancel it"
    )
    _, batch = await understood(script, "cancel whatever")
    assert batch.intentions[0].input == {"note": "agent"}
    assert batch.intentions[0].objective == "cancel it"


async def test_an_operation_without_an_input_gets_an_empty_one() -> None:
    script = ConversationScript()
    script.when("find").proposes("order.find").proposes("hotel.find")
    selection, batch = await understood(script, "find")
    assert selection.capability_ids == ("order.find", "hotel.find")
    assert [intention.input for intention in batch.intentions] == [{}, {}]


@pytest.mark.parametrize("consent", [True, False])
async def test_a_line_answers_a_confirmation(consent: bool) -> None:
    script = ConversationScript()
    script.when("well").answers(consent)
    _, batch = await understood(script, "well", interaction=CONFIRMING)
    assert batch.answer_to_interaction is not None
    assert batch.answer_to_interaction.value is consent
    assert batch.intentions == ()


async def test_a_line_answers_and_asks_for_something_else() -> None:
    script = ConversationScript()
    script.when("yes, and find a hotel").answers(True).proposes("hotel.find")
    _, batch = await understood(script, "yes, and find a hotel", interaction=CONFIRMING)
    assert batch.answer_to_interaction is not None
    assert [intention.proposed_capability for intention in batch.intentions] == ["hotel.find"]


@pytest.mark.parametrize("named", ["o-2", "The blue one", {"sku": 2}])
async def test_a_line_chooses_an_option_by_id_label_or_value(named: JsonValue) -> None:
    script = ConversationScript()
    script.when("blue").answers(named)
    selection, batch = await understood(script, "blue", interaction=CHOOSING, agenda=(WAITING,))
    assert selection.reviewed_choice is not None
    assert selection.reviewed_choice.option_id == "o-2"
    assert batch.answer_to_interaction is not None
    assert batch.answer_to_interaction.value == {"sku": 2}


async def test_a_line_asks_for_something_while_a_choice_is_open() -> None:
    script = ConversationScript()
    script.when("a hotel").proposes("hotel.find")
    script.when("find again").proposes("order.find")
    _, other = await understood(script, "a hotel", interaction=CHOOSING, agenda=(WAITING,))
    _, again = await understood(script, "find again", interaction=CHOOSING, agenda=(WAITING,))
    assert [i.proposed_capability for i in (*other.intentions, *again.intentions)] == ["hotel.find", "order.find"]
    assert other.answer_to_interaction is again.answer_to_interaction is None


async def test_a_line_gives_up_what_is_on_the_agenda() -> None:
    script = ConversationScript()
    script.when("forget it").cancels("order.find")
    selection, batch = await understood(script, "forget it", agenda=(WAITING,))
    assert selection.mode == "control"
    assert [action.target_id for action in batch.lifecycle_actions] == ["agenda:step-1"]


async def test_a_line_may_mean_nothing_several_things_or_what_nobody_does() -> None:
    script = ConversationScript()
    script.when("hello").says("Hello.")
    script.when("the thing").could_mean("find an order", "find a hotel")
    script.when("fly me to the moon").asks_for_something_else("fly to the moon")
    assert (await understood(script, "hello"))[1] == IntentionBatch()
    assert (await understood(script, "the thing"))[1].intentions[0].alternatives == ("find an order", "find a hotel")
    selection, batch = await understood(script, "fly me to the moon")
    assert selection.mode == "no_match"
    assert [i.resolution for i in batch.intentions] == ["unsupported"]


async def test_a_message_without_a_line_and_a_line_that_does_not_fit_are_told() -> None:
    script = ConversationScript()
    script.when("yes").answers(True)
    script.when("red").answers("o-9")
    with pytest.raises(ModelGatewayError, match=r"MODEL_SCRIPT_MISSING: .*no line for the message 'hi'"):
        await understood(script, "hi")
    with pytest.raises(ModelGatewayError, match="it answers a question, and none is open"):
        await understood(script, "yes")
    with pytest.raises(ModelGatewayError, match="has no option 'o-9'"):
        await understood(script, "red", interaction=CHOOSING)


@pytest.mark.parametrize(
    ("proposed", "hint"),
    [("order.fnd", r"did you mean order.find\?"), ("x", r"it has hotel.find, order.cancel, order.find")],
)
async def test_a_line_that_proposes_what_the_agent_has_not_is_told_with_what_it_has(proposed: str, hint: str) -> None:
    script = ConversationScript()
    script.when("Find it").proposes(proposed)
    with pytest.raises(
        ModelGatewayError, match=rf"'Find it' does not fit: it proposes {proposed}, .*no such.*\({hint}\)"
    ):
        await understood(script, "Find it")


async def test_the_script_may_be_told_to_answer_otherwise() -> None:
    script = ConversationScript()
    script.when("find").proposes("order.find")
    script.on("turn.interpret", fails("MODEL_UNAVAILABLE"))
    with pytest.raises(ModelGatewayError, match="MODEL_UNAVAILABLE"):
        await understood(script, "find")
    assert script.tasks[-1] == "turn.interpret"


REFUSED: tuple[PlanStep, ...] = (step("b", None, "reject", "UNSUPPORTED_INTENTION", "That is beyond me."),)
FULL = StepIssue("b", CapabilityIssue("FULL", "The hotel is full."))
ANSWERS = [
    ("words of the brief", turn(done("a")), "Done: objective of a."),
    ("several results", turn(done("a"), done("b")), "Done: objective of a.\n\nDone: objective of b."),
    ("a required text", turn(done("a", "Room 7.", required=True), done("b")), "Room 7.\n\nDone: objective of a."),
    ("an issue", turn(done("a"), issues=(FULL,)), "Done: objective of a.\n\nThe hotel is full."),
    (
        "required canonical words",
        turn(done("a", "Room 7.", required=True), issues=(FULL,)),
        "Room 7.\n\nThe hotel is full.",
    ),
    ("canonical words", turn(done("a", "Room 7."), issues=(FULL,)), "Room 7.\n\nThe hotel is full."),
    (
        "a question",
        turn(done("a"), ended("b", NeedsInput(x := question())), shown=x),
        "Done: objective of a.\n\nWhich date?",
    ),
    ("what is refused", turn(planned=REFUSED), "That is beyond me."),
    ("nothing", turn(), "All right."),
    ("a blocked step", turn(done("a"), blocked("b", "r-1")), "I could not confirm"),
    ("a settlement", turn(done("a"), settlement=settled()), "It is known now"),
]


@pytest.mark.parametrize(("outcome", "words"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
async def test_without_words_in_the_script_all_of_the_brief_is_told(outcome: TurnOutcome, words: str) -> None:
    answer = await told(ConversationScript(), outcome)
    assert answer.source != "technical_fallback", answer
    assert answer.failure_code is None
    assert words in answer.message


async def test_a_line_says_its_words_and_cites_what_a_capability_found() -> None:
    script = ConversationScript()
    script.when("hello").says("Room 7 is free.", ["hotel.find"]).says("Anything else?")
    answer = await told(script, turn(done("a")))
    assert answer.message == "Room 7 is free.\n\nAnything else?"
    assert [(claim.text, claim.evidence_ids) for claim in answer.claims] == [
        ("Room 7 is free.", ("result:a", "evidence-a"))
    ]


async def test_what_has_to_be_told_is_added_to_the_words_of_a_line() -> None:
    script = ConversationScript()
    script.when("hello").says("Sure.")
    shown = question()
    outcome = turn(done("a", "Room 7.", required=True), done("b"), ended("c", NeedsInput(shown)), shown=shown)
    assert (await told(script, outcome)).message == "Room 7.\n\nSure.\n\nWhich date?"


async def test_a_script_keeps_what_it_was_asked() -> None:
    script = ConversationScript()
    script.when("canary-message-7301").says("Hi.")
    await script.invoke(a_request())
    assert [request.prompt_id for request in script.requests] == ["kernel.capability.select"]

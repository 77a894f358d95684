"""The select stage, row by row of contract 2.5: which models are asked, what is taken, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionOption, InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.context.context import build_context
from intention_kernel.runtime.stages.selecting.select import select
from intention_kernel.runtime.stages.selection import ReviewedChoice, Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

from tests.support.kernel import ScriptedModels, agent, capability, view, write

Json = dict[str, JsonValue]
FIND, BOOK, PAY = "hotel.find", "hotel.book", "pay.charge"
HOTEL = agent(capability(FIND), write(BOOK), write(PAY))
ONLY = agent(capability(FIND))

SELECT: ModelTask = "capability.select"
REPAIR: ModelTask = "capability.select.repair"
CHOICE: ModelTask = "capability-selection.choice-review"
DIVERSION: ModelTask = "capability-selection.interaction-review"
LIFECYCLE: ModelTask = "lifecycle-selection.review"


def proposal(mode: str, *ids: str) -> Json:
    evidence: JsonValue = [{"text": "words", "meaning": "meaning", "messageIndex": 0}]
    return {"mode": mode, "capabilityIds": list(ids), "rationale": "because", "evidence": evidence}


SUPPORTED: Json = {"verdict": "supported", "rationale": "it says so"}
UNSUPPORTED: Json = {"verdict": "unsupported", "rationale": "it does not"}
BLUE = InteractionOption(
    id="blue", label="The blue room", value=1, target_capability_id=BOOK, reference_examples=("2",)
)
RED = InteractionOption(id="red", label="The red room", value=2, target_capability_id=BOOK)
MENU = Interaction(id="menu", kind="choice", goal="Which room?", capability_id=FIND, options=(BLUE, RED))
CITY = Interaction(id="city", kind="input", goal="Which city?", capability_id=FIND)
SURE = Interaction(
    id="sure",
    kind="confirmation",
    goal="Book it?",
    capability_id=BOOK,
    options=(InteractionOption(id="yes", label="Yes", value=True), InteractionOption(id="no", label="No", value=False)),
)


def waiting(question: Interaction) -> AgendaItem:
    owner = question.capability_id
    return AgendaItem(
        id="w",
        intention=IntentionRequest(id="i", objective="o", resolution="resolved", proposed_capability=owner),
        status="waiting_confirmation" if question.kind == "confirmation" else "waiting_input",
        capability_id=owner,
        interaction=question,
    )


def snapshot(
    text: str = "hello",
    question: Interaction | None = None,
    *,
    clicked: str | None = None,
    action: str | None = None,
    only: bool = False,
    agenda: Sequence[AgendaItem] | None = None,
) -> ContextSnapshot:
    selection = None
    if question is not None and (clicked or action):
        selection = InteractionSelection(interaction_id=question.id, option_id=clicked, action=action)
    items = agenda if agenda is not None else (waiting(question),) if question is not None else ()
    built = build_context(view(ONLY if only else HOTEL, text, interaction=question, selection=selection, agenda=items))
    assert isinstance(built, ContextSnapshot)
    return built


def scripted(*answers: tuple[ModelTask, JsonValue]) -> ScriptedModels:
    models = ScriptedModels()
    for task, answer in answers:
        models.answers.setdefault(task, []).append(answer)
    return models


async def test_with_one_capability_nothing_is_selected_and_no_model_is_asked() -> None:
    models = scripted()
    selection = await select(snapshot(only=True), models)
    assert (selection.source, selection.mode, selection.capability_ids) == ("single_capability", "open", (FIND,))
    assert models.tasks == []


@pytest.mark.parametrize("mode", ["no_match", "conversational", "control"])
async def test_a_mode_without_capabilities_selects_none(mode: str) -> None:
    models = scripted((SELECT, proposal(mode)), (LIFECYCLE, SUPPORTED))
    selection = await select(snapshot(), models)
    assert (selection.source, selection.mode, selection.capability_ids) == ("model", mode, ())
    assert selection.evidence[0].text == "words"


async def test_a_plain_request_takes_one_model_call() -> None:
    models = scripted((SELECT, proposal("selected", BOOK, FIND)))
    selection = await select(snapshot("book it"), models)
    assert selection.capability_ids == (BOOK, FIND)
    assert models.tasks == [SELECT]


async def test_a_model_is_shown_all_capabilities_as_summaries_and_may_name_only_those() -> None:
    models = scripted((SELECT, proposal("selected", BOOK)))
    await select(snapshot("book it"), models)
    ask = models.asked[0]
    assert [(c.detail, c.id) for c in ask.capabilities] == [("summary", BOOK), ("summary", FIND), ("summary", PAY)]
    assert ask.output_schema is not None
    ids = cast("Json", cast("Json", ask.output_schema["properties"])["capabilityIds"])
    assert cast("Json", ids["items"])["enum"] == [BOOK, FIND, PAY]
    assert ask.model_keys == (SELECT, "turn.interpret")


@pytest.mark.parametrize(
    ("invalid", "words"),
    [
        (proposal("selected"), "mode selected goes with at least one capability"),
        (proposal("no_match", FIND), "mode no_match goes with no capability"),
        (proposal("selected", FIND, FIND), "names a capability twice"),
        (proposal("selected", "polite"), "do not exist: polite"),
        ({**proposal("selected", FIND), "evidence": []}, "at least 1 item"),
        ({**proposal("selected", FIND), "rationale": ""}, "at least 1 item"),
        ({**proposal("selected", FIND), "more": 1}, "Extra inputs"),
        ({"mode": "maybe"}, "Input should be"),
    ],
)
async def test_an_invalid_proposal_is_repaired_once_with_what_is_wrong(invalid: Json, words: str) -> None:
    models = scripted((SELECT, invalid), (REPAIR, proposal("selected", FIND)))
    selection = await select(snapshot(), models)
    assert selection.capability_ids == (FIND,)
    repair = models.asked[1]
    assert repair.input["invalidOutput"] == invalid
    assert words in str(repair.input["validationIssues"])
    assert repair.model_keys == (REPAIR, SELECT, "turn.interpret")


async def test_a_selection_that_stays_invalid_fails_the_attempt() -> None:
    models = scripted((SELECT, proposal("selected")), (REPAIR, proposal("selected", "nothing.real")))
    with pytest.raises(ModelGatewayError) as raised:
        await select(snapshot(), models)
    assert raised.value.code == "CAPABILITY_SELECTION_INVALID"
    assert not raised.value.retryable


async def test_a_conversational_message_keeps_the_contracts_of_the_open_question_at_hand() -> None:
    selection = await select(snapshot("thanks", MENU), scripted((SELECT, proposal("conversational"))))
    assert (selection.mode, selection.capability_ids) == ("conversational", (FIND, BOOK))
    assert [(a.code, a.capability_id) for a in selection.adjustments] == [
        ("ACTIVE_INTERACTION_CONTRACT_AVAILABLE", FIND),
        ("ACTIVE_INTERACTION_CONTRACT_AVAILABLE", BOOK),
    ]


async def test_a_confirmation_keeps_its_owner_in_the_shortlist_and_is_no_diversion() -> None:
    models = scripted((SELECT, proposal("selected", FIND)))
    selection = await select(snapshot("which hotels are there?", SURE), models)
    assert selection.capability_ids == (FIND, BOOK)
    assert [(a.code, a.capability_id) for a in selection.adjustments] == [("ACTIVE_CONFIRMATION_OWNER_RETAINED", BOOK)]
    assert models.tasks == [SELECT]


@pytest.mark.parametrize("text", ["2", " -3.50 ", "0"])
async def test_a_bare_number_that_nothing_asked_for_selects_nothing(text: str) -> None:
    models = scripted((SELECT, proposal("selected", FIND)), (REPAIR, proposal("selected", FIND)))
    selection = await select(snapshot(text), models)
    assert (selection.source, selection.mode, selection.capability_ids) == ("kernel_boundary", "conversational", ())
    assert models.tasks == [SELECT, REPAIR]


@pytest.mark.parametrize("text", ["2 rooms", "02", "1e3", "٣", "two"])
async def test_a_text_that_is_no_bare_number_is_selected_for(text: str) -> None:
    assert (await select(snapshot(text), scripted((SELECT, proposal("selected", FIND))))).source == "model"


@pytest.mark.parametrize("question", [CITY, MENU])
async def test_a_bare_number_may_answer_what_is_open(question: Interaction) -> None:
    selection = await select(snapshot("7", question), scripted((SELECT, proposal("selected", FIND))))
    assert selection.source == "model"


def unique(position: int, option: InteractionOption) -> Json:
    return {
        "meaning": "unique_option",
        "position": position,
        "label": option.label,
        "optionId": option.id,
        "rationale": "first one",
    }


async def test_an_option_that_a_review_finds_is_bound_to_message_and_question() -> None:
    models = scripted((SELECT, proposal("selected", BOOK)), (CHOICE, unique(1, BLUE)))
    selection = await select(snapshot("the blue one", MENU), models)
    assert selection.reviewed_choice == ReviewedChoice("menu", "blue", 0, "the blue one", "first one")
    review = models.asked[1]
    current = cast("Json", review.input["currentChoice"])
    assert [(o["position"], o["id"]) for o in cast("list[Json]", current["options"])] == [(1, "blue"), (2, "red")]
    assert [(c.detail, c.id) for c in review.capabilities] == [("contract", BOOK)]
    assert review.model_keys == (CHOICE, "capability-selection.review", SELECT, "turn.interpret")


async def test_an_operation_in_own_words_beside_a_menu_binds_no_option() -> None:
    operation: Json = {"meaning": "operation_request", "operationCapabilityIds": [BOOK], "rationale": "own words"}
    models = scripted((SELECT, proposal("selected", BOOK)), (CHOICE, operation))
    selection = await select(snapshot("book something in Rome", MENU), models)
    assert (selection.capability_ids, selection.reviewed_choice) == ((BOOK,), None)


async def test_an_operation_that_the_shortlist_lacks_is_asked_for_by_name() -> None:
    operation: Json = {"meaning": "operation_request", "operationCapabilityIds": [BOOK, PAY], "rationale": "both"}
    models = scripted(
        (SELECT, proposal("selected", BOOK)),
        (CHOICE, operation),
        (REPAIR, proposal("selected", BOOK, PAY)),
        (CHOICE, operation),
    )
    selection = await select(snapshot("book and pay", MENU), models)
    assert selection.capability_ids == (BOOK, PAY)
    assert "pay.charge, which the selection lacks" in str(models.asked[2].input["validationIssues"])


@pytest.mark.parametrize(
    "review",
    [
        {"meaning": "ambiguous_or_unrelated", "rationale": "either"},
        unique(2, BLUE),
        unique(3, BLUE),
        {**unique(1, BLUE), "label": "The red room"},
        {"meaning": "unique_option", "optionId": "blue", "rationale": "incomplete"},
        {"meaning": "operation_request", "rationale": "names none"},
        {"meaning": "operation_request", "operationCapabilityIds": ["gone"], "rationale": "unknown"},
        {"verdict": "supported"},
    ],
)
async def test_a_choice_that_no_review_supports_ends_without_a_selection(review: Json) -> None:
    models = scripted(
        (SELECT, proposal("selected", BOOK)),
        (CHOICE, review),
        (REPAIR, proposal("selected", BOOK)),
        (CHOICE, review),
    )
    selection = await select(snapshot("ok", MENU), models)
    assert (selection.source, selection.mode, selection.capability_ids) == ("kernel_boundary", "conversational", ())
    assert selection.reviewed_choice is None


async def test_an_example_that_competes_with_a_position_forces_clarification_without_asking_a_reviewer() -> None:
    models = scripted((SELECT, proposal("selected", BOOK)), (REPAIR, proposal("selected", BOOK)))
    selection = await select(snapshot("2", MENU), models)
    assert selection.source == "kernel_boundary"
    assert models.tasks == [SELECT, REPAIR]


async def test_a_position_that_is_its_own_options_example_is_reviewed_as_usual() -> None:
    own = MENU.model_copy(update={"options": (RED, BLUE)})
    models = scripted((SELECT, proposal("selected", BOOK)), (CHOICE, unique(2, BLUE)))
    selection = await select(snapshot("2", own), models)
    assert selection.reviewed_choice is not None
    assert selection.reviewed_choice.option_id == "blue"


async def test_an_option_is_not_bound_while_its_capability_is_not_selected() -> None:
    other = RED.model_copy(update={"target_capability_id": PAY})
    menu = MENU.model_copy(update={"options": (BLUE, other)})
    models = scripted(
        (SELECT, proposal("selected", BOOK)),
        (CHOICE, unique(2, other)),
        (REPAIR, proposal("selected", PAY)),
        (CHOICE, unique(2, other)),
    )
    selection = await select(snapshot("red", menu), models)
    assert selection.capability_ids == (PAY,)
    assert "leads to pay.charge" in str(models.asked[2].input["validationIssues"])


@pytest.mark.parametrize(
    "menu",
    [
        MENU.model_copy(update={"options": (BLUE,)}),
        MENU.model_copy(update={"kind": "clarification"}),
        MENU.model_copy(
            update={"options": tuple(o.model_copy(update={"target_capability_id": None}) for o in (BLUE, RED))}
        ),
    ],
)
async def test_without_a_menu_that_leads_somewhere_no_choice_is_reviewed(menu: Interaction) -> None:
    models = scripted((SELECT, proposal("selected", BOOK, FIND)))
    await select(snapshot("blue", menu), models)
    assert models.tasks == [SELECT]


async def test_options_that_redaction_makes_alike_are_never_chosen_from() -> None:
    alike = MENU.model_copy(
        update={"options": (BLUE.model_copy(update={"id": "Anna"}), RED.model_copy(update={"id": "Smith"}))}
    )
    private = waiting(alike).model_copy(update={"model_redactions": ("Anna", "Smith")})
    models = scripted((SELECT, proposal("selected", BOOK)), (REPAIR, proposal("selected", BOOK)))
    selection = await select(snapshot("the first", alike, agenda=(private,)), models)
    assert selection.source == "kernel_boundary"
    assert models.tasks == [SELECT, REPAIR]


async def test_a_shortlist_away_from_the_open_question_is_reviewed() -> None:
    models = scripted((SELECT, proposal("selected", PAY)), (DIVERSION, SUPPORTED))
    selection = await select(snapshot("pay my bill first", CITY), models)
    assert selection.capability_ids == (PAY,)
    assert [c.id for c in models.asked[1].capabilities] == [FIND, PAY]


@pytest.mark.parametrize("review", [UNSUPPORTED, {"verdict": "maybe"}])
async def test_an_unsupported_diversion_ends_without_a_selection(review: Json) -> None:
    models = scripted(
        (SELECT, proposal("selected", PAY)),
        (DIVERSION, review),
        (REPAIR, proposal("selected", PAY)),
        (DIVERSION, review),
    )
    assert (await select(snapshot("Rome", CITY), models)).source == "kernel_boundary"


async def test_a_repair_may_come_back_to_the_open_question() -> None:
    models = scripted(
        (SELECT, proposal("selected", PAY)), (DIVERSION, UNSUPPORTED), (REPAIR, proposal("selected", FIND))
    )
    selection = await select(snapshot("Rome", CITY), models)
    assert (selection.source, selection.capability_ids) == ("model", (FIND,))


async def test_a_shortlist_with_the_question_and_more_is_no_diversion() -> None:
    models = scripted((SELECT, proposal("selected", FIND, PAY)))
    assert (await select(snapshot("Rome, and pay", CITY), models)).capability_ids == (FIND, PAY)
    assert models.tasks == [SELECT]


@pytest.mark.parametrize("mode", ["control", "selected_with_control"])
async def test_giving_work_up_is_reviewed_and_refused_without_support(mode: str) -> None:
    ids = (FIND,) if mode == "selected_with_control" else ()
    models = scripted((SELECT, proposal(mode, *ids)), (LIFECYCLE, UNSUPPORTED), (REPAIR, proposal("selected", FIND)))
    selection = await select(snapshot("no, better on Friday", CITY), models)
    assert selection.mode == "selected"
    review = models.asked[1]
    assert review.input["controlContract"] == {
        "actions": ["cancel_agenda_item"],
        "interactionAnswersAreLifecycleActions": False,
    }
    assert set(cast("Json", review.input["proposedSelection"])) == {"mode", "rationale", "evidence"}


async def test_giving_up_that_stays_unsupported_fails_the_attempt() -> None:
    refused: Sequence[tuple[ModelTask, JsonValue]] = (
        (SELECT, proposal("control")),
        (LIFECYCLE, UNSUPPORTED),
        (REPAIR, proposal("control")),
        (LIFECYCLE, UNSUPPORTED),
    )
    with pytest.raises(ModelGatewayError, match="CAPABILITY_SELECTION_INVALID"):
        await select(snapshot("hm"), scripted(*refused))


def chosen(selection: Selection) -> tuple[str, tuple[str, ...]]:
    return selection.source, selection.capability_ids


@pytest.mark.parametrize(
    ("question", "clicked", "text", "ids"),
    [
        (SURE, "yes", "", (BOOK,)),
        (SURE, "no", "No", (BOOK,)),
        (SURE, "yes", "yes, and thanks", (BOOK,)),
        (MENU, "blue", "", (BOOK,)),
        (MENU, "blue", " The blue room ", (BOOK,)),
    ],
)
async def test_a_click_that_says_it_all_needs_no_model(
    question: Interaction, clicked: str, text: str, ids: tuple[str, ...]
) -> None:
    models = scripted()
    assert chosen(await select(snapshot(text, question, clicked=clicked), models)) == ("structured_selection", ids)
    assert models.tasks == []


async def test_a_click_comes_before_the_only_capability() -> None:
    city = CITY.model_copy(update={"options": (InteractionOption(id="rome", label="Rome", value="Rome"),)})
    selection = await select(snapshot("", city, clicked="rome", only=True), scripted())
    assert chosen(selection) == ("structured_selection", (FIND,))


async def test_a_click_on_a_confirmation_whose_capability_is_gone_is_left_to_the_planner() -> None:
    gone = SURE.model_copy(update={"capability_id": "gone.away"})
    assert chosen(await select(snapshot("yes", gone, clicked="yes"), scripted())) == ("structured_selection", ())


async def test_a_click_beside_other_words_is_selected_for_and_needs_no_review() -> None:
    models = scripted((SELECT, proposal("selected", BOOK)))
    selection = await select(snapshot("and two nights please", MENU, clicked="blue"), models)
    assert chosen(selection) == ("model", (BOOK,))
    assert models.tasks == [SELECT]


async def test_a_click_on_a_question_that_nobody_owns_is_interpreted() -> None:
    nobodys = Interaction(
        id="which", kind="clarification", goal="Which?", options=(InteractionOption(id="1", label="Pay", value="Pay"),)
    )
    models = scripted((SELECT, proposal("selected", PAY)))
    assert chosen(await select(snapshot("", nobodys, clicked="1", agenda=()), models)) == ("model", (PAY,))


async def test_an_action_on_a_confirmation_says_neither_yes_nor_no_and_its_text_is_read() -> None:
    models = scripted((SELECT, proposal("selected", FIND)))
    await select(snapshot("show me others", SURE, action="later"), models)
    assert models.tasks == [SELECT]

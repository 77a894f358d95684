"""Answers to confirmations and other questions, by the rows of contract 8.2 and 8.3 that interpretation decides."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.selection import Selection

from tests.support.interpreting import (
    ASKED,
    BOOK,
    CHOICE,
    CHOOSING,
    CHOOSING_NEXT,
    CONFIRMATION,
    CONFIRMING,
    FIND,
    INPUT,
    LEADING,
    PAY,
    SUPPORTED,
    UNSUPPORTED,
    Json,
    Scene,
    Script,
    answer_of,
    answers,
    batch,
    books,
    capabilities_of,
    chosen,
    finds,
    gives_up,
    intention,
    lifecycle_verdicts,
    pays,
    shortlist,
    waiting,
    wants,
)

YES, NO = answers("sure", True), answers("sure", False)
TALK = shortlist(BOOK, mode="conversational")


@dataclass(frozen=True)
class Row:
    """A message, what models make of it, and what it is understood as."""

    name: str
    scene: Scene
    selection: Selection
    first: Json
    reviews: tuple[JsonValue, ...] = ()
    repair: Json | None = None
    codes: tuple[str, ...] = ()
    answer: JsonValue = "none"
    capabilities: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()


CONFIRMATIONS = [
    Row("8.2 clear yes", CONFIRMING, shortlist(BOOK), batch(answer=YES), (SUPPORTED,), answer=True),
    Row("8.2 clear no", CONFIRMING.says("no"), shortlist(BOOK), batch(answer=NO), (SUPPORTED,), answer=False),
    Row("8.2 unrelated question", CONFIRMING.says("rooms in Rome?"), shortlist(FIND, BOOK), batch(finds()),
        capabilities=(FIND,)),
    Row("8.2 small talk", CONFIRMING.says("thanks"), TALK, batch()),
    Row("8.2 yes in small talk's clothes", CONFIRMING, TALK, batch(answer=YES), (SUPPORTED,), answer=True),
    Row("8.2 yes and the same operation again, taken apart", CONFIRMING, shortlist(BOOK), batch(books(), answer=YES),
        (SUPPORTED, UNSUPPORTED), batch(answer=YES), ("UNSUPPORTED_CONFIRMATION_INTENTIONS",), True),
    Row("8.2 yes and the same operation again, left to the planner", CONFIRMING, shortlist(BOOK),
        batch(books(), answer=YES), (SUPPORTED, SUPPORTED), answer=True, capabilities=(BOOK,)),
    Row("8.2 yes and an independent read", CONFIRMING, shortlist(BOOK, FIND), batch(finds(), answer=YES),
        (SUPPORTED, SUPPORTED), answer=True, capabilities=(FIND,)),
    Row("8.2 yes and a second write", CONFIRMING, shortlist(BOOK, PAY), batch(pays(), answer=YES),
        (SUPPORTED, SUPPORTED), answer=True, capabilities=(PAY,)),
    Row("8.2 a name as an answer", CONFIRMING.says("Ann"), shortlist(BOOK), batch(answer=YES), (UNSUPPORTED,), batch(),
        ("UNSUPPORTED_CONFIRMATION_ANSWER",)),
    Row("8.2 another topic as an answer", CONFIRMING.says("rooms in Rome?"), shortlist(BOOK, FIND),
        batch(finds(), answer=YES), (UNSUPPORTED,), batch(finds()), ("UNSUPPORTED_CONFIRMATION_ANSWER",),
        capabilities=(FIND,)),
    Row("8.2 nothing understood in selected mode", CONFIRMING, shortlist(BOOK), batch(), (SUPPORTED,),
        batch(answer=YES), ("EMPTY_BATCH",), True),
    Row("8.2 a wrong interaction id and nothing else", CONFIRMING, shortlist(BOOK), batch(answer=answers("x", True)),
        (SUPPORTED,), answer=True),
    Row("8.2 a wrong interaction id and the owner", CONFIRMING, shortlist(BOOK),
        batch(books(), answer=answers("x", True)), (SUPPORTED, SUPPORTED), answer=True, capabilities=(BOOK,)),
    Row("8.2 a wrong interaction id and something else", CONFIRMING, shortlist(BOOK, FIND),
        batch(finds(), answer=answers("x", True)), (), batch(finds()), ("UNKNOWN_INTERACTION",), capabilities=(FIND,)),
    Row("8.2 a wrong interaction id and no yes or no", CONFIRMING, shortlist(BOOK, FIND),
        batch(answer=answers("x", "yes")), (), batch(finds()), ("UNKNOWN_INTERACTION", "EMPTY_BATCH"),
        capabilities=(FIND,)),
    Row("8.2 a wrong interaction id and a confirmation of nobody",
        Scene("yes", CONFIRMATION.model_copy(update={"capability_id": None})), shortlist(FIND),
        batch(answer=answers("x", True)), (), batch(finds()), ("UNKNOWN_INTERACTION", "EMPTY_BATCH"),
        capabilities=(FIND,)),
    Row("8.2 text is no consent", CONFIRMING, shortlist(BOOK), batch(answer=answers("sure", "true")), (), batch(),
        ("CONFIRMATION_ANSWER_NOT_BOOLEAN", "EMPTY_BATCH")),
    Row("8.2 null is no consent", CONFIRMING, shortlist(BOOK), batch(answer=answers("sure", None)), (), batch(),
        ("CONFIRMATION_ANSWER_NOT_BOOLEAN", "EMPTY_BATCH")),
    Row("8.2 an object with true in it is no consent", CONFIRMING, shortlist(BOOK),
        batch(answer=answers("sure", {"value": True})), (), batch(),
        ("CONFIRMATION_ANSWER_NOT_BOOLEAN", "EMPTY_BATCH")),
    Row("8.2 the id of the yes option is no consent until it is repaired", CONFIRMING, shortlist(BOOK),
        batch(answer=answers("sure", "yes")), (SUPPORTED,), batch(answer=YES),
        ("CONFIRMATION_ANSWER_NOT_BOOLEAN", "EMPTY_BATCH"), True),
    Row("8.2 text beside other work drops no operation", CONFIRMING, shortlist(BOOK, FIND),
        batch(finds(), answer=answers("sure", "Ann")), (), batch(finds()), ("CONFIRMATION_ANSWER_NOT_BOOLEAN",),
        capabilities=(FIND,)),
    Row("8.2 a click with an action, and a yes in the model's words", CONFIRMING.clicks(action="edit", text="yes"),
        shortlist(BOOK), batch(answer=YES)),
    Row("8.2 a click on yes is not reviewed", CONFIRMING.clicks("yes", text="yes"), shortlist(BOOK), batch(),
        answer=True),
    Row("8.2 a click on no against the model's words", CONFIRMING.clicks("no", text="well"), shortlist(BOOK),
        batch(answer=YES), answer=False),
    Row("8.2 the item is given up", CONFIRMING.says("forget it"), shortlist(mode="control"),
        batch(up=[gives_up("agenda:sure")]), given_up=("agenda:sure",)),
    Row("8.2 the same capability with other input", CONFIRMING.says("the red one"), shortlist(BOOK),
        batch(wants(BOOK, input={"room": "red"})), capabilities=(BOOK,)),
]  # fmt: skip

BLUE = answers("which", "room-blue")
TWO_OF_ONE = (waiting(INPUT), waiting(INPUT, id="agenda:second"))
UNRESOLVED = (waiting(INPUT, intention=intention(None, resolution="ambiguous", alternatives=("a", "b"))),)

QUESTIONS = [
    Row("8.3 an answer resumes the one item of its owner", ASKED, shortlist(FIND), batch(answer=answers("where", "Rome")),
        answer="Rome"),
    Row("8.3 any JSON may answer an input", ASKED, shortlist(FIND), batch(answer=answers("where", {"c": [1, None]})),
        answer={"c": [1, None]}),
    Row("8.3 with no item the owner has to be asked for", Scene("Rome", INPUT), shortlist(FIND),
        batch(answer=answers("where", "Rome")), (), batch(finds(), answer=answers("where", "Rome")),
        ("ANSWER_WITHOUT_OPERATION", "EMPTY_BATCH"), "Rome", (FIND,)),
    Row("8.3 with two items too", Scene("Rome", INPUT, TWO_OF_ONE), shortlist(FIND),
        batch(answer=answers("where", "Rome")), (), batch(finds(), answer=answers("where", "Rome")),
        ("ANSWER_WITHOUT_OPERATION", "EMPTY_BATCH"), "Rome", (FIND,)),
    Row("8.3 with an unresolved item too", Scene("Rome", INPUT, UNRESOLVED), shortlist(FIND),
        batch(answer=answers("where", "Rome")), (), batch(finds(), answer=answers("where", "Rome")),
        ("ANSWER_WITHOUT_OPERATION", "EMPTY_BATCH"), "Rome", (FIND,)),
    Row("8.3 an answer is not lent to another operation", Scene("Rome", INPUT), shortlist(FIND, PAY),
        batch(pays(), answer=answers("where", "Rome")), (), batch(pays()), ("ANSWER_WITHOUT_OPERATION",),
        capabilities=(PAY,)),
    Row("8.3 an option of another capability does not resume who asked", CHOOSING_NEXT, shortlist(FIND, BOOK),
        batch(answer=BLUE), (chosen("room-blue"),), batch(books(), answer=BLUE),
        ("ANSWER_WITHOUT_OPERATION", "EMPTY_BATCH"), {"room": "blue"}, (BOOK,)),
    Row("8.3 an option of another capability leads to that one", CHOOSING_NEXT, shortlist(FIND, BOOK),
        batch(books(), answer=BLUE), (chosen("room-blue"),), answer={"room": "blue"}, capabilities=(BOOK,)),
    Row("8.3 a click takes the server's value", CHOOSING.clicks("room-red", text="hm"), shortlist(FIND),
        batch(answer=BLUE), answer={"room": "red"}),
    Row("8.3 a click with an action", CHOOSING.clicks(action="more", text="show more"), shortlist(FIND), batch(),
        answer={"action": "more"}),
    Row("8.3 a click in small talk", CHOOSING.clicks("room-red", text="hm"), shortlist(FIND, mode="conversational"),
        batch(), answer={"room": "red"}),
    Row("2.6 conversational mode keeps the answer and its owner's operation", CHOOSING_NEXT,
        shortlist(FIND, BOOK, mode="conversational"), batch(books(), answer=BLUE), (chosen("room-blue"),),
        answer={"room": "blue"}, capabilities=(BOOK,)),
    Row("8.8 a choice of nobody needs a wish of its own",
        Scene("the first", Interaction(id="which", kind="choice", goal="?", options=CHOICE.options)), shortlist(PAY),
        batch(answer=BLUE), (chosen("room-blue"),), batch(pays(), answer=BLUE), ("EMPTY_BATCH",), {"room": "blue"},
        (PAY,)),
]  # fmt: skip


@pytest.mark.parametrize("row", [*CONFIRMATIONS, *QUESTIONS], ids=lambda row: row.name)
async def test_a_message_answers_only_what_it_answers(row: Row) -> None:
    lifecycle = [lifecycle_verdicts(*("supported" for _ in row.given_up))] if row.given_up else []
    script = Script(first=row.first, repair=row.repair, reviews=row.reviews, lifecycle=lifecycle)
    interpretation = await script.run(row.scene, row.selection)
    assert script.issue_codes == list(row.codes)
    assert answer_of(interpretation) == row.answer
    assert capabilities_of(interpretation) == list(row.capabilities)
    assert tuple(action.target_id for action in interpretation.batch.lifecycle_actions) == row.given_up
    answer = interpretation.batch.answer_to_interaction
    assert answer is None or (row.scene.interaction is not None and answer.interaction_id == row.scene.interaction.id)


async def test_a_click_that_leads_to_other_work_is_interpreted_with_that_works_contract() -> None:
    """8.3: the operation that a clicked option leads to needs an input, and nothing is fabricated for it."""
    script = Script(first=batch(books()))
    clicked = shortlist(source="structured_selection")
    interpretation = await script.run(CHOOSING_NEXT.clicks("room-blue"), clicked)
    assert [c.id for c in script.models.asked[0].capabilities] == [BOOK]
    assert (interpretation.source, interpretation.answer_source) == ("model", "structured_selection")
    assert capabilities_of(interpretation) == [BOOK]


async def test_two_options_of_one_value_are_told_apart_by_a_click() -> None:
    """8.3: the target is the clicked option's, whatever other option has its value."""
    one, two = LEADING.options
    options = (one.model_copy(update={"value": 1, "target_capability_id": FIND}), two.model_copy(update={"value": 1}))
    choice = LEADING.model_copy(update={"options": options})
    script = Script(first=batch(books()))
    scene = Scene("", choice, (waiting(choice),)).clicks("room-red")
    interpretation = await script.run(scene, shortlist(source="structured_selection"))
    assert (answer_of(interpretation), capabilities_of(interpretation)) == (1, [BOOK])


def _redacting(scene: Scene, *strings: str) -> Scene:
    items = tuple(item.model_copy(update={"model_redactions": strings}) for item in scene.agenda)
    return Scene(scene.text, scene.interaction, items)


async def test_ids_that_redaction_changed_are_understood_as_models_see_them() -> None:
    """Redacted ids are what a model sees; what it answers in them means the server's."""
    choice = CHOICE.model_copy(update={"id": "ask-4711"})
    scene = _redacting(Scene("the blue one", choice, (waiting(choice),)), "4711", "blue")
    script = Script(
        first=batch(answer=answers("ask-[redacted]", "room-[redacted]")), reviews=[chosen("room-[redacted]")]
    )
    interpretation = await script.run(scene, shortlist(FIND))
    answer = interpretation.batch.answer_to_interaction
    assert answer is not None
    assert (answer.interaction_id, answer.value) == ("ask-4711", {"room": "blue"})
    assert "4711" not in str(script.models.asked[0].output_schema)
    assert "blue" not in str(script.models.asked[0].output_schema)


async def test_an_item_whose_shown_id_is_not_its_own_alone_is_not_given_up() -> None:
    items = (waiting(INPUT, id="item-4711"), waiting(CONFIRMATION, id="item-4712", model_redactions=("4711", "4712")))
    script = Script(first=batch(up=[gives_up("item-[redacted]")]), repair=batch(up=[gives_up("item-4711")]),
                    lifecycle=[lifecycle_verdicts("supported")])  # fmt: skip
    interpretation = await script.run(Scene("forget it", CONFIRMATION, items), shortlist(mode="control"))
    assert script.issue_codes == ["INVALID_LIFECYCLE_ACTION"]
    assert [action.target_id for action in interpretation.batch.lifecycle_actions] == ["item-4711"]


@pytest.mark.parametrize(
    ("scene", "value"),
    [
        (CHOOSING, {"type": "string", "enum": ["room-blue", "room-red"]}),
        (CONFIRMING, {"type": "boolean"}),
        (ASKED, {}),
    ],
    ids=["choice", "confirmation", "input"],
)
async def test_a_model_is_told_to_answer_the_open_question_alone(scene: Scene, value: JsonValue) -> None:
    """Contract 2.6: the generation schema restricts the answer to the current question and its options."""
    script = Script(first=batch(finds()), reviews=[{"verdict": "unsupported", "optionId": None, "rationale": "r"}])
    if scene is not CHOOSING:
        script.reviews = []
    await script.run(scene, shortlist(FIND))
    schema = script.models.asked[0].output_schema
    assert schema is not None
    properties = schema["properties"]
    assert isinstance(properties, dict)
    answer = properties["answerToInteraction"]
    assert isinstance(answer, dict)
    members = answer["properties"]
    assert isinstance(members, dict)
    assert scene.interaction is not None
    assert members["interactionId"] == {"type": "string", "enum": [scene.interaction.id]}
    assert members["value"] == value
    assert "lifecycleActions" not in properties

"""What a batch may not say, by the rows of contract 2.6: found without a model, and repaired once."""

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
    COMPARE,
    CONFIRMING,
    FIND,
    NOTHING_OPEN,
    ONLY_FIND,
    PAY,
    Json,
    Scene,
    Script,
    answers,
    batch,
    books,
    capabilities_of,
    finds,
    gives_up,
    lifecycle_verdicts,
    pays,
    referring,
    shortlist,
    waiting,
    wants,
)


@dataclass(frozen=True)
class Row:
    """A statement of the contract, and a first proposal that breaks it."""

    name: str
    scene: Scene
    selection: Selection
    first: JsonValue
    codes: list[str]


AMBIGUOUS: Json = {
    "objective": "a room",
    "resolution": "ambiguous",
    "evidence": [{"text": "t", "meaning": "m", "messageIndex": 0}],
    "alternatives": ["this", "that"],
}
TALK = shortlist(mode="conversational")
FORM = ["MODEL_OUTPUT_FORM"]
REFERENCES = ["REFERENCE_REQUIREMENTS"]

FORMS = [
    Row("no object", NOTHING_OPEN, shortlist(FIND), "sorry", FORM),
    Row("intentions are missing", NOTHING_OPEN, shortlist(FIND), {}, FORM),
    Row("an unknown member", NOTHING_OPEN, shortlist(FIND), batch(finds(), confirmed=True), FORM),
    Row("no evidence", NOTHING_OPEN, shortlist(FIND), batch(finds() | {"evidence": []}), FORM),
    Row("a blank objective", NOTHING_OPEN, shortlist(FIND), batch(finds() | {"objective": ""}), FORM),
    Row("an answer without a value", CONFIRMING, shortlist(BOOK),
        batch(answer={"interactionId": "sure", "evidence": "yes"}), FORM),
    Row("an answer without evidence", CONFIRMING, shortlist(BOOK),
        batch(answer=answers("sure", True) | {"evidence": ""}), FORM),
    Row("a rationale of 1201 characters", NOTHING_OPEN, shortlist(FIND),
        batch(finds() | {"rationale": "x" * 1201}), FORM),
    Row("an ambiguous intention with a capability", NOTHING_OPEN, shortlist(FIND),
        batch(AMBIGUOUS | {"proposedCapability": FIND}), FORM),
    Row("an ambiguous intention with one alternative", NOTHING_OPEN, shortlist(FIND),
        batch(AMBIGUOUS | {"alternatives": ["this"]}), FORM),
    Row("an unsupported intention with a capability", NOTHING_OPEN, shortlist(FIND),
        batch(finds() | {"resolution": "unsupported"}), FORM),
    Row("a contradiction without evidence", NOTHING_OPEN, shortlist(FIND),
        batch(finds(), contradictions=[{"description": "d", "evidence": []}]), FORM),
    Row("an action of another kind", CONFIRMING, shortlist(mode="control"),
        batch(up=[gives_up("agenda:sure") | {"kind": "cancel_objective"}]), FORM),
]  # fmt: skip

BOUNDARY = [
    Row("an intention in conversational mode without an answer", CONFIRMING, shortlist(BOOK, mode="conversational"),
        batch(books()), ["INTENTION_NOT_ALLOWED"]),
    Row("an intention in conversational mode of another than the answer's owner", CHOOSING_NEXT,
        shortlist(BOOK, FIND, mode="conversational"), batch(books(), finds(), answer=answers("which", "room-blue")),
        ["INTENTION_NOT_ALLOWED"]),
    Row("an unresolved intention in conversational mode", CONFIRMING, TALK, batch(AMBIGUOUS), ["INTENTION_NOT_ALLOWED"]),
    Row("an empty batch in selected mode", NOTHING_OPEN, shortlist(FIND), batch(), ["EMPTY_BATCH"]),
    Row("an empty batch with a contradiction in selected mode", NOTHING_OPEN, shortlist(FIND),
        batch(contradictions=[{"description": "d", "evidence": AMBIGUOUS["evidence"]}]), ["EMPTY_BATCH"]),
    Row("an empty batch in selected mode while a confirmation is open", CONFIRMING, shortlist(BOOK), batch(),
        ["EMPTY_BATCH"]),
    Row("an empty batch in selected_with_control mode", CONFIRMING, shortlist(FIND, mode="selected_with_control"),
        batch(), ["EMPTY_BATCH"]),
    Row("an answer where no question is open", NOTHING_OPEN, shortlist(FIND), batch(finds(), answer=answers("sure", 1)),
        ["UNKNOWN_INTERACTION"]),
    Row("an answer to another question", ASKED, shortlist(FIND), batch(finds(), answer=answers("whither", "Rome")),
        ["UNKNOWN_INTERACTION"]),
    Row("a value that is no option", CHOOSING, shortlist(FIND), batch(finds(), answer=answers("which", "room-green")),
        ["UNKNOWN_CHOICE_OPTION"]),
    Row("a position is no option", CHOOSING, shortlist(FIND), batch(finds(), answer=answers("which", 1)),
        ["UNKNOWN_CHOICE_OPTION"]),
    Row("a label is no option", CHOOSING, shortlist(FIND), batch(finds(), answer=answers("which", "The blue room")),
        ["UNKNOWN_CHOICE_OPTION"]),
    Row("a string is no consent", CONFIRMING, shortlist(BOOK, FIND), batch(finds(), answer=answers("sure", "yes")),
        ["CONFIRMATION_ANSWER_NOT_BOOLEAN"]),
    Row("one is no consent", CONFIRMING, shortlist(BOOK, FIND), batch(finds(), answer=answers("sure", 1)),
        ["CONFIRMATION_ANSWER_NOT_BOOLEAN"]),
    Row("an answer whose owner does not wait, without its operation", CHOOSING_NEXT, shortlist(BOOK, FIND),
        batch(finds(), answer=answers("which", "room-blue")), ["ANSWER_WITHOUT_OPERATION"]),
    Row("a capability that exists and is not selected", NOTHING_OPEN, shortlist(FIND), batch(pays()),
        ["CAPABILITY_NOT_SELECTED"]),
    Row("a capability that does not exist", NOTHING_OPEN, shortlist(FIND), batch(wants("hotel.burn", input={})),
        ["CAPABILITY_NOT_SELECTED"]),
    Row("no capability where two are selected", NOTHING_OPEN, shortlist(FIND, PAY), batch(wants(None)),
        ["CAPABILITY_NOT_SELECTED"]),
    Row("another capability than the only one there is", Scene(compiled=ONLY_FIND), shortlist(FIND, mode="open"),
        batch(pays()), ["CAPABILITY_NOT_SELECTED"]),
    Row("a reference with two options' ids", CHOOSING, shortlist(FIND),
        batch(finds() | {"references": referring("room-blue,room-red")}), ["INVALID_REFERENCE"]),
    Row("a reference with an option's id and more", CHOOSING, shortlist(FIND),
        batch(finds() | {"references": referring("the room-blue")}), ["INVALID_REFERENCE"]),
    Row("too few references", CHOOSING, shortlist(COMPARE),
        batch(wants(COMPARE, input={}, references=referring("room-blue"))), REFERENCES),
    Row("the same reference twice", CHOOSING, shortlist(COMPARE),
        batch(wants(COMPARE, input={}, references=referring("room-blue", "room-blue"))), REFERENCES * 2),
    Row("a reference to no option", CHOOSING, shortlist(COMPARE),
        batch(wants(COMPARE, input={}, references=referring("room-blue", "room-green"))), REFERENCES * 2),
    Row("required references where nothing is open", NOTHING_OPEN, shortlist(COMPARE), batch(wants(COMPARE, input={})),
        REFERENCES),
    Row("an action on an unknown item", CONFIRMING, shortlist(mode="control"), batch(up=[gives_up("agenda:else")]),
        ["INVALID_LIFECYCLE_ACTION"]),
    Row("an item that is given up twice", CONFIRMING, shortlist(mode="control"),
        batch(up=[gives_up("agenda:sure"), gives_up("agenda:sure")]), ["INVALID_LIFECYCLE_ACTION"]),
    Row("control without an action", CONFIRMING, shortlist(mode="control"), batch(), ["LIFECYCLE_ACTION_MISSING"]),
    Row("an action that the selection does not allow", CONFIRMING, shortlist(FIND),
        batch(finds(), up=[gives_up("agenda:sure")]), ["INVALID_LIFECYCLE_ACTION"]),
    Row("everything at once", CONFIRMING, shortlist(FIND),
        batch(pays(), answer=answers("sure", "ok"), up=[gives_up("x")]),
        ["CONFIRMATION_ANSWER_NOT_BOOLEAN", "CAPABILITY_NOT_SELECTED", "INVALID_LIFECYCLE_ACTION"]),
]  # fmt: skip

INPUTS = [
    Row("an input of another form", NOTHING_OPEN, shortlist(FIND), batch(finds() | {"input": {"city": 3}}),
        ["INVALID_CAPABILITY_INPUT"]),
    Row("null is not an object", NOTHING_OPEN, shortlist(FIND), batch(finds() | {"input": None}),
        ["INVALID_CAPABILITY_INPUT"]),
    Row("an input that is absent", NOTHING_OPEN, shortlist(FIND), batch(wants(FIND)), ["INVALID_CAPABILITY_INPUT"]),
    Row("an input with a lone surrogate", NOTHING_OPEN, shortlist(FIND), batch(finds() | {"input": {"city": "\ud800"}}),
        ["INVALID_CAPABILITY_INPUT"]),
    Row("two inputs, each with its own place", NOTHING_OPEN, shortlist(FIND, BOOK),
        batch(wants(FIND, input={}), wants(BOOK, input={})), ["INVALID_CAPABILITY_INPUT"] * 2),
]  # fmt: skip


def _repairing(row: Row) -> tuple[Json, list[Json]]:
    """A repair that is always right in the row's scene, and the lifecycle reviews that it needs."""
    if row.selection.mode == "control":
        return batch(up=[gives_up("agenda:sure")]), [lifecycle_verdicts("supported")]
    if row.selection.mode == "conversational":
        return batch(), []
    ids = row.selection.capability_ids
    repaired = finds() if FIND in ids else books() if BOOK in ids else pays()
    if COMPARE in ids:
        unsupported: Json = {"objective": "o", "resolution": "unsupported", "evidence": AMBIGUOUS["evidence"]}
        repaired = unsupported
    return batch(repaired), []


@pytest.mark.parametrize("row", [*FORMS, *BOUNDARY, *INPUTS], ids=lambda row: row.name)
async def test_what_a_batch_may_not_say_is_repaired_once(row: Row) -> None:
    """Contract 2.6: boundary issues are collected, and a row's breach is all that is found in it."""
    repair, lifecycle = _repairing(row)
    owner_asked = (
        row.scene.interaction is not None
        and row.scene.interaction.kind == "choice"
        and FIND in (row.selection.capability_ids)
    )
    omitted: list[JsonValue] = [{"verdict": "unsupported", "optionId": None, "rationale": "r"}] if owner_asked else []
    script = Script(first=row.first, repair=repair, lifecycle=lifecycle, reviews=omitted)
    if row.selection.mode == "conversational":
        script.reviews = []
    await script.run(row.scene, row.selection)
    assert script.issue_codes == row.codes
    assert script.tasks[:2] == ["turn.interpret", "turn.interpret.repair"]
    request = script.models.asked[1].input
    assert request["invalidOutput"] == row.first


PERMITTED = [
    ("open mode, nothing", Scene(compiled=ONLY_FIND), shortlist(FIND, mode="open"), batch()),
    ("open mode, unsupported", Scene(compiled=ONLY_FIND), shortlist(FIND, mode="open"),
     batch({"objective": "fly", "resolution": "unsupported", "evidence": AMBIGUOUS["evidence"]})),
    ("no match, unsupported", NOTHING_OPEN, shortlist(mode="no_match"),
     batch({"objective": "fly", "resolution": "unsupported", "evidence": AMBIGUOUS["evidence"]})),
    ("no match, nothing", NOTHING_OPEN, shortlist(mode="no_match"), batch()),
    ("ambiguous", NOTHING_OPEN, shortlist(FIND), batch(AMBIGUOUS)),
    ("conversational, nothing", CONFIRMING, shortlist(BOOK, mode="conversational"), batch()),
    ("null members", NOTHING_OPEN, shortlist(FIND),
     batch(finds() | {"rationale": None, "alternatives": None}, answerToInteraction=None, lifecycleActions=None)),
    ("exact references", CHOOSING, shortlist(COMPARE),
     batch(wants(COMPARE, input={}, references=referring("room-blue", "room-red")))),
    ("an answer that resumes needs no operation", ASKED, shortlist(FIND), batch(answer=answers("where", "Rome"))),
    ("an answer and its owner's operation where nothing waits", Scene("Rome", ASKED.interaction), shortlist(FIND),
     batch(finds(), answer=answers("where", "Rome"))),
    ("a question without owner takes any answer", Scene("x", Interaction(id="q", kind="clarification", goal="?")),
     shortlist(FIND), batch(finds(), answer=answers("q", "x"))),
]  # fmt: skip


@pytest.mark.parametrize(("scene", "selection", "first"), [r[1:] for r in PERMITTED], ids=[r[0] for r in PERMITTED])
async def test_what_is_permitted_needs_no_repair(scene: Scene, selection: Selection, first: Json) -> None:
    script = Script(first=first)
    await script.run(scene, selection)
    assert script.tasks == ["turn.interpret"]


async def test_absent_null_and_given_inputs_stay_distinct() -> None:
    """Contract 2.6 and C10: nothing is fabricated."""
    unsupported: Json = {"objective": "fly", "resolution": "unsupported", "evidence": AMBIGUOUS["evidence"]}
    proposals = (unsupported, unsupported | {"input": None}, unsupported | {"input": {"a": 1}})
    interpretation = await Script(first=batch(*proposals)).run(NOTHING_OPEN, shortlist(mode="no_match"))
    assert [(i.has_input, i.input) for i in interpretation.batch.intentions] == [
        (False, None),
        (True, None),
        (True, {"a": 1}),
    ]


async def test_ids_of_a_model_are_dropped_and_the_kernel_gives_its_own() -> None:
    first = batch(finds() | {"id": "mine"}, pays() | {"id": 7})
    interpretation = await Script(first=first).run(NOTHING_OPEN, shortlist(FIND, PAY))
    assert [i.id for i in interpretation.batch.intentions] == ["intention-1", "intention-2"]


async def test_the_only_selected_capability_is_filled_in() -> None:
    interpretation = await Script(first=batch(wants(None, input={"city": "Rome"}))).run(NOTHING_OPEN, shortlist(FIND))
    assert capabilities_of(interpretation) == [FIND]


async def test_the_place_of_an_issue_is_a_pointer_into_the_proposal() -> None:
    script = Script(first=batch(finds(), wants(BOOK, input={"room": 3})), repair=batch(finds(), books()))
    await script.run(NOTHING_OPEN, shortlist(FIND, BOOK))
    issues = script.models.asked[1].input["validationIssues"]
    assert isinstance(issues, list)
    assert [issue["path"] for issue in issues if isinstance(issue, dict)] == ["/intentions/1/input/room"]


async def test_an_item_of_the_same_owner_that_waits_for_something_else_makes_an_answer_need_its_operation() -> None:
    """Contract 8.3: an answer resumes the one item of its owner; where there are two it is lent to neither."""
    other = waiting(CHOICE, id="agenda:other", status="waiting_facts", interaction=None)
    scene = Scene("the blue one", CHOICE, (waiting(CHOICE), other))
    script = Script(
        first=batch(answer=answers("which", "room-blue")),
        repair=batch(finds(), answer=answers("which", "room-blue")),
        reviews=[{"decision": "selected", "optionId": "room-blue", "rationale": "r"}],
    )
    await script.run(scene, shortlist(FIND))
    assert script.issue_codes == ["ANSWER_WITHOUT_OPERATION", "EMPTY_BATCH"]

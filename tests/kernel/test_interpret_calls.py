"""How many models a turn asks to be understood, by kind of turn (contract 2.6; issue 4 item 2)."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.runtime.stages.selection import ReviewedChoice, Selection

from tests.support.interpreting import (
    ASKED,
    BOOK,
    CHOOSING,
    CHOOSING_NEXT,
    CONFIRMING,
    FIND,
    NOTHING_OPEN,
    ONLY_FIND,
    PAY,
    SUPPORTED,
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
    lifecycle_verdicts,
    pays,
    shortlist,
)

INTERPRET, REPAIR = "turn.interpret", "turn.interpret.repair"
REVIEW, LIFECYCLE = "interaction-answer.review", "lifecycle.review"
ALONE = shortlist(FIND, mode="open", source="single_capability")
CLICKED = shortlist(mode="conversational", source="structured_selection")


@dataclass(frozen=True)
class Turn:
    """A kind of turn and what it costs."""

    name: str
    scene: Scene
    selection: Selection
    script: dict[str, JsonValue] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)


def reviewed(option_id: str = "room-blue", **members: object) -> ReviewedChoice:
    given: dict[str, object] = {
        "interaction_id": "which",
        "message_index": 0,
        "evidence": "the blue one",
        "rationale": "r",
    }
    return ReviewedChoice(**(given | {"option_id": option_id} | members))  # type: ignore[arg-type]


TURNS = [
    Turn("small talk with no question open", NOTHING_OPEN, shortlist(mode="conversational")),
    Turn("a click that consents", CONFIRMING.clicks("yes"), CLICKED),
    Turn("a click that refuses", CONFIRMING.clicks("no"), CLICKED),
    Turn("a click that chooses", CHOOSING.clicks("room-red"), CLICKED),
    Turn("a click on an action of a confirmation", CONFIRMING.clicks(action="edit"), CLICKED),
    Turn("a reviewed choice", CHOOSING, shortlist(FIND, reviewed=reviewed())),
    Turn("one wish", NOTHING_OPEN, shortlist(FIND), {"first": batch(finds())}, [INTERPRET]),
    Turn("two wishes", NOTHING_OPEN, shortlist(FIND, PAY), {"first": batch(finds(), pays())}, [INTERPRET]),
    Turn("nothing that can be done", NOTHING_OPEN, shortlist(mode="no_match"), {"first": batch()}, [INTERPRET]),
    Turn("small talk while a confirmation is open", CONFIRMING.says("hi"), shortlist(BOOK, mode="conversational"),
         {"first": batch()}, [INTERPRET]),
    Turn("another question while a confirmation is open", CONFIRMING, shortlist(FIND, BOOK), {"first": batch(finds())},
         [INTERPRET]),
    Turn("words to an open question", ASKED, shortlist(FIND), {"first": batch(answer=answers("where", "Rome"))},
         [INTERPRET]),
    Turn("one capability, small talk", Scene(compiled=ONLY_FIND), ALONE, {"first": batch()}, [INTERPRET]),
    Turn("one capability, a wish", Scene(compiled=ONLY_FIND), ALONE, {"first": batch(finds())}, [INTERPRET]),
    Turn("a click that leads to other work", CHOOSING_NEXT.clicks("room-blue"), CLICKED, {"first": batch(books())},
         [INTERPRET]),
    Turn("a yes", CONFIRMING, shortlist(BOOK), {"first": batch(answer=answers("sure", True)), "reviews": [SUPPORTED]},
         [INTERPRET, REVIEW]),
    Turn("a yes and a wish", CONFIRMING, shortlist(BOOK, FIND),
         {"first": batch(finds(), answer=answers("sure", True)), "reviews": [SUPPORTED, SUPPORTED]},
         [INTERPRET, REVIEW, REVIEW]),
    Turn("a choice in words", CHOOSING, shortlist(FIND),
         {"first": batch(answer=answers("which", "room-blue")), "reviews": [chosen("room-blue")]}, [INTERPRET, REVIEW]),
    Turn("work is given up", CONFIRMING, shortlist(mode="control"),
         {"first": batch(up=[gives_up("agenda:sure")]), "lifecycle": [lifecycle_verdicts("supported")]},
         [INTERPRET, LIFECYCLE]),
    Turn("an input that has to be repaired", NOTHING_OPEN, shortlist(FIND),
         {"first": batch(finds() | {"input": {}}), "repair": batch(finds())}, [INTERPRET, REPAIR]),
]  # fmt: skip


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_asks_no_more_models_than_its_doubt_needs(turn: Turn) -> None:
    script = Script(**turn.script)  # type: ignore[arg-type]
    await script.run(turn.scene, turn.selection)
    assert script.tasks == turn.tasks


@pytest.mark.parametrize(
    ("scene", "value"),
    [
        (CONFIRMING.clicks("yes"), True),
        (CONFIRMING.clicks("no"), False),
        (CHOOSING.clicks("room-red"), {"room": "red"}),
        (CONFIRMING.clicks(action="edit"), "none"),
    ],
    ids=["consent", "refusal", "choice", "an action is no consent"],
)
async def test_a_click_is_understood_without_a_model(scene: Scene, value: JsonValue) -> None:
    interpretation = await Script().run(scene, CLICKED)
    assert answer_of(interpretation) == value
    assert interpretation.source == "structured_selection"
    assert interpretation.answer_source == (None if value == "none" else "structured_selection")
    assert interpretation.batch.intentions == ()


async def test_a_reviewed_choice_is_the_answer_in_the_words_of_the_whole_message() -> None:
    interpretation = await Script().run(CHOOSING, shortlist(FIND, reviewed=reviewed()))
    assert answer_of(interpretation) == {"room": "blue"}
    answer = interpretation.batch.answer_to_interaction
    assert answer is not None
    assert answer.evidence == "the blue one"
    assert (interpretation.source, interpretation.answer_source) == ("model", "model")


async def test_a_reviewed_choice_beside_other_work_is_asked_about_and_stays_the_answer() -> None:
    """Contract 2.6: a bound reviewed choice acts like a validated answer through interpretation."""
    proposal = batch(pays(), answer=answers("which", "room-red"))
    script = Script(first=proposal, reviews=[SUPPORTED])
    interpretation = await script.run(CHOOSING, shortlist(FIND, PAY, reviewed=reviewed()))
    assert answer_of(interpretation) == {"room": "blue"}
    assert capabilities_of(interpretation) == [PAY]


async def test_a_reviewed_choice_survives_the_repair() -> None:
    proposal = batch(pays() | {"input": 1}, answer=answers("which", "room-red"))
    script = Script(first=proposal, repair=batch(pays()), reviews=[SUPPORTED])
    interpretation = await script.run(CHOOSING, shortlist(FIND, PAY, reviewed=reviewed()))
    assert answer_of(interpretation) == {"room": "blue"}


async def test_another_click_wins_over_a_reviewed_choice() -> None:
    script = Script(first=batch())
    interpretation = await script.run(CHOOSING.clicks("room-red"), shortlist(FIND, reviewed=reviewed()))
    assert answer_of(interpretation) == {"room": "red"}
    assert interpretation.answer_source == "structured_selection"


@pytest.mark.parametrize(
    ("scene", "choice"),
    [
        (CHOOSING, reviewed(interaction_id="another")),
        (CHOOSING, reviewed(option_id="gone")),
        (CHOOSING, reviewed(message_index=1)),
        (CHOOSING, reviewed(evidence="something else")),
        (CONFIRMING, reviewed(interaction_id="sure", option_id="yes", evidence="yes")),
    ],
    ids=["interaction", "option", "message index", "message text", "not a choice"],
)
async def test_a_reviewed_choice_of_another_moment_is_refused(scene: Scene, choice: ReviewedChoice) -> None:
    with pytest.raises(ModelGatewayError) as refused:
        await Script().run(scene, shortlist(FIND, reviewed=choice))
    assert refused.value.code == "CAPABILITY_SELECTION_INVALID"


async def test_the_models_policy_keys_and_prompts_are_those_of_the_contract() -> None:
    script = Script(
        first=batch(answer=answers("sure", True)),
        repair=batch(up=[gives_up("agenda:sure")]),
        reviews=[{"verdict": "unsupported", "rationale": "r"}],
        lifecycle=[lifecycle_verdicts("supported")],
    )
    await script.run(CONFIRMING, shortlist(BOOK, mode="selected_with_control"))
    assert [(ask.model_keys, ask.prompt_id) for ask in script.models.asked] == [
        (("turn.interpret",), "kernel.turn.interpret"),
        (
            ("interaction-answer.review", "turn.interpret.repair", "turn.interpret"),
            "kernel.review-interaction-answer.confirmation-answer-review-system-prompt",
        ),
        (("turn.interpret.repair", "turn.interpret"), "kernel.turn.interpret.repair"),
        (("lifecycle.review", "turn.interpret"), "kernel.review-lifecycle-actions.lifecycle-review-system-prompt"),
    ]
    assert [[c.id for c in ask.capabilities] for ask in script.models.asked] == [[BOOK], [], [BOOK], []]
    assert all(c.detail == "contract" for ask in script.models.asked for c in ask.capabilities)

"""Reviews of answers and of what stands beside them, by the rows of contract 2.7. What is not reviewed as supported is not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from intention_kernel.contracts.interactions import Interaction, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable
from intention_kernel.runtime.stages.interpreting.interpret import interpret
from intention_kernel.runtime.stages.selection import Selection

from tests.support.interpreting import (
    ASKED,
    BOOK,
    CHOICE,
    CHOOSING,
    CHOOSING_NEXT,
    CONFIRMING,
    FIND,
    NO_CHOICE,
    OWNERLESS,
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
    lifecycle_verdicts,
    pays,
    shortlist,
    waiting,
)
from tests.support.kernel import ScriptedModels

YES = answers("sure", True)
BLUE = answers("which", "room-blue")
RED = answers("which", "room-red")
BOTH_ROOMS: Json = {"decision": "ambiguous", "optionIds": ["room-blue", "room-red"], "rationale": "r"}
OMITTED_NONE: Json = {"verdict": "unsupported", "optionId": None, "rationale": "r"}
OMITTED_BLUE: Json = {"verdict": "supported", "optionId": "room-blue", "rationale": "r"}
UNSURE = ["UNSUPPORTED_CHOICE_ANSWER"]


@dataclass(frozen=True)
class Row:
    """A first proposal with its reviews, the codes that the repair gets, the repair with its reviews, and what is left."""

    name: str
    scene: Scene
    selection: Selection
    first: Json
    reviews: list[JsonValue]
    codes: list[str]
    repair: Json | None = None
    answer: JsonValue = "none"
    capabilities: tuple[str, ...] = ()


YES_AND_FIND = batch(finds(), answer=YES)
BLUE_AND_PAY = batch(pays(), answer=BLUE)
ONE = Interaction(id="which", kind="choice", goal="This?", capability_id=FIND, options=(CHOICE.options[0],))

CONFIRMATIONS = [
    Row("a supported yes", CONFIRMING, shortlist(BOOK), batch(answer=YES), [SUPPORTED], [], None, True),
    Row("a supported no", CONFIRMING, shortlist(BOOK), batch(answer=answers("sure", False)), [SUPPORTED], [], None, False),
    Row("an unsupported yes", CONFIRMING, shortlist(BOOK), batch(answer=YES), [UNSUPPORTED],
        ["UNSUPPORTED_CONFIRMATION_ANSWER"], batch()),
    Row("a review of no form", CONFIRMING, shortlist(BOOK), batch(answer=YES), [{"verdict": "maybe", "rationale": "r"}],
        ["UNSUPPORTED_CONFIRMATION_ANSWER"], batch()),
    Row("a review with a member too many", CONFIRMING, shortlist(BOOK), batch(answer=YES), [SUPPORTED | {"x": 1}],
        ["UNSUPPORTED_CONFIRMATION_ANSWER"], batch()),
    Row("independent extras", CONFIRMING, shortlist(BOOK, FIND), YES_AND_FIND, [SUPPORTED, SUPPORTED], [], None, True,
        (FIND,)),
    Row("inferred extras", CONFIRMING, shortlist(BOOK, FIND), YES_AND_FIND, [SUPPORTED, UNSUPPORTED],
        ["UNSUPPORTED_CONFIRMATION_INTENTIONS"], batch(answer=YES), True),
    Row("extras whose review has no form", CONFIRMING, shortlist(BOOK, FIND), YES_AND_FIND, [SUPPORTED, None],
        ["UNSUPPORTED_CONFIRMATION_INTENTIONS"], batch(answer=YES), True),
    Row("two inferred extras", CONFIRMING, shortlist(BOOK, FIND, PAY), batch(finds(), pays(), answer=YES),
        [SUPPORTED, UNSUPPORTED], ["UNSUPPORTED_CONFIRMATION_INTENTIONS"] * 2, batch(answer=YES), True),
    Row("extras beside a click", CONFIRMING.clicks("yes", text="and Rome"), shortlist(FIND, BOOK),
        batch(finds()), [UNSUPPORTED], ["UNSUPPORTED_CONFIRMATION_INTENTIONS"], batch(), True),
]  # fmt: skip

CHOICES = [
    Row("the chosen option", CHOOSING, shortlist(FIND), batch(answer=BLUE), [chosen("room-blue")], [], None,
        {"room": "blue"}),
    Row("another option", CHOOSING, shortlist(FIND), batch(answer=BLUE), [chosen("room-red"), chosen("room-red")],
        ["MISMATCHED_CHOICE_ANSWER"], batch(answer=RED), {"room": "red"}),
    Row("no selection", CHOOSING, shortlist(FIND), batch(answer=BLUE), [NO_CHOICE], UNSURE, batch()),
    Row("two that compete", CHOOSING, shortlist(FIND), batch(answer=BLUE), [BOTH_ROOMS], UNSURE, batch()),
    Row("an option that is not there", CHOOSING, shortlist(FIND), batch(answer=BLUE), [chosen("room-green")], UNSURE,
        batch()),
    Row("no form", CHOOSING, shortlist(FIND), batch(answer=BLUE), [chosen("room-blue") | {"decision": "yes"}], UNSURE,
        batch()),
    Row("selected without its option", CHOOSING, shortlist(FIND), batch(answer=BLUE),
        [{"decision": "selected", "rationale": "r"}], UNSURE, batch()),
    Row("one that competes with itself", CHOOSING, shortlist(FIND), batch(answer=BLUE),
        [BOTH_ROOMS | {"optionIds": ["room-blue", "room-blue"]}], UNSURE, batch()),
    Row("competing with something that is not there", CHOOSING, shortlist(FIND), batch(answer=BLUE),
        [BOTH_ROOMS | {"optionIds": ["room-blue", "x"]}], UNSURE, batch()),
    Row("extras that are asked for", CHOOSING, shortlist(FIND, PAY), BLUE_AND_PAY, [chosen("room-blue"), SUPPORTED], [],
        None, {"room": "blue"}, (PAY,)),
    Row("inferred extras", CHOOSING, shortlist(FIND, PAY), BLUE_AND_PAY, [chosen("room-blue"), UNSUPPORTED],
        ["UNSUPPORTED_CHOICE_INTENTIONS"], batch(answer=BLUE), {"room": "blue"}),
    Row("the owner's own operation is no extra", CHOOSING_NEXT, shortlist(BOOK), batch(books(), answer=BLUE),
        [chosen("room-blue")], [], None, {"room": "blue"}, (BOOK,)),
    Row("unanswered, mixed, asked for", CHOOSING, shortlist(FIND, PAY), batch(pays()), [SUPPORTED], [], None, "none",
        (PAY,)),
    Row("unanswered, mixed, inferred", CHOOSING, shortlist(FIND, PAY), batch(pays()), [UNSUPPORTED],
        ["UNSUPPORTED_UNANSWERED_CHOICE_EXTRAS"], batch()),
    Row("unanswered and not mixed", CHOOSING, shortlist(PAY), batch(pays()), [], [], None, "none", (PAY,)),
    Row("the answer to a choice of nobody needs its operation, which is no extra", Scene("blue", OWNERLESS),
        shortlist(BOOK), batch(books(), answer=BLUE), [chosen("room-blue")], [], None, {"room": "blue"}, (BOOK,)),
    Row("the owner's operation and an omitted choice", CHOOSING, shortlist(FIND), batch(finds()),
        [OMITTED_BLUE, chosen("room-blue")], ["OMITTED_CHOICE_ANSWER"], batch(answer=BLUE), {"room": "blue"}),
    Row("the owner's operation and no choice", CHOOSING, shortlist(FIND), batch(finds()), [OMITTED_NONE], [], None,
        "none", (FIND,)),
    Row("an omission review of no form", CHOOSING, shortlist(FIND), batch(finds()), [SUPPORTED, OMITTED_NONE],
        ["OMITTED_CHOICE_ANSWER"], batch(finds()), "none", (FIND,)),
    Row("an omission review of another option", CHOOSING, shortlist(FIND), batch(finds()),
        [OMITTED_BLUE | {"optionId": "x"}, OMITTED_NONE], ["OMITTED_CHOICE_ANSWER"], batch(finds()), "none", (FIND,)),
]  # fmt: skip


@pytest.mark.parametrize("row", [*CONFIRMATIONS, *CHOICES], ids=lambda row: row.name)
async def test_a_review_decides_over_what_a_model_read_out_of_the_message(row: Row) -> None:
    script = Script(first=row.first, repair=row.repair, reviews=row.reviews)
    interpretation = await script.run(row.scene, row.selection)
    assert script.issue_codes == row.codes
    assert answer_of(interpretation) == row.answer
    assert capabilities_of(interpretation) == list(row.capabilities)


async def test_a_mismatch_names_the_option_that_was_reviewed() -> None:
    script = Script(first=batch(answer=BLUE), repair=batch(answer=RED), reviews=[chosen("room-red")] * 2)
    await script.run(CHOOSING, shortlist(FIND))
    assert "room-red" in str(script.models.asked[2].input["validationIssues"])


@pytest.mark.parametrize(
    ("verdicts", "left"),
    [
        (lifecycle_verdicts("supported", "unsupported"), ["/lifecycleActions/1"]),
        (lifecycle_verdicts("unsupported", "unsupported"), ["/lifecycleActions/0", "/lifecycleActions/1"]),
        (lifecycle_verdicts("supported"), ["/lifecycleActions/0", "/lifecycleActions/1"]),
        (lifecycle_verdicts("supported", "supported", "supported"), ["/lifecycleActions/0", "/lifecycleActions/1"]),
        ({"reviews": [{"actionIndex": 0, "verdict": "supported", "rationale": "r"}] * 2},
         ["/lifecycleActions/0", "/lifecycleActions/1"]),
        ({"verdict": "supported"}, ["/lifecycleActions/0", "/lifecycleActions/1"]),
    ],
    ids=["one", "none", "one too few", "one too many", "one twice", "no form"],
)  # fmt: skip
async def test_each_action_has_to_be_supported(verdicts: Json, left: list[str]) -> None:
    scene = Scene("forget both", CONFIRMING.interaction, (*CONFIRMING.agenda, *ASKED.agenda))
    both = batch(up=[gives_up("agenda:sure"), gives_up("agenda:where")])
    script = Script(first=both, repair=batch(), lifecycle=[verdicts])
    interpretation = await script.run(scene, shortlist(mode="control"))
    issues = script.models.asked[2].input["validationIssues"]
    assert isinstance(issues, list)
    assert [issue["path"] for issue in issues if isinstance(issue, dict)] == left
    assert script.issue_codes == ["UNSUPPORTED_LIFECYCLE_ACTIONS"] * len(left)
    assert interpretation.batch.lifecycle_actions == ()


async def test_supported_actions_stay() -> None:
    script = Script(first=batch(up=[gives_up("agenda:sure")]), lifecycle=[lifecycle_verdicts("supported")])
    interpretation = await script.run(CONFIRMING, shortlist(mode="control"))
    assert [action.target_id for action in interpretation.batch.lifecycle_actions] == ["agenda:sure"]


@pytest.mark.parametrize("value", [{"room": "blue"}, "room-blue", {"optionId": "room-blue"}], ids=str)
async def test_an_option_is_meant_by_its_id_or_by_its_exact_value(value: JsonValue) -> None:
    script = Script(first=batch(answer=answers("which", value)), reviews=[chosen("room-blue")])
    assert answer_of(await script.run(CHOOSING, shortlist(FIND))) == {"room": "blue"}


async def test_an_option_is_meant_by_the_one_reference_of_the_intentions() -> None:
    first = batch(
        books() | {"references": [{"expression": "it", "target": "room-red", "evidence": "it"}]},
        answer=answers("which", "that one"),
    )
    script = Script(first=first, reviews=[chosen("room-red")])
    assert answer_of(await script.run(CHOOSING_NEXT, shortlist(BOOK))) == {"room": "red"}


async def test_options_of_equal_values_are_no_answer() -> None:
    """Contract C13: the server's option has to match uniquely; no review is asked."""
    twins = tuple(InteractionOption(id=name, label=name, value=1) for name in ("a", "b"))
    choice = CHOICE.model_copy(update={"options": twins})
    script = Script(first=batch(answer=answers("which", "a")), repair=batch())
    interpretation = await script.run(Scene("a", choice, (waiting(choice),)), shortlist(FIND))
    assert script.issue_codes == UNSURE
    assert script.tasks == ["turn.interpret", "turn.interpret.repair"]
    assert answer_of(interpretation) == "none"


async def test_options_that_redaction_makes_the_same_are_no_answer_and_no_review_is_asked() -> None:
    """Contract C13: identity is bound before redaction."""
    hidden = tuple(InteractionOption(id=name, label=name, value=name) for name in ("secret-1", "secret-2"))
    choice = CHOICE.model_copy(update={"options": hidden})
    item = waiting(choice, model_redactions=("secret-1", "secret-2"))
    script = Script(first=batch(answer=answers("which", "secret-1")), repair=batch())
    await script.run(Scene("the first", choice, (item,)), shortlist(FIND))
    assert script.issue_codes == UNSURE
    assert "interaction-answer.review" not in script.tasks
    assert "secret" not in str([ask.output_schema for ask in script.models.asked])


@pytest.mark.parametrize(
    ("first", "codes"), [(batch(answer=BLUE), UNSURE), (batch(finds()), UNSURE)], ids=["answer", "intention"]
)
async def test_an_example_that_is_another_options_position_forces_clarification(first: Json, codes: list[str]) -> None:
    """Contract C14: "2" is an example of the first option and the position of the second. No model is asked about it."""
    script = Script(first=first, repair=batch())
    interpretation = await script.run(CHOOSING.says(" 2 "), shortlist(FIND))
    assert script.issue_codes == codes
    assert script.tasks == ["turn.interpret", "turn.interpret.repair"]
    assert answer_of(interpretation) == "none"
    assert capabilities_of(interpretation) == []


@pytest.mark.parametrize("text", ["sea", "1", "02", "2 please", "the 2"])
async def test_an_example_alone_decides_nothing_and_is_reviewed(text: str) -> None:
    script = Script(first=batch(answer=BLUE), repair=batch(), reviews=[NO_CHOICE])
    interpretation = await script.run(CHOOSING.says(text), shortlist(FIND))
    assert answer_of(interpretation) == "none"


async def test_an_example_that_is_its_own_options_position_competes_with_nothing() -> None:
    first = CHOICE.options[0].model_copy(update={"reference_examples": ("1",)})
    choice = CHOICE.model_copy(update={"options": (first, CHOICE.options[1])})
    script = Script(first=batch(answer=BLUE), reviews=[chosen("room-blue")])
    interpretation = await script.run(Scene("1", choice, (waiting(choice),)), shortlist(FIND))
    assert answer_of(interpretation) == {"room": "blue"}


async def test_a_click_is_what_it_says_even_where_its_text_competes() -> None:
    interpretation = await Script(first=batch()).run(CHOOSING.clicks("room-red", text="2"), shortlist(FIND))
    assert answer_of(interpretation) == {"room": "red"}


async def test_words_in_an_opaque_payload_are_no_examples() -> None:
    options = tuple(
        o.model_copy(update={"reference_examples": None, "value": {"examples": ["2"]}}) for o in CHOICE.options
    )
    choice = CHOICE.model_copy(
        update={"options": options[:1] + CHOICE.options[1:], "payload": {"referenceExamples": ["2"]}}
    )
    script = Script(first=batch(answer=RED), reviews=[chosen("room-red")])
    assert answer_of(await script.run(Scene("2", choice, (waiting(choice),)), shortlist(FIND))) == {"room": "red"}


async def test_one_option_cannot_compete() -> None:
    script = Script(first=batch(answer=BLUE), reviews=[chosen("room-blue")])
    await script.run(Scene("that", ONE, (waiting(ONE),)), shortlist(FIND))
    assert "ambiguous" not in str(script.models.asked[1].output_schema)


class _Away(ScriptedModels):
    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        if ask.task in _REVIEWS:
            raise ModelGatewayError("MODEL_PROVIDER_FAILURE", "away", retryable=True)
        return await ScriptedModels.ask(self, ask)


_REVIEWS: tuple[ModelTask, ...] = ("interaction-answer.review", "lifecycle.review")


@pytest.mark.parametrize(
    ("scene", "selection", "first"),
    [
        (CONFIRMING, shortlist(BOOK), batch(answer=YES)),
        (CHOOSING, shortlist(FIND), batch(answer=BLUE)),
        (CHOOSING, shortlist(FIND), batch(finds())),
        (CONFIRMING, shortlist(mode="control"), batch(up=[gives_up("agenda:sure")])),
    ],
    ids=["confirmation", "choice", "omitted", "lifecycle"],
)
async def test_a_review_that_cannot_be_asked_ends_the_attempt(scene: Scene, selection: Selection, first: Json) -> None:
    """Contract 2.7: a review's exception propagates; nothing is supported by it."""
    with pytest.raises(ModelGatewayError) as away:
        await interpret(scene.snapshot(), selection, _Away({"turn.interpret": [first]}))
    assert away.value.code == "MODEL_PROVIDER_FAILURE"


async def test_what_is_reviewed_is_the_value_that_the_owner_will_get() -> None:
    script = Script(first=batch(answer=BLUE), reviews=[chosen("room-blue")])
    await script.run(CHOOSING, shortlist(FIND))
    asked = script.models.asked[1].input
    assert asked["proposedAnswer"] == {"interactionId": "which", "value": {"room": "blue"}, "evidence": "words"}
    assert asked["proposedOption"] == CHOICE.options[0].to_json()
    assert "context" in asked

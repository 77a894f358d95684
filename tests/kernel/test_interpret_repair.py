"""The one repair: what it may leave out, what it has to keep, and how it fails (contract 2.6)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.runtime.stages.selection import Selection

from tests.support.interpreting import (
    BOOK,
    CHOOSING,
    CHOOSING_NEXT,
    CONFIRMING,
    FIND,
    NO_CHOICE,
    NOTHING_OPEN,
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
)

YES = answers("sure", True)
NO = answers("sure", False)
BLUE = answers("which", "room-blue")
RED = answers("which", "room-red")
SAID: JsonValue = [{"description": "d", "evidence": [{"text": "t", "meaning": "m", "messageIndex": 0}]}]
OMITTED_BLUE: Json = {"verdict": "supported", "optionId": "room-blue", "rationale": "r"}
CONTROL = shortlist(mode="control")


@dataclass(frozen=True)
class Row:
    """A first proposal, the reviews of both, and a repair. `lifecycle` are reviews of lifecycle actions."""

    name: str
    scene: Scene
    selection: Selection
    first: JsonValue
    repair: JsonValue
    reviews: tuple[JsonValue, ...] = ()
    lifecycle: tuple[JsonValue, ...] = ()


ACCEPTED = [
    Row("nothing, after a doubted choice", CHOOSING, shortlist(FIND), batch(answer=BLUE), batch(), (NO_CHOICE,)),
    Row("nothing but a contradiction, after a doubted choice", CHOOSING, shortlist(FIND), batch(answer=BLUE),
        batch(contradictions=SAID), (NO_CHOICE,)),
    Row("nothing, after a doubted choice with its operation", CHOOSING_NEXT, shortlist(BOOK),
        batch(books(), answer=BLUE), batch(), (NO_CHOICE,)),
    Row("nothing, after a doubted confirmation", CONFIRMING.says("Ann"), shortlist(BOOK), batch(answer=YES), batch(),
        (UNSUPPORTED,)),
    Row("nothing, after an answer that is no yes or no", CONFIRMING, shortlist(BOOK),
        batch(answer=answers("sure", "Ann")), batch()),
    Row("nothing twice, while a confirmation is open", CONFIRMING.says("hm"), shortlist(BOOK), batch(), batch()),
    Row("nothing, after doubted extras that were all there was", CHOOSING, shortlist(FIND, PAY), batch(pays()), batch(),
        (UNSUPPORTED,)),
    Row("nothing, after a doubted abandonment", CONFIRMING, CONTROL, batch(up=[gives_up("agenda:sure")]), batch(),
        (), (lifecycle_verdicts("unsupported"),)),
    Row("other work, after a doubted confirmation", CONFIRMING, shortlist(BOOK, FIND), batch(answer=YES),
        batch(finds()), (UNSUPPORTED,)),
    Row("a new reading, after no form at all", NOTHING_OPEN, shortlist(FIND), "sorry", batch(finds())),
]  # fmt: skip

REFUSED = [
    Row("nothing, where nothing was in doubt", NOTHING_OPEN, shortlist(FIND), batch(finds() | {"input": {}}), batch()),
    Row("nothing twice, with no confirmation open", NOTHING_OPEN, shortlist(FIND), batch(), batch()),
    Row("nothing, after no form at all", NOTHING_OPEN, shortlist(FIND), "sorry", batch()),
    Row("no form twice", NOTHING_OPEN, shortlist(FIND), "sorry", "sorry"),
    Row("nothing, after a doubted choice beside other selected work", CHOOSING, shortlist(FIND, PAY),
        batch(answer=BLUE), batch(), (NO_CHOICE,)),
    Row("nothing, after a doubted confirmation beside other selected work", CONFIRMING, shortlist(BOOK, PAY),
        batch(answer=YES), batch(), (UNSUPPORTED,)),
    Row("a contradiction, after doubted extras", CHOOSING, shortlist(FIND, PAY), batch(pays()),
        batch(contradictions=SAID), (UNSUPPORTED,)),
    Row("the doubted confirmation again", CONFIRMING, shortlist(BOOK), batch(answer=YES), batch(answer=YES),
        (UNSUPPORTED, UNSUPPORTED)),
    Row("the doubted choice again", CHOOSING, shortlist(FIND), batch(answer=BLUE), batch(answer=BLUE),
        (NO_CHOICE, NO_CHOICE)),
    Row("a mismatch that is dropped", CHOOSING, shortlist(FIND), batch(answer=BLUE), batch(), (chosen("room-red"),)),
    Row("a mismatch that is dropped while other work stays", CHOOSING, shortlist(FIND, PAY),
        batch(pays(), answer=BLUE), batch(pays()), (chosen("room-red"),)),
    Row("a mismatch again", CHOOSING, shortlist(FIND), batch(answer=BLUE), batch(answer=BLUE),
        (chosen("room-red"), chosen("room-red"))),
    Row("a yes that becomes a no while extras go", CONFIRMING, shortlist(BOOK, FIND), batch(finds(), answer=YES),
        batch(answer=NO), (SUPPORTED, UNSUPPORTED)),
    Row("a yes that goes with its extras", CONFIRMING, shortlist(BOOK, FIND), batch(finds(), answer=YES),
        batch(finds()), (SUPPORTED, UNSUPPORTED)),
    Row("a choice that changes while extras go", CHOOSING, shortlist(FIND, PAY), batch(pays(), answer=BLUE),
        batch(answer=RED), (chosen("room-blue"), UNSUPPORTED)),
    Row("extras that stay", CONFIRMING, shortlist(BOOK, FIND), batch(finds(), answer=YES), batch(finds(), answer=YES),
        (SUPPORTED, UNSUPPORTED, UNSUPPORTED)),
    Row("a doubted abandonment again", CONFIRMING, CONTROL, batch(up=[gives_up("agenda:sure")]),
        batch(up=[gives_up("agenda:sure")]), (), (lifecycle_verdicts("unsupported"),) * 2),
    Row("an omitted choice that is left out again", CHOOSING, shortlist(FIND), batch(finds()), batch(finds()),
        (OMITTED_BLUE, OMITTED_BLUE)),
]  # fmt: skip


def _script(row: Row) -> Script:
    return Script(first=row.first, repair=row.repair, reviews=row.reviews, lifecycle=row.lifecycle)


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: row.name)
async def test_the_repair_may_give_up_what_was_in_doubt(row: Row) -> None:
    script = _script(row)
    interpretation = await script.run(row.scene, row.selection)
    assert script.tasks.count("turn.interpret.repair") == 1
    assert answer_of(interpretation) == "none"
    assert interpretation.batch.lifecycle_actions == ()


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.name)
async def test_a_repair_that_does_not_help_ends_the_attempt(row: Row) -> None:
    """8.2: nothing is committed, and the pending operation stays as it was."""
    script = _script(row)
    with pytest.raises(ModelGatewayError) as refused:
        await script.run(row.scene, row.selection)
    assert refused.value.code == "MODEL_OUTPUT_INVALID"
    assert script.tasks.count("turn.interpret.repair") == 1


async def test_a_supported_answer_is_not_put_in_doubt_again_by_its_repair() -> None:
    """C9: the repair keeps the answer that is supported already; one review of it is all there is."""
    script = Script(first=batch(finds(), answer=YES), repair=batch(answer=YES), reviews=[SUPPORTED, UNSUPPORTED])
    interpretation = await script.run(CONFIRMING, shortlist(BOOK, FIND))
    assert answer_of(interpretation) is True
    assert script.tasks == [
        "turn.interpret",
        "interaction-answer.review",
        "interaction-answer.review",
        "turn.interpret.repair",
    ]


async def test_an_answer_that_a_repair_brings_in_is_reviewed() -> None:
    script = Script(first=batch(finds() | {"input": {}}), repair=batch(answer=YES), reviews=[SUPPORTED])
    interpretation = await script.run(CONFIRMING, shortlist(BOOK, FIND))
    assert answer_of(interpretation) is True


async def test_a_repair_of_an_empty_batch_is_not_told_to_ask_for_the_pending_operation_again() -> None:
    """8.2: feedback for a confirmation must not demand a duplicate intention."""
    script = Script(first=batch(), repair=batch(answer=YES), reviews=[SUPPORTED])
    await script.run(CONFIRMING, shortlist(BOOK))
    said = str(script.models.asked[1].input["validationIssues"])
    assert "Do not ask for the pending operation again" in said


async def test_the_repaired_batch_alone_gets_ids() -> None:
    script = Script(first=batch(finds(), pays()), repair=batch(finds()))
    interpretation = await script.run(NOTHING_OPEN, shortlist(FIND))
    assert [i.id for i in interpretation.batch.intentions] == ["intention-1"]
    assert capabilities_of(interpretation) == [FIND]


async def test_the_error_names_codes_and_places_and_nothing_that_was_said() -> None:
    secret: Json = finds() | {"input": {"city": 4711}}
    with pytest.raises(ModelGatewayError) as refused:
        await Script(first=batch(secret), repair=batch(secret)).run(NOTHING_OPEN, shortlist(FIND))
    assert refused.value.detail == (
        "turn.interpret: still refused after its one repair: INVALID_CAPABILITY_INPUT at /intentions/0/input/city"
    )

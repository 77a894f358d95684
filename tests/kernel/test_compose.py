"""Answers that models write: what is asked, how often, and what happens when it is no good (contract 2.12)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from intention_kernel.agent.prompts.response import PROMPTS
from intention_kernel.agent.results import CapabilityIssue, NeedsInput
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import (
    InfrastructureError,
    IntentionKernelError,
    LeaseLostError,
    ModelGatewayError,
    TurnHeldError,
)
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable
from intention_kernel.runtime.stages.composing.blocked import blocked_text, settled_text
from intention_kernel.runtime.stages.composing.brief import build_brief
from intention_kernel.runtime.stages.composing.compose import APOLOGY, answer_turn, compose
from intention_kernel.runtime.stages.composition import Composition
from intention_kernel.runtime.stages.outcomes import StepIssue
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

from tests.support.kernel import ScriptedModels
from tests.support.turn_outcomes import SUPPORTED, blocked, done, draft, ended, question, settled, turn

COMPOSE: ModelTask = "response.compose"
REPAIR: ModelTask = "response.compose.repair"
REVIEW: ModelTask = "response.grounding-review"
REVIEW_REPAIR: ModelTask = "response.grounding-review.repair"

FREE: JsonValue = draft(("Room 7 is free.", ["evidence-a"]), (" Shall I book it?", []))
UNKNOWN: JsonValue = draft(("Room 7 is free.", ["nowhere"]))
REFUSED: JsonValue = {**SUPPORTED, "verdict": "unsupported"}
BROKEN: JsonValue = {"text": "no parts"}

WORDLESS = turn(done("a"))
FAILURE = StepIssue("b", CapabilityIssue("FULL", "The hotel is full."))
WITH_FALLBACK = turn(done("a", "Room 7 is free."), issues=(FAILURE,))
FALLBACK = "Room 7 is free.\n\nThe hotel is full."

CALLS: list[tuple[str, TurnOutcome, dict[ModelTask, list[JsonValue]], list[ModelTask], str, str | None]] = [
    ("canonical only", turn(done("a", "Room 7 is free.")), {}, [], "canonical", None),
    ("G7: a question only", turn(ended("a", NeedsInput(x := question())), shown=x), {}, [], "canonical", None),
    ("a blocked step only", turn(blocked("a", "r-1")), {}, [], "canonical", None),
    (
        "a model's answer",
        WORDLESS,
        {COMPOSE: [FREE], REVIEW: [SUPPORTED]},
        [COMPOSE, REVIEW],
        "model",
        None,
    ),
    (
        "G2: a draft that is repaired once",
        WORDLESS,
        {COMPOSE: [FREE], REVIEW: [REFUSED, SUPPORTED], REPAIR: [FREE]},
        [COMPOSE, REVIEW, REPAIR, REVIEW],
        "model",
        None,
    ),
    (
        "a draft that cites what is not there is reviewed too, and repaired",
        WORDLESS,
        {COMPOSE: [UNKNOWN], REVIEW: [SUPPORTED, SUPPORTED], REPAIR: [FREE]},
        [COMPOSE, REVIEW, REPAIR, REVIEW],
        "model",
        None,
    ),
    (
        "G5: two refused drafts, and words for everything",
        WITH_FALLBACK,
        {COMPOSE: [FREE], REVIEW: [REFUSED, REFUSED], REPAIR: [FREE]},
        [COMPOSE, REVIEW, REPAIR, REVIEW],
        "canonical",
        None,
    ),
    (
        "G5, G8: two refused drafts, and no words for everything",
        WORDLESS,
        {COMPOSE: [FREE], REVIEW: [REFUSED, REFUSED], REPAIR: [FREE]},
        [COMPOSE, REVIEW, REPAIR, REVIEW],
        "technical_fallback",
        "UNGROUNDED_RESPONSE",
    ),
    (
        "a draft without form, and words for everything",
        WITH_FALLBACK,
        {COMPOSE: [BROKEN]},
        [COMPOSE],
        "canonical",
        None,
    ),
    (
        "a draft without form is repaired where there are no words",
        WORDLESS,
        {COMPOSE: [BROKEN], REPAIR: [FREE], REVIEW: [SUPPORTED]},
        [COMPOSE, REPAIR, REVIEW],
        "model",
        None,
    ),
    (
        "two drafts without form",
        WORDLESS,
        {COMPOSE: [BROKEN], REPAIR: [BROKEN]},
        [COMPOSE, REPAIR],
        "technical_fallback",
        "MODEL_OUTPUT_INVALID",
    ),
    (
        "a repair without form, and words for everything",
        WITH_FALLBACK,
        {COMPOSE: [FREE], REVIEW: [REFUSED], REPAIR: [BROKEN]},
        [COMPOSE, REVIEW, REPAIR],
        "canonical",
        None,
    ),
    (
        "a review without form is asked for once more",
        WORDLESS,
        {COMPOSE: [FREE], REVIEW: [BROKEN], REVIEW_REPAIR: [SUPPORTED]},
        [COMPOSE, REVIEW, REVIEW_REPAIR],
        "model",
        None,
    ),
    (
        "two reviews without form approve nothing",
        WORDLESS,
        {COMPOSE: [FREE], REVIEW: [BROKEN], REVIEW_REPAIR: [BROKEN]},
        [COMPOSE, REVIEW, REVIEW_REPAIR],
        "technical_fallback",
        "MODEL_OUTPUT_INVALID",
    ),
    (
        "two reviews without form, and words for everything",
        WITH_FALLBACK,
        {COMPOSE: [FREE], REVIEW: [BROKEN], REVIEW_REPAIR: [BROKEN]},
        [COMPOSE, REVIEW, REVIEW_REPAIR],
        "canonical",
        None,
    ),
]


@pytest.mark.parametrize(("row", "outcome", "script", "asked", "source", "code"), CALLS, ids=[row[0] for row in CALLS])
async def test_models_are_asked_as_often_as_a_turn_needs_and_no_more(
    row: str,
    outcome: TurnOutcome,
    script: dict[ModelTask, list[JsonValue]],
    asked: list[ModelTask],
    source: str,
    code: str | None,
) -> None:
    """Issue 4: compose and review at most, where nothing is in doubt; 2.12, ways 3 to 6."""
    models = ScriptedModels({task: list(answers) for task, answers in script.items()})
    answer = await answer_turn(outcome, models)
    assert models.tasks == asked
    assert (answer.source, answer.failure_code, answer.grounded) == (source, code, code is None)
    assert not any(models.answers.values())
    assert {ask.prompt_id for ask in models.asked} <= {prompt.id for prompt in PROMPTS}
    assert all(ask.capabilities == () for ask in models.asked)


async def test_a_models_answer_has_its_parts_as_text_and_its_cited_parts_as_claims() -> None:
    """G1, M-24."""
    answer = await answer_turn(WORDLESS, ScriptedModels({COMPOSE: [FREE], REVIEW: [SUPPORTED]}))
    assert answer.message == "Room 7 is free. Shall I book it?"
    assert [(claim.text, claim.evidence_ids) for claim in answer.claims] == [("Room 7 is free.", ("evidence-a",))]


async def test_the_words_that_need_no_model_say_everything_when_drafts_fail() -> None:
    """G5, G8."""
    models = ScriptedModels({COMPOSE: [FREE], REVIEW: [REFUSED, REFUSED], REPAIR: [FREE]})
    answer = await answer_turn(WITH_FALLBACK, models)
    assert answer.message == FALLBACK
    assert [claim.evidence_ids for claim in answer.claims] == [("evidence-a",), ("issue:FULL",)]


async def test_a_repair_is_told_the_draft_and_all_that_is_wrong_with_it() -> None:
    objection: JsonValue = {**SUPPORTED, "unsupportedClaims": ["It is sunny."]}
    models = ScriptedModels({COMPOSE: [UNKNOWN], REVIEW: [objection, SUPPORTED], REPAIR: [FREE]})
    await answer_turn(WORDLESS, models)
    repair = models.asked[2].input
    assert repair["rejectedResponse"] == {
        "message": "Room 7 is free.",
        "claims": [{"text": "Room 7 is free.", "evidenceIds": ["nowhere"]}],
    }
    issues = repair["issues"]
    assert isinstance(issues, list)
    assert len(issues) == 2
    assert "nowhere" in str(issues[0])
    assert "It is sunny." in str(issues[1])
    assert repair["brief"] == models.asked[0].input


async def test_a_continuation_without_words_asks_a_model_and_else_tells_the_outcome_plainly() -> None:
    """Protocol R30: the user gets the outcome."""
    outcome = turn(done("a"), settlement=settled())
    models = ScriptedModels({COMPOSE: [draft(("It is booked.", ["r-1"]))], REVIEW: [SUPPORTED]})
    assert (await answer_turn(outcome, models)).message == "It is booked."
    brief = models.asked[0].input
    assert brief["settlement"] == {"evidenceId": "r-1", "message": settled_text("the booking", "r-1", "completed")}
    assert "currentMessage" not in dict(brief["conversation"])  # type: ignore[arg-type]
    failing = ScriptedModels({COMPOSE: [BROKEN]})
    assert (await answer_turn(outcome, failing)).message == settled_text("the booking", "r-1", "completed")


@dataclass
class Failing:
    """Models that raise."""

    error: BaseException

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        raise self.error


async def from_turn(outcome: TurnOutcome, models: Failing) -> Composition:
    return await answer_turn(outcome, models)


async def from_brief(outcome: TurnOutcome, models: Failing) -> Composition:
    return await compose(build_brief(outcome), models)


@pytest.mark.parametrize("entry", [from_turn, from_brief])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelGatewayError("MODEL_PROVIDER_FAILURE", "away"), "MODEL_PROVIDER_FAILURE"),
        (KeyError("x"), "UNEXPECTED_ERROR"),
    ],
)
async def test_whatever_fails_while_composing_ends_in_a_technical_response_that_keeps_the_question(
    entry: Callable[[TurnOutcome, Failing], Awaitable[Composition]], error: Exception, code: str
) -> None:
    """2.12, way 6, and difference 21: what is shown is what the checkpoint holds."""
    asked = question()
    answer = await entry(turn(done("a"), ended("b", NeedsInput(asked)), shown=asked), Failing(error))
    assert (answer.message, answer.source, answer.grounded) == (APOLOGY, "technical_fallback", False)
    assert (answer.failure_code, answer.interaction, answer.claims) == (code, asked, ())
    assert answer.response(blocked=False).status == "failed"


async def test_a_technical_response_still_tells_which_effects_are_in_doubt() -> None:
    """R32: the user is told the truth, whatever models do."""
    answer = await answer_turn(turn(done("a"), blocked("b", "r-1")), Failing(KeyError("x")))
    assert answer.message == f"{blocked_text('the booking', 'r-1')}\n\n{APOLOGY}"


async def test_a_turn_of_which_no_brief_can_be_made_is_answered_all_the_same() -> None:
    answer = await answer_turn(turn(done("a", output={"set": {1}})), Failing(KeyError("x")))  # type: ignore[dict-item]
    assert answer.source == "technical_fallback"


@pytest.mark.parametrize(
    "error",
    [
        asyncio.CancelledError(),
        LeaseLostError("lost"),
        InfrastructureError("away"),
        TurnHeldError("the journal", expected="a", found="b"),
    ],
)
async def test_what_ends_the_attempt_is_no_failure_of_composing(error: BaseException) -> None:
    with pytest.raises((asyncio.CancelledError, IntentionKernelError)) as raised:
        await answer_turn(WORDLESS, Failing(error))
    assert raised.value is error


async def test_evidence_that_models_know_by_a_redacted_id_is_cited_by_its_own() -> None:
    outcome = turn(done("Jane Doe"), redacted=["Jane Doe"])
    models = ScriptedModels({COMPOSE: [draft(("Found.", ["evidence-[redacted]"]))], REVIEW: [SUPPORTED]})
    answer = await answer_turn(outcome, models)
    assert answer.claims[0].evidence_ids == ("evidence-Jane Doe",)
    assert "Jane Doe" not in str([ask.input for ask in models.asked])

"""Grounding: what a draft claims, what is checked without a model, and what a review can approve (G1, G2, G4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from intention_kernel.agent.results import CapabilityIssue, NeedsInput, ResponseClaim
from intention_kernel.contracts.facts import EvidenceRecord, FactRecord, Producer
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable
from intention_kernel.runtime.stages.composing.brief import build_brief
from intention_kernel.runtime.stages.composing.canonical import Copy
from intention_kernel.runtime.stages.composing.claims import ComposedAnswer, Requirements, occurrences
from intention_kernel.runtime.stages.composing.compose import answer_turn
from intention_kernel.runtime.stages.composing.review import GroundingReview
from intention_kernel.runtime.stages.outcomes import StepIssue
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome
from pydantic import ValidationError

from tests.support.turn_outcomes import SUPPORTED, blocked, done, draft, ended, question, settled, turn

PAID = Copy("Paid 90 EUR.", (ResponseClaim("Paid 90 EUR.", ("e-1", "e-2")),), required=True)
KNOWN = frozenset({"e-1", "e-2", "e-3", "turn.decision"})


def answer(*parts: tuple[str, list[str]]) -> Copy:
    return ComposedAnswer.model_validate(draft(*parts)).copy_of_it()


def requirements(*required: Copy, goal: str | None = None, conversational: bool = False) -> Requirements:
    return Requirements(required, goal, KNOWN, conversational)


EXACT = ("Paid 90 EUR.", ["e-1", "e-2"])
ROWS: list[tuple[str, Requirements, Copy, str | None]] = [
    ("all is well", requirements(), answer(("Hi. ", []), ("It rains.", ["e-3"])), None),
    ("a blank answer", requirements(), answer((" \n", [])), "blank"),
    ("G6: a required text, once", requirements(PAID), answer(EXACT), None),
    ("G6: a required text is missing", requirements(PAID), answer(("Paid.", ["e-1", "e-2"])), "appears 0 times"),
    ("G6: a required text twice", requirements(PAID), answer(EXACT, EXACT), "appears 2 times"),
    (
        "G6: a required text without its evidence",
        requirements(PAID),
        answer(("Paid 90 EUR.", ["e-1"])),
        "cite e-1, e-2",
    ),
    ("G6: a required text that is no claim", requirements(PAID), answer(("Paid 90 EUR.", [])), "cite e-1, e-2"),
    (
        "a larger claim covers a required one",
        requirements(PAID),
        answer(("Paid 90 EUR. Bye.", ["e-1", "e-2", "e-3"])),
        None,
    ),
    (
        "a required text over two parts covers no claim",
        requirements(PAID),
        answer(("Paid 90 ", ["e-1", "e-2"]), ("EUR.", ["e-1", "e-2"])),
        "One part has to hold",
    ),
    ("a required text inside another is not asked for twice", requirements(PAID, Copy("90 EUR")), answer(EXACT), None),
    ("unknown evidence", requirements(), answer(("It rains.", ["e-9"])), "no evidence e-9"),
    (
        "the decision supports no small talk",
        requirements(conversational=True),
        answer(("I do hotels.", ["turn.decision"])),
        "supports nothing",
    ),
    ("the decision supports a decision", requirements(), answer(("I refused.", ["turn.decision"])), None),
    ("G9: the question", requirements(goal="When?"), answer(("When?", [])), None),
    ("G9: no question", requirements(goal="When?"), answer(("Hello", [])), "appears 0 times"),
    ("G9: the question twice", requirements(goal="When?"), answer(("When? When?", [])), "appears 2 times"),
    ("G9: behind the required text", requirements(PAID, goal="When?"), answer(EXACT, (" When?", [])), None),
    ("G9: before the required text", requirements(PAID, goal="When?"), answer(("When? ", []), EXACT), "come after"),
    (
        "G9: a required text that ends with the question",
        requirements(Copy("Paid. When?"), goal="When?"),
        answer(("Paid. When?", [])),
        None,
    ),
]


@pytest.mark.parametrize(("row", "needed", "given_answer", "problem"), ROWS, ids=[row[0] for row in ROWS])
def test_what_can_be_seen_without_a_model_is_checked(
    row: str, needed: Requirements, given_answer: Copy, problem: str | None
) -> None:
    """2.12, static checks; G6, G9."""
    problems = needed.problems(given_answer)
    if problem is None:
        assert problems == ()
    else:
        assert any(problem in found for found in problems)


def test_a_claim_that_is_no_part_of_the_text_is_seen() -> None:
    """G1: canonical words are checked like drafts."""
    loose = Copy("It rains.", (ResponseClaim("It snows.", ("e-1",)),))
    assert "no part of the answer" in requirements().problems(loose)[0]


def test_claims_are_derived_from_the_parts_that_cite() -> None:
    """G1, M-24: a model cannot say one thing and claim another."""
    copy = answer(("Hi. ", []), ("It rains. ", ["e-1", "e-1"]), ("Bye.", []))
    assert copy.message == "Hi. It rains. Bye."
    assert copy.claims == (ResponseClaim("It rains. ", ("e-1",)),)


@pytest.mark.parametrize(
    "wrong", [{"parts": []}, {"parts": [{"text": "", "evidenceIds": []}]}, {"parts": [{}]}, [], None]
)
def test_a_draft_without_form_is_none(wrong: JsonValue) -> None:
    with pytest.raises(ValidationError):
        ComposedAnswer.model_validate(wrong)


@pytest.mark.parametrize(("text", "part", "count"), [("aaa", "aa", 2), ("abab", "ab", 2), ("a", "b", 0), ("", "b", 0)])
def test_occurrences_are_counted_where_they_overlap(text: str, part: str, count: int) -> None:
    assert occurrences(text, part) == count


REVIEWS: list[tuple[str, Mapping[str, JsonValue], bool]] = [
    ("supported", {}, True),
    ("the verdict is against it", {"verdict": "unsupported"}, False),
    ("the conversation is violated", {"continuityVerdict": "violated"}, False),
    ("the decision is violated", {"decisionVerdict": "violated"}, False),
    ("G4: it names what is unsupported, be it cited or not", {"unsupportedClaims": ["Hi."]}, False),
    ("a claim is not approved", {"approvedClaimIndexes": [1]}, False),
    ("no claim is approved", {"approvedClaimIndexes": []}, False),
    ("more is approved than there is", {"approvedClaimIndexes": [0, 1, 2, 99]}, True),
]


@pytest.mark.parametrize(("row", "members", "approved"), REVIEWS, ids=[row[0] for row in REVIEWS])
def test_a_review_approves_only_with_nothing_held_against_the_answer(
    row: str, members: Mapping[str, JsonValue], approved: bool
) -> None:
    """G2, G4: its own verdict is downgraded by all the rest."""
    found = GroundingReview.model_validate({**SUPPORTED, **members})
    reviewed = answer(("Hi. ", []), ("It rains.", ["e-1"]), (" It snows.", ["e-2"]))
    assert (found.objections(reviewed) == ()) is approved


SECRET = "s3cret-words"
HIDDEN = "hidden-words"


def hidden_fact() -> FactRecord:
    return FactRecord(
        type="guest",
        value=HIDDEN,
        evidence_ids=(f"id-{HIDDEN}",),
        produced_by=Producer(capability_id="hotel.find", capability_version=1, turn_id="t", step_id="s"),
        evidence=(EvidenceRecord(id=f"id-{HIDDEN}", source="external", content=HIDDEN),),
        model_visibility="hidden",
    )


@dataclass
class AnyModels:
    """Answers whatever it is told to, in the order of asking; then with the last for ever.

    A draft that is told to be `good` has all that the brief asks for behind its parts.
    """

    drafts: list[JsonValue]
    reviews: list[JsonValue]
    asked: list[JsonValue] = field(default_factory=list)

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        self.asked.append(dict(ask.input))
        answers = self.drafts if ask.task.startswith("response.compose") else self.reviews
        raw = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(raw, dict) and raw.get("good"):
            brief = ask.input.get("brief", dict(ask.input))
            raw = {"parts": [*raw["parts"], *needed_parts(brief)]}  # type: ignore[misc]
        try:
            return Answered(ask.answer.model_validate(raw))
        except ValidationError as error:
            return Unusable(tuple(entry["msg"] for entry in error.errors()), raw)


def needed_parts(brief: JsonValue) -> list[JsonValue]:
    assert isinstance(brief, dict)
    required = cast("list[dict[str, JsonValue]]", brief.get("requiredResponses", []))
    claims = [
        cast("dict[str, JsonValue]", claim) for copy in required for claim in cast("list[JsonValue]", copy["claims"])
    ]
    parts: list[JsonValue] = [{"text": claim["text"], "evidenceIds": claim["evidenceIds"]} for claim in claims]
    goal = brief.get("requiredQuestion")
    return [*parts, {"text": goal, "evidenceIds": []}] if goal is not None else parts


TEXTS = st.sampled_from(
    ["Hello. ", "Paid.", "Which date?", f"It is {SECRET}.", "The hotel is full.", " ", "Room 7.", "It is in doubt."]
)
IDS = st.sampled_from(["evidence-a", "agent.configuration", "turn.decision", "result:a", "r-1", "nowhere"])
DRAFTS = st.lists(
    st.fixed_dictionaries({"text": TEXTS, "evidenceIds": st.lists(IDS, max_size=2)}), min_size=1, max_size=3
).map(lambda parts: {"parts": parts})
GOOD = DRAFTS.map(lambda drafted: {**drafted, "good": True})
VERDICTS = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(["supported", "supported", "unsupported"]),
        "continuityVerdict": st.sampled_from(["supported", "supported", "violated"]),
        "decisionVerdict": st.sampled_from(["supported", "supported", "violated"]),
        "unsupportedClaims": st.lists(TEXTS, max_size=1),
        "approvedClaimIndexes": st.sampled_from([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0], []]),
    }
)
SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.just(SECRET)
ANY_JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
DRAFTED = st.lists(st.one_of(GOOD, GOOD, DRAFTS, ANY_JSON), min_size=1, max_size=2)
REVIEWED = st.lists(st.one_of(st.just(SUPPORTED), VERDICTS, ANY_JSON), min_size=1, max_size=4)


@st.composite
def turns(draw: st.DrawFn) -> TurnOutcome:
    asked = question("Which date?") if draw(st.booleans()) else None
    outcomes = [
        done(
            "a", draw(st.sampled_from([None, "Paid.", f"Paid {SECRET}."])), required=draw(st.booleans()), output=SECRET
        )
    ]
    if draw(st.booleans()):
        outcomes.append(done("b", draw(st.sampled_from([None, "Room 7."]))))
    if draw(st.booleans()):
        outcomes.append(blocked("c", "r-1"))
    if asked is not None and draw(st.booleans()):
        outcomes.append(ended("d", NeedsInput(asked)))
    full = StepIssue("e", CapabilityIssue("FULL", f"The hotel is full of {SECRET}."))
    return turn(
        *outcomes[draw(st.integers(0, 1)) :],
        shown=asked,
        before=asked if draw(st.booleans()) else None,
        facts={"guest@1": hidden_fact()},
        issues=(full,) if draw(st.booleans()) else (),
        redacted=[SECRET],
        settlement=settled(receipt_id="r-2") if draw(st.booleans()) else None,
        text=f"I am {SECRET}",
    )


@settings(max_examples=150, deadline=None)
@given(turns(), DRAFTED, REVIEWED)
async def test_whatever_models_answer_a_models_words_are_grounded_and_nothing_private_was_asked(
    outcome: TurnOutcome, drafts: list[JsonValue], reviews: list[JsonValue]
) -> None:
    """G1, G2, G4, G5: the end is always a composition; nothing redacted or hidden is in any question to a model."""
    models = AnyModels(list(drafts), list(reviews))
    composition = await answer_turn(outcome, models)
    requirements_of = build_brief(outcome).delivery.requirements
    assert composition.interaction == outcome.state.interaction
    assert composition.message.strip()
    assert (composition.failure_code is None) == composition.grounded == (composition.source != "technical_fallback")
    for claim in composition.claims:
        assert claim.text in composition.message
        assert claim.evidence_ids
        assert set(claim.evidence_ids) <= requirements_of.known
    if composition.grounded:
        assert requirements_of.problems(Copy(composition.message, composition.claims)) == ()
    if outcome.blocked:
        assert "reference r-1" in composition.message
    event(composition.source)
    asked = dumps(models.asked).decode()
    assert SECRET not in asked
    assert HIDDEN not in asked
    assert len(models.asked) <= 6

"""Whatever models answer, interpretation ends in a batch that keeps the kernel's promises, or in a ModelGatewayError."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from intention_kernel.agent.schema import Valid
from intention_kernel.contracts.digest import same_json
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.interpreting.interpret import interpret
from intention_kernel.runtime.stages.selection import Selection
from pydantic import ValidationError

from tests.support.interpreting import (
    ASKED,
    BOOK,
    CHOOSING,
    CHOOSING_NEXT,
    COMPARE,
    CONFIRMING,
    FIND,
    HOTEL,
    NOTHING_OPEN,
    PAY,
    Scene,
    shortlist,
)

ResultT = TypeVar("ResultT")
Drawn = st.SearchStrategy[JsonValue]


def record(members: Mapping[str, Drawn], optional: Mapping[str, Drawn] | None = None) -> Drawn:
    """Objects of these members."""
    return st.fixed_dictionaries(dict(members), optional=dict(optional or {})).map(
        lambda drawn: cast("JsonValue", drawn)
    )


def listed(of: Drawn, most: int) -> Drawn:
    """Lists of these."""
    return st.lists(of, max_size=most).map(lambda drawn: cast("JsonValue", drawn))


def one_of(*values: JsonValue) -> Drawn:
    """One of these values."""
    return st.sampled_from(values)


any_json = one_of(None, True, 0, -1.5, 2**70, "", "x", "\ud800", [], [{}], {}, {"a": [None]}, [[1], "1"])
words = one_of("", "2", "yes", "room-blue", "room-red", "the room-blue", "\ud800", "sure", "which", "where")
ids = one_of(FIND, BOOK, PAY, COMPARE, "hotel.burn")
evidence = record({"text": words, "meaning": words, "messageIndex": one_of(-1, 0, 3)})
references = record({"expression": words, "target": words, "evidence": words})
inputs = one_of({"city": "Rome"}, {"room": "blue"}, {}, None, {"room": 3}) | any_json
intentions = record(
    {"objective": words, "resolution": one_of("resolved", "ambiguous", "unsupported", "x")},
    {
        "evidence": listed(evidence, 2),
        "proposedCapability": ids | any_json,
        "input": inputs,
        "references": listed(references, 2),
        "alternatives": listed(words, 3),
        "rationale": words,
        "id": any_json,
    },
)
sound = record(
    {
        "objective": one_of("o"),
        "resolution": one_of("resolved"),
        "evidence": one_of([{"text": "t", "meaning": "m", "messageIndex": 0}]),
    },
    {"proposedCapability": ids, "input": inputs, "references": listed(references, 2)},
)


def fit(capability_id: str, value: JsonValue) -> JsonValue:
    """A resolved intention that nothing is wrong with."""
    said: JsonValue = [{"text": "t", "meaning": "m", "messageIndex": 0}]
    wish: dict[str, JsonValue] = {"objective": "o", "resolution": "resolved", "evidence": said}
    return wish | {"proposedCapability": capability_id, "input": value}


fitting = one_of(fit(FIND, {"city": "Rome"}), fit(BOOK, {"room": "blue"}), fit(PAY, {}))
answer_values = one_of(True, False, 1, "yes", "room-blue", "room-red", {"room": "red"}, {"optionId": "room-red"})
answers = record(
    {"interactionId": one_of("sure", "which", "where", "else", ""), "value": answer_values | any_json},
    {"evidence": words, "rationale": words},
)
OPEN = "the open question"
"""As an interaction id of a drawn answer: whichever question is open."""
sound_answers = record({"interactionId": one_of(OPEN), "value": answer_values, "evidence": one_of("e")})
actions = record(
    {
        "kind": one_of("cancel_agenda_item", "cancel_agenda_item", "cancel_objective"),
        "targetId": one_of("agenda:sure", "agenda:which", "agenda:where", "x"),
        "evidence": words,
    }
)
odd_batches = record(
    {"intentions": listed(sound | intentions, 3)},
    {
        "answerToInteraction": answers | st.none(),
        "lifecycleActions": listed(actions, 2),
        "contradictions": listed(any_json, 1),
    },
)
good_batches = record(
    {"intentions": listed(fitting, 2)}, {"answerToInteraction": sound_answers, "lifecycleActions": listed(actions, 1)}
)
proposals = st.one_of(good_batches, good_batches, odd_batches, any_json)
option_ids = one_of("room-blue", "room-red", "x")
because = one_of("r")
verdict_of_action = record(
    {"actionIndex": one_of(0, 1), "verdict": one_of("supported", "supported", "unsupported"), "rationale": because}
)
VERDICTS: dict[str, Drawn] = {
    "confirmation-answer-review-system-prompt": record(
        {"verdict": one_of("supported", "unsupported"), "rationale": because}
    ),
    "choice-answer-review-system-prompt": record(
        {"decision": one_of("selected", "selected", "not_selection"), "rationale": because}, {"optionId": option_ids}
    ),
    "review-omitted-choice-answer.system": one_of({"verdict": "unsupported", "optionId": None, "rationale": "r"})
    | record({"verdict": one_of("supported"), "optionId": option_ids, "rationale": because}),
    "lifecycle-review-system-prompt": record({"reviews": listed(verdict_of_action, 2)}),
    "": record({"verdict": one_of("supported", "supported", "unsupported", "x"), "rationale": because}),
}
"""By the end of the prompt's id, the last one for all others."""
scenes = st.sampled_from(
    [
        NOTHING_OPEN,
        CONFIRMING,
        CONFIRMING.clicks("yes", text="yes"),
        CONFIRMING.clicks(action="edit"),
        CHOOSING,
        CHOOSING.says("2"),
        CHOOSING.clicks("room-red", text="2"),
        CHOOSING_NEXT,
        CHOOSING_NEXT.clicks("room-blue"),
        ASKED,
        Scene("Rome", ASKED.interaction, (*ASKED.agenda, *CONFIRMING.agenda)),
    ]
)
selections = st.builds(
    lambda chosen, mode, source: shortlist(*sorted(chosen), mode=mode, source=source),
    st.just({FIND, BOOK, PAY}) | st.sets(st.sampled_from([FIND, BOOK, PAY, COMPARE]), max_size=3),
    st.sampled_from(
        ["selected"] * 4 + ["open"] * 3 + ["selected_with_control", "no_match", "conversational", "control"]
    ),
    st.sampled_from(["model", "structured_selection"]),
)


@dataclass
class DrawnModels:
    """Answers with whatever was drawn, and remembers what reviews have supported."""

    data: st.DataObject
    open_question: str
    tasks: list[str] = field(default_factory=list)
    consents: list[JsonValue] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    actions: list[JsonValue] = field(default_factory=list)

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        self.tasks.append(ask.task)
        verdict = next(strategy for end, strategy in VERDICTS.items() if ask.prompt_id.endswith(end))
        proposing = ask.task.startswith("turn.interpret")
        raw = self.data.draw(proposals if proposing else st.one_of(verdict, verdict, verdict, any_json))
        if isinstance(raw, dict) and isinstance(answer := raw.get("answerToInteraction"), dict):
            named = answer.get("interactionId")
            raw = raw | {
                "answerToInteraction": answer | {"interactionId": self.open_question if named == OPEN else named}
            }
        self._remember(ask, raw)
        try:
            return Answered(ask.answer.model_validate(raw))
        except ValidationError as error:
            return Unusable(tuple(entry["msg"] for entry in error.errors()), raw)

    def _remember(self, ask: Ask[AnswerT], raw: JsonValue) -> None:
        if not isinstance(raw, dict):
            return
        proposed = ask.input.get("proposedAnswer")
        if ask.prompt_id.endswith("confirmation-answer-review-system-prompt") and raw.get("verdict") == "supported":
            assert isinstance(proposed, dict)
            self.consents.append(proposed["value"])
        if ask.prompt_id.endswith("choice-answer-review-system-prompt"):
            self.options.append(str(raw.get("optionId")))
        actions, reviews = ask.input.get("proposedActions"), raw.get("reviews")
        if isinstance(actions, list) and isinstance(reviews, list):
            supported = [r for r in reviews if isinstance(r, dict) and r["verdict"] == "supported"]
            self.actions += actions if len(supported) == len(reviews) == len(actions) else []


def _finished(coroutine: Coroutine[object, None, ResultT]) -> ResultT:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: ResultT = stop.value
        return result
    raise AssertionError("it waited")


@settings(max_examples=250, deadline=None)
@given(scene=scenes, selection=selections, data=st.data())
def test_whatever_models_answer_a_turn_is_understood_within_its_limits_or_not_at_all(
    scene: Scene, selection: Selection, data: st.DataObject
) -> None:
    models = DrawnModels(data, scene.interaction.id if scene.interaction is not None else "none")
    interpretation = _understood(scene, selection, models)
    if interpretation is None:
        return
    assert models.tasks.count("turn.interpret") <= 1
    assert models.tasks.count("turn.interpret.repair") <= 1
    _check_intentions(scene, selection, interpretation)
    _check_answer(scene, interpretation, models)
    given_up = [action.to_json() for action in interpretation.batch.lifecycle_actions]
    assert all(action in models.actions for action in given_up)


def _understood(scene: Scene, selection: Selection, models: DrawnModels) -> Interpretation | None:
    try:
        return _finished(interpret(scene.snapshot(), selection, models))
    except ModelGatewayError as error:
        if error.code != "MODEL_OUTPUT_INVALID":
            raise AssertionError(error.code) from error
        return None


def _check_intentions(scene: Scene, selection: Selection, interpretation: Interpretation) -> None:
    clicked_into = {BOOK} if scene.click is not None and selection.source == "structured_selection" else set()
    for intention in interpretation.batch.intentions:
        assert intention.id
        if intention.resolution == "resolved":
            assert intention.proposed_capability in {*selection.capability_ids, *clicked_into}
            taken = HOTEL.capabilities[intention.proposed_capability].input.validate(intention.input)
            assert isinstance(taken, Valid)
        else:
            assert intention.proposed_capability is None


def _check_answer(scene: Scene, interpretation: Interpretation, models: DrawnModels) -> None:
    answer, question = interpretation.batch.answer_to_interaction, scene.interaction
    assert (answer is None) == (interpretation.answer_source is None)
    if answer is None:
        return
    assert question is not None
    assert answer.interaction_id == question.id
    if question.kind == "confirmation":
        assert isinstance(answer.value, bool)
    if scene.click is not None:
        option = question.option(scene.click.option_id or "")
        assert option is not None
        assert same_json(answer.value, option.value)
    elif question.kind == "confirmation":
        assert answer.value in models.consents
    elif question.kind == "choice":
        _check_choice(scene, answer, models)


def _check_choice(scene: Scene, answer: InteractionAnswer, models: DrawnModels) -> None:
    assert scene.interaction is not None
    assert scene.text != "2", "an example that competes with a position chooses nothing"
    chosen = [option.id for option in scene.interaction.options if same_json(option.value, answer.value)]
    assert len(chosen) == 1
    assert chosen[0] in models.options

"""A small hotel agent, questions and proposals for tests of the interpret stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from intention_kernel.agent.capability import ReferenceRequirements
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.contracts.agenda import AgendaItem, FrozenStep
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionOption, InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.context.context import build_context
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.interpreting.interpret import interpret
from intention_kernel.runtime.stages.selection import ReviewedChoice, Selection, SelectionMode, SelectionSource
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from pydantic import BaseModel

from tests.support.kernel import ScriptedModels, agent, capability, view, write

Json = dict[str, JsonValue]
FIND, BOOK, PAY, COMPARE = "hotel.find", "hotel.book", "pay.charge", "room.compare"


class Place(BaseModel):
    """Where to look."""

    city: str


class Booking(BaseModel):
    """What to book."""

    room: str
    nights: int = 1


HOTEL: CompiledAgent = agent(
    capability(FIND, input=Place),
    write(BOOK, input=Booking),
    write(PAY),
    capability(COMPARE, reference_requirements=ReferenceRequirements(minimum=2, maximum=2)),
)
ONLY_FIND: CompiledAgent = agent(capability(FIND, input=Place))

BLUE = InteractionOption(id="room-blue", label="The blue room", value={"room": "blue"}, reference_examples=("2", "sea"))
RED = InteractionOption(id="room-red", label="The red room", value={"room": "red"})
CHOICE = Interaction(id="which", kind="choice", goal="Which room?", capability_id=FIND, options=(BLUE, RED))
LEADING = CHOICE.model_copy(
    update={"options": tuple(o.model_copy(update={"target_capability_id": BOOK}) for o in CHOICE.options)}
)
OWNERLESS = CHOICE.model_copy(update={"capability_id": None})
CONFIRMATION = Interaction(
    id="sure",
    kind="confirmation",
    goal="Book the blue room?",
    capability_id=BOOK,
    options=(InteractionOption(id="yes", label="Yes", value=True), InteractionOption(id="no", label="No", value=False)),
)
INPUT = Interaction(id="where", kind="input", goal="Which city?", capability_id=FIND)


def intention(capability_id: str | None, **members: object) -> IntentionRequest:
    """A stored intention."""
    given: dict[str, object] = {"id": "i", "objective": "do it", "resolution": "resolved"}
    return IntentionRequest.model_validate(given | {"proposed_capability": capability_id} | members)


def waiting(interaction: Interaction, /, **members: object) -> AgendaItem:
    """The item that waits with that question."""
    owner = interaction.capability_id
    confirming = interaction.kind == "confirmation"
    given: dict[str, object] = {
        "id": f"agenda:{interaction.id}",
        "intention": intention(owner),
        "status": "waiting_confirmation" if confirming else "waiting_input",
        "capability_id": owner,
        "interaction": interaction,
    }
    if confirming and owner is not None:
        given["frozen"] = FrozenStep(
            step_id="step",
            capability_id=owner,
            capability_version=1,
            intention=intention(owner),
            input={"room": "blue"},
        )
    return AgendaItem.model_validate(given | members)


@dataclass(frozen=True)
class Scene:
    """A turn: what was said or clicked, the open question, and the agenda."""

    text: str = "hello"
    interaction: Interaction | None = None
    agenda: tuple[AgendaItem, ...] = ()
    click: InteractionSelection | None = None
    compiled: CompiledAgent = HOTEL

    def says(self, text: str) -> Scene:
        return replace(self, text=text)

    def clicks(self, option_id: str | None = None, action: str | None = None, text: str = "") -> Scene:
        assert self.interaction is not None
        click = InteractionSelection(interaction_id=self.interaction.id, option_id=option_id, action=action)
        return replace(self, click=click, text=text)

    def snapshot(self) -> ContextSnapshot:
        turn = view(self.compiled, self.text, interaction=self.interaction, agenda=self.agenda, selection=self.click)
        context = build_context(turn)
        assert isinstance(context, ContextSnapshot)
        return context


NOTHING_OPEN = Scene()
CHOOSING = Scene("the blue one", CHOICE, (waiting(CHOICE),))
"""The owner waits for the choice."""
CHOOSING_NEXT = Scene("the blue one", LEADING, (waiting(LEADING),))
"""Each option leads to another capability than the one that asks."""
CONFIRMING = Scene("yes", CONFIRMATION, (waiting(CONFIRMATION),))
ASKED = Scene("Rome", INPUT, (waiting(INPUT),))


def shortlist(
    *ids: str,
    mode: SelectionMode = "selected",
    source: SelectionSource = "model",
    reviewed: ReviewedChoice | None = None,
) -> Selection:
    """A selection of these."""
    return Selection(source, mode, ids, "because", reviewed_choice=reviewed)


def wants(capability_id: str | None, /, **members: JsonValue) -> Json:
    """A resolved intention as a model proposes it."""
    given: Json = {
        "objective": f"use {capability_id}",
        "resolution": "resolved",
        "evidence": [{"text": "words", "meaning": "a wish", "messageIndex": 0}],
        "references": [],
    }
    return given | ({} if capability_id is None else {"proposedCapability": capability_id}) | members


def finds() -> Json:
    """A valid wish for hotel.find."""
    return wants(FIND, input={"city": "Rome"})


def books() -> Json:
    """A valid wish for hotel.book."""
    return wants(BOOK, input={"room": "blue"})


def pays() -> Json:
    """A valid wish for pay.charge."""
    return wants(PAY, input={})


def referring(*targets: str) -> list[JsonValue]:
    """References to these."""
    return [{"expression": "it", "target": target, "evidence": "it"} for target in targets]


def answers(interaction_id: str, value: JsonValue) -> Json:
    """An answer as a model proposes it."""
    return {"interactionId": interaction_id, "value": value, "evidence": "words"}


def gives_up(target_id: str) -> Json:
    """A lifecycle action as a model proposes it."""
    return {"kind": "cancel_agenda_item", "targetId": target_id, "evidence": "forget it"}


def batch(*intentions: Json, answer: Json | None = None, up: Sequence[Json] = (), **members: JsonValue) -> Json:
    """A proposed batch."""
    proposal: Json = {"intentions": list(intentions), "contradictions": []}
    if answer is not None:
        proposal["answerToInteraction"] = answer
    if up:
        proposal["lifecycleActions"] = list(up)
    return proposal | members


SUPPORTED: Json = {"verdict": "supported", "rationale": "it says so"}
UNSUPPORTED: Json = {"verdict": "unsupported", "rationale": "it does not"}


def chosen(option_id: str) -> Json:
    """A choice review that finds this option."""
    return {"decision": "selected", "optionId": option_id, "rationale": "named"}


NO_CHOICE: Json = {"decision": "not_selection", "rationale": "a question"}


def lifecycle_verdicts(*verdicts: str) -> Json:
    """A lifecycle review with these verdicts, in order."""
    return {"reviews": [{"actionIndex": at, "verdict": v, "rationale": "r"} for at, v in enumerate(verdicts)]}


@dataclass
class Script:
    """What the models answer: a proposal, reviews in order, a repair, reviews of lifecycle actions."""

    first: JsonValue = None
    repair: JsonValue = None
    reviews: Sequence[JsonValue] = ()
    lifecycle: Sequence[JsonValue] = ()
    models: ScriptedModels = field(default_factory=ScriptedModels)

    async def run(self, scene: Scene, selection: Selection) -> Interpretation:
        """Interpret with exactly these answers; one that is left over is an error."""
        given: Mapping[ModelTask, list[JsonValue]] = {
            "turn.interpret": [] if self.first is None else [self.first],
            "turn.interpret.repair": [] if self.repair is None else [self.repair],
            "interaction-answer.review": list(self.reviews),
            "lifecycle.review": list(self.lifecycle),
        }
        self.models.answers.update(given)
        interpretation = await interpret(scene.snapshot(), selection, self.models)
        assert not any(self.models.answers.values()), f"not asked for: {self.models.answers}"
        return interpretation

    @property
    def issue_codes(self) -> list[str]:
        """Of the repair that was asked for; none where none was."""
        repairs = [ask for ask in self.models.asked if ask.task == "turn.interpret.repair"]
        issues = repairs[0].input["validationIssues"] if repairs else []
        assert isinstance(issues, list)
        return [str(issue["code"]) for issue in issues if isinstance(issue, dict)]

    @property
    def tasks(self) -> list[str]:
        return self.models.tasks


def capabilities_of(interpretation: Interpretation) -> list[str | None]:
    """What the intentions propose, in order."""
    return [i.proposed_capability for i in interpretation.batch.intentions]


def answer_of(interpretation: Interpretation) -> JsonValue:
    """The answer's value; "none" where there is none."""
    answer = interpretation.batch.answer_to_interaction
    return answer.value if answer is not None else "none"

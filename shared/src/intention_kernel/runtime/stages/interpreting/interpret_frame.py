"""What an interpretation is judged against: the turn, its shortlist, the active question, and what already answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.digest import same_json
from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.context.clicks import clicked_owner, resumed_item
from intention_kernel.runtime.stages.interpreting.interpret_options import Options
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import TurnView

IssueCode = Literal[
    "MODEL_OUTPUT_FORM",
    "EMPTY_BATCH",
    "INTENTION_NOT_ALLOWED",
    "CAPABILITY_NOT_SELECTED",
    "UNKNOWN_INTERACTION",
    "UNKNOWN_CHOICE_OPTION",
    "CONFIRMATION_ANSWER_NOT_BOOLEAN",
    "ANSWER_WITHOUT_OPERATION",
    "INVALID_REFERENCE",
    "REFERENCE_REQUIREMENTS",
    "INVALID_LIFECYCLE_ACTION",
    "LIFECYCLE_ACTION_MISSING",
    "INVALID_CAPABILITY_INPUT",
    "ANSWER_NOT_KEPT",
    "OMITTED_CHOICE_ANSWER",
    "UNSUPPORTED_CONFIRMATION_ANSWER",
    "UNSUPPORTED_CONFIRMATION_INTENTIONS",
    "UNSUPPORTED_CHOICE_ANSWER",
    "MISMATCHED_CHOICE_ANSWER",
    "UNSUPPORTED_CHOICE_INTENTIONS",
    "UNSUPPORTED_UNANSWERED_CHOICE_EXTRAS",
    "UNSUPPORTED_LIFECYCLE_ACTIONS",
]
"""Stable; the repair reads them."""


@dataclass(frozen=True, slots=True)
class Issue:
    """Why a proposal is not accepted: a stable code, the place (a JSON pointer), and words for the model that repairs it."""

    code: IssueCode
    path: str
    message: str

    def to_json(self) -> JsonValue:
        return {"code": self.code, "path": self.path, "message": self.message}


Issues = tuple[Issue, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """One turn's interpretation.

    `fixed` is an answer that needs no model: of a verified click (`clicked`), or of a reviewed choice. `supported` is an answer
    that a review has already supported in this turn; a repair has to keep it.
    """

    snapshot: ContextSnapshot
    selection: Selection
    fixed: InteractionAnswer | None = None
    clicked: bool = False
    supported: InteractionAnswer | None = None

    @property
    def view(self) -> TurnView:
        return self.snapshot.view

    @property
    def interaction(self) -> Interaction | None:
        """The active question."""
        return self.view.state.interaction

    @property
    def choice(self) -> Options | None:
        """The options of an active choice."""
        interaction = self.interaction
        if interaction is None or interaction.kind != "choice" or not interaction.options:
            return None
        return Options.of(interaction.options, self.snapshot.redactions)

    @property
    def is_confirmation(self) -> bool:
        """Whether the active question asks for consent."""
        return self.interaction is not None and self.interaction.kind == "confirmation"

    @property
    def active_ids(self) -> frozenset[str]:
        """The capabilities that the active question belongs to or leads to."""
        interaction = self.interaction
        if interaction is None:
            return frozenset()
        targets = {interaction.capability_id, *(option.target_capability_id for option in interaction.options)}
        return frozenset(target for target in targets if target is not None and target in self.view.agent.capabilities)

    @property
    def may_act_on_agenda(self) -> bool:
        """Whether the message may give up work."""
        return self.selection.mode in ("control", "selected_with_control", "open")

    def shown(self, text: str) -> str:
        """An id as models see it."""
        return self.snapshot.redactions.text(text)

    def answers(self, answer: InteractionAnswer | None) -> bool:
        """Whether it answers the active question."""
        return answer is not None and self.interaction is not None and answer.interaction_id == self.interaction.id

    def is_consent_or_refusal(self, answer: InteractionAnswer | None) -> bool:
        """Whether it is a yes or a no to the active confirmation. Nothing but true and false is."""
        return answer is not None and self.is_confirmation and self.answers(answer) and isinstance(answer.value, bool)

    def owner_of(self, answer: InteractionAnswer | None) -> str | None:
        """The registered capability that the answer is for: the target of its option, else who asks."""
        interaction = self.interaction
        if answer is None or interaction is None or not self.answers(answer):
            return None
        if self.clicked and self.view.selection is not None:
            owner = clicked_owner(interaction, self.view.selection)
        else:
            option = self.choice.by_value(answer.value) if self.choice is not None else None
            owner = (option.target_capability_id if option is not None else None) or interaction.capability_id
        return owner if owner in self.view.agent.capabilities else None

    def resumes(self, answer: InteractionAnswer | None) -> bool:
        """Whether the answer alone goes on with work: its owner asks, and has one item, which waits for input."""
        if self.interaction is None or self.is_confirmation:
            return False
        return resumed_item(self.view.state, self.interaction, self.owner_of(answer)) is not None

    def settles(self, answer: InteractionAnswer | None) -> bool:
        """Whether nothing but the answer is needed."""
        return self.is_consent_or_refusal(answer) or self.resumes(answer)


def resolved(batch: IntentionBatch) -> tuple[tuple[int, IntentionRequest], ...]:
    """The resolved intentions with their places in the batch."""
    return tuple((at, i) for at, i in enumerate(batch.intentions) if i.resolution == "resolved")


def proposed_ids(batch: IntentionBatch) -> frozenset[str]:
    """The capabilities that the batch proposes."""
    return frozenset(i.proposed_capability for i in batch.intentions if i.proposed_capability is not None)


def same_answer(one: InteractionAnswer | None, other: InteractionAnswer | None) -> bool:
    """Whether two answers say the same, whatever their evidence."""
    if one is None or other is None:
        return one is other
    return one.interaction_id == other.interaction_id and same_json(one.value, other.value)

"""What a model proposes as the shortlist, in its form, and as the kernel takes it (contract 2.4 and 2.5)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from intention_kernel.contracts.intentions import IntentionEvidence
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import Text, WireModel
from intention_kernel.runtime.stages.selection import Adjustment, Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

Words = Annotated[Text, Field(min_length=1)]
SELECTED_MODES = frozenset({"selected", "selected_with_control"})


class EvidenceAnswer(WireModel):
    """The user's words, what they mean, and in which message they are."""

    text: Text
    meaning: Text
    message_index: Annotated[int, Field(ge=0)]


class SelectionAnswer(WireModel):
    """The answer to `capability.select` and its repair."""

    mode: Literal["selected", "selected_with_control", "no_match", "conversational", "control"]
    capability_ids: list[str]
    rationale: Words
    evidence: Annotated[list[EvidenceAnswer], Field(min_length=1)]

    @model_validator(mode="after")
    def _mode_fits_ids(self) -> SelectionAnswer:
        if len(set(self.capability_ids)) != len(self.capability_ids):
            raise PydanticCustomError("ids", "capabilityIds names a capability twice")
        if bool(self.capability_ids) != (self.mode in SELECTED_MODES):
            wanted = "at least one capability" if self.mode in SELECTED_MODES else "no capability"
            raise PydanticCustomError("mode", "mode {mode} goes with {wanted}", {"mode": self.mode, "wanted": wanted})
        return self

    def to_json(self) -> JsonValue:
        """As it is shown to a review."""
        document: JsonValue = self.model_dump(by_alias=True)
        return document


def active_ids(snapshot: ContextSnapshot) -> tuple[str, ...]:
    """The registered capabilities that the open question belongs to or leads to, its owner first."""
    interaction = snapshot.view.state.interaction
    if interaction is None:
        return ()
    found = (interaction.capability_id, *(option.target_capability_id for option in interaction.options))
    known = snapshot.view.agent.capabilities
    return tuple(dict.fromkeys(name for name in found if name is not None and name in known))


def taken(snapshot: ContextSnapshot, answer: SelectionAnswer) -> Selection:
    """The proposal with the contracts that are needed to understand an answer to the open question."""
    adjustments = _adjustments(snapshot, answer)
    return Selection(
        source="model",
        mode=answer.mode,
        capability_ids=(*answer.capability_ids, *(adjustment.capability_id for adjustment in adjustments)),
        rationale=answer.rationale,
        evidence=tuple(
            IntentionEvidence(text=e.text, meaning=e.meaning, message_index=e.message_index) for e in answer.evidence
        ),
        adjustments=adjustments,
    )


def _adjustments(snapshot: ContextSnapshot, answer: SelectionAnswer) -> tuple[Adjustment, ...]:
    interaction = snapshot.view.state.interaction
    if interaction is None:
        return ()
    if answer.mode == "conversational":
        return tuple(Adjustment("ACTIVE_INTERACTION_CONTRACT_AVAILABLE", name) for name in active_ids(snapshot))
    if _lacks_owner(snapshot, interaction, answer):
        return (Adjustment("ACTIVE_CONFIRMATION_OWNER_RETAINED", str(interaction.capability_id)),)
    return ()


def _lacks_owner(snapshot: ContextSnapshot, interaction: Interaction, answer: SelectionAnswer) -> bool:
    owner = interaction.capability_id
    return (
        interaction.kind == "confirmation"
        and answer.mode in SELECTED_MODES
        and owner in snapshot.view.agent.capabilities
        and owner not in answer.capability_ids
    )

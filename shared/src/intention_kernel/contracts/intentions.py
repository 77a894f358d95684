"""Intentions: what a model proposes that the user wants. A proposal decides nothing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.wire import AnyJson, StoredModel, Text

Resolution = Literal["resolved", "ambiguous", "unsupported"]
LifecycleKind = Literal["cancel_agenda_item"]
MAX_RATIONALE_LENGTH = 1_200

Rationale = Annotated[Text, Field(min_length=1, max_length=MAX_RATIONALE_LENGTH)]


class IntentionEvidence(StoredModel):
    """The user's words, what they mean, and in which message of the thread they are."""

    text: Text
    meaning: Text
    message_index: Annotated[int, Field(ge=0)]


class ContextReference(StoredModel):
    """An expression of the user and the thing in the context that it means, such as an option's id."""

    expression: Text
    target: Text
    evidence: Text


class IntentionRequest(StoredModel):
    """One thing that the user wants. `input` may be any JSON, null, or absent: the three stay distinct."""

    id: str
    objective: Annotated[Text, Field(min_length=1)]
    resolution: Resolution
    proposed_capability: str | None = None
    input: AnyJson = None
    evidence: tuple[IntentionEvidence, ...] = ()
    references: tuple[ContextReference, ...] = ()
    alternatives: tuple[Text, ...] = ()
    rationale: Rationale | None = None

    @property
    def has_input(self) -> bool:
        """Whether an input was proposed, be it null."""
        return "input" in self.model_fields_set


class Contradiction(StoredModel):
    """Two things that the user said and that cannot both hold; recorded, and no more."""

    description: Text
    evidence: tuple[IntentionEvidence, ...]


class LifecycleAction(StoredModel):
    """The user gives up work that the thread has in hand. `evidence` are the user's own words."""

    kind: LifecycleKind
    target_id: str
    evidence: Text


class IntentionBatch(StoredModel):
    """All that was understood of one message."""

    answer_to_interaction: InteractionAnswer | None = None
    intentions: tuple[IntentionRequest, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    lifecycle_actions: tuple[LifecycleAction, ...] = ()

"""What an interpreting model may answer: the form of its proposal, and the batch that it is a proposal of (contract 2.6)."""

from __future__ import annotations

from typing import Annotated, Literal, Self, cast

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from intention_kernel.contracts.intentions import (
    MAX_RATIONALE_LENGTH,
    Contradiction,
    IntentionBatch,
    IntentionEvidence,
    IntentionRequest,
    LifecycleAction,
    Resolution,
)
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import AnyJson, Text, WireModel

Id = Annotated[str, Field(min_length=1)]
"""As everywhere, an id is Unicode text without lone surrogates."""
NonEmpty = Annotated[Text, Field(min_length=1)]
Rationale = Annotated[Text, Field(min_length=1, max_length=MAX_RATIONALE_LENGTH)]


class ProposedEvidence(WireModel):
    """The user's words, what they mean, and in which message they are."""

    text: Text
    meaning: Text
    message_index: Annotated[int, Field(ge=0)]


class ProposedReference(WireModel):
    """An expression of the user and what it stands for, such as the id of an option."""

    expression: Text
    target: Text
    evidence: Text


class ProposedAnswer(WireModel):
    """An answer to a question. The value may be any JSON, but it has to be there."""

    interaction_id: Id
    value: AnyJson
    evidence: NonEmpty
    rationale: Rationale | None = None


class ProposedIntention(WireModel):
    """One thing that the user wants. `id` is tolerated and dropped: ids are the kernel's."""

    objective: NonEmpty
    resolution: Resolution
    evidence: Annotated[list[ProposedEvidence], Field(min_length=1)]
    references: list[ProposedReference] = Field(default_factory=list)
    proposed_capability: Id | None = None
    input: AnyJson = None
    alternatives: list[NonEmpty] | None = None
    rationale: Rationale | None = None
    id: AnyJson = None

    @model_validator(mode="after")
    def _fits_its_resolution(self) -> Self:
        if self.resolution != "resolved" and self.proposed_capability is not None:
            raise PydanticCustomError("capability", "only a resolved intention proposes a capability")
        if self.resolution == "ambiguous" and len(self.alternatives or ()) < 2:
            raise PydanticCustomError("alternatives", "an ambiguous intention has at least two alternatives")
        return self

    def request(self) -> IntentionRequest:
        """The intention, with an empty id; members that were not given stay so."""
        given: dict[str, object] = {}
        if self.proposed_capability is not None:
            given["proposed_capability"] = self.proposed_capability
        if "input" in self.model_fields_set:
            given["input"] = self.input
        if self.alternatives:
            given["alternatives"] = tuple(self.alternatives)
        if self.rationale is not None:
            given["rationale"] = self.rationale
        return IntentionRequest.model_validate(
            {
                "id": "",
                "objective": self.objective,
                "resolution": self.resolution,
                "evidence": [_members(entry) for entry in self.evidence],
                "references": [_members(reference) for reference in self.references],
                **given,
            }
        )


class ProposedContradiction(WireModel):
    """Two things that the user said and that cannot both hold."""

    description: Text
    evidence: Annotated[list[ProposedEvidence], Field(min_length=1)]


class ProposedLifecycleAction(WireModel):
    """Work that the user gives up."""

    kind: Literal["cancel_agenda_item"]
    target_id: Id
    evidence: NonEmpty


class ProposedBatch(WireModel):
    """All that the model understood of the message. Null is as good as absent, except for an intention's input."""

    answer_to_interaction: ProposedAnswer | None = None
    intentions: list[ProposedIntention]
    contradictions: list[ProposedContradiction] | None = None
    lifecycle_actions: list[ProposedLifecycleAction] | None = None

    def batch(self) -> IntentionBatch:
        """The batch; intentions have empty ids until it is accepted."""
        answer = self.answer_to_interaction
        return IntentionBatch(
            answer_to_interaction=None if answer is None else InteractionAnswer.model_validate(_members(answer)),
            intentions=tuple(intention.request() for intention in self.intentions),
            contradictions=tuple(
                Contradiction(
                    description=contradiction.description,
                    evidence=tuple(IntentionEvidence.model_validate(_members(e)) for e in contradiction.evidence),
                )
                for contradiction in self.contradictions or ()
            ),
            lifecycle_actions=tuple(
                LifecycleAction(kind=action.kind, target_id=action.target_id, evidence=action.evidence)
                for action in self.lifecycle_actions or ()
            ),
        )

    def document(self) -> JsonValue:
        """The proposal as JSON, for a repair."""
        return cast("JsonValue", self.model_dump(by_alias=True, exclude_unset=True))


def _members(model: WireModel) -> dict[str, object]:
    members = model.model_dump(by_alias=True, exclude_unset=True)
    return {name: value for name, value in members.items() if name != "rationale" or value is not None}

"""Interactions: what the user is asked, what may be chosen, and the answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from intention_kernel.contracts.wire import AnyJson, StoredModel, Text

InteractionKind = Literal["input", "confirmation", "choice", "clarification"]
MAX_REFERENCE_EXAMPLES = 32
MAX_REFERENCE_EXAMPLE_LENGTH = 256
"""In code points."""


def _reference_example(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank", "a reference example is not blank")
    if len(value) > MAX_REFERENCE_EXAMPLE_LENGTH:
        most = {"most": MAX_REFERENCE_EXAMPLE_LENGTH, "length": len(value)}
        raise PydanticCustomError("too_long", "a reference example has at most {most} characters, not {length}", most)
    return value


ReferenceExample = Annotated[
    Text,
    AfterValidator(_reference_example),
    WithJsonSchema({"type": "string", "maxLength": MAX_REFERENCE_EXAMPLE_LENGTH, "pattern": r"\S"}),
]


class InteractionOption(StoredModel):
    """One thing that can be chosen.

    `reference_examples` are exact words that may mean this option; they never authorise a selection. An empty list is
    kept as one, and so is its absence. An option with `target_capability_id` leads to that capability.
    """

    id: Annotated[str, Field(min_length=1)]
    label: Text
    value: AnyJson = None
    target_capability_id: str | None = None
    reference_examples: Annotated[tuple[ReferenceExample, ...], Field(max_length=MAX_REFERENCE_EXAMPLES)] | None = None


class Interaction(StoredModel):
    """A question to the user; a thread has one active at most.

    `goal` is the question in the server's words. `capability_id` is who owns the answer. `expires_seconds` counts from the
    turn that asked, and `expires_at` (RFC 3339) is what the kernel makes of it. `payload` is the owner's and opaque; for a
    confirmation it holds the kernel's frozen operation. `protected_canonical_message` is never shown to a model.
    """

    id: Annotated[str, Field(min_length=1)]
    kind: InteractionKind
    goal: Annotated[Text, Field(min_length=1)]
    capability_id: str | None = None
    mode: Literal["required", "optional"] = "required"
    response_mode: Literal["contextual"] | None = None
    requested_facts: tuple[str, ...] = ()
    options: tuple[InteractionOption, ...] = ()
    payload: AnyJson = None
    protected_canonical_message: Text | None = None
    expires_seconds: Annotated[float, Field(gt=0)] | None = None
    expires_at: str | None = None

    def option(self, option_id: str) -> InteractionOption | None:
        """The option of that id."""
        return next((option for option in self.options if option.id == option_id), None)


class InteractionAnswer(StoredModel):
    """What the user answered, in the value that the owner gets. `evidence` are the user's own words."""

    interaction_id: Annotated[str, Field(min_length=1)]
    value: AnyJson
    evidence: Text = ""
    rationale: Text | None = None


class InteractionSelection(StoredModel):
    """A click, which the host has verified: one of the options, or an action of the user interface."""

    interaction_id: str
    option_id: str | None = None
    action: Text | None = None

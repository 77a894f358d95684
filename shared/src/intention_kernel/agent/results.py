"""What a capability returns: one of five kinds, and the issue that a user may be told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from intention_kernel.contracts.facts import EvidenceRecord, FactCandidate, FactReference
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue


class _Keep(Enum):
    KEEP = "keep"


KEEP: Final = _Keep.KEEP
"""`Completed.interaction`: leave the active question of others as it is."""


@dataclass(frozen=True, slots=True)
class CapabilityIssue:
    """Something that went wrong in a way the user is told. `message` is safe to show; `code` is stable.

    An exception is the other way to fail: it fails the attempt, which is then made again.
    """

    code: str
    message: str
    retryable: bool = False
    details: JsonValue = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something to show beside the message: a document, a card."""

    id: str
    kind: str
    data: JsonValue


@dataclass(frozen=True, slots=True)
class ResponseClaim:
    """A statement of the message, word for word, and the evidence that supports it."""

    text: str
    evidence_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CanonicalResponse:
    """The capability's own words for its result, delivered without a model where nothing else has to be said.

    Each claim is an exact part of the message and cites evidence of the same result. `required` says that the user has to
    see exactly these words, once.
    """

    message: str
    claims: tuple[ResponseClaim, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class Completed:
    """The work is done. `output` is of the declared output schema; facts cite evidence of this result.

    `interaction`: KEEP leaves an unrelated question as it is, None takes the capability's own question away, and an
    Interaction is a follow-up question.
    """

    output: object
    facts: tuple[FactCandidate, ...] = ()
    evidence: tuple[EvidenceRecord, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    canonical_response: CanonicalResponse | None = None
    interaction: Interaction | _Keep | None = KEEP
    continuation: JsonValue = None
    model_redactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The user has to say something first. `partial_input` comes back as `context.turn.continuation`."""

    interaction: Interaction
    partial_input: JsonValue = None
    invalidates: tuple[FactReference, ...] = ()
    model_redactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsDependency:
    """A fact has to be there first: `provider_capability_id` is run with `provider_input`, then this step again."""

    requirement: FactReference
    provider_capability_id: str
    provider_input: JsonValue
    continuation: JsonValue = None
    model_redactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsConfirmation:
    """Only with `confirmation="capability"`: the capability asks for consent itself and has to check the answer itself.

    This authorises nothing: the capability is called again with `context.turn.interaction_answer`, and it alone decides
    whether that is consent before it calls `run_effect`.
    """

    interaction: Interaction
    proposed_input: JsonValue
    continuation: JsonValue = None
    model_redactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not be done, and the user is told why."""

    issue: CapabilityIssue


CapabilityResult = Completed | NeedsInput | NeedsDependency | NeedsConfirmation | Failed

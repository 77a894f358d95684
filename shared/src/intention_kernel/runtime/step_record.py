"""A finished read as the journal keeps it, so that a retry of the turn sees what the first attempt saw (protocol R16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from intention_kernel.agent.results import (
    KEEP,
    Artifact,
    CanonicalResponse,
    CapabilityIssue,
    CapabilityResult,
    Completed,
    Failed,
    NeedsConfirmation,
    NeedsDependency,
    NeedsInput,
    ResponseClaim,
)
from intention_kernel.contracts.event import EventCategory
from intention_kernel.contracts.facts import EvidenceRecord, FactCandidate, FactReference
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue

Document = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class EmittedEvent:
    """What a step said while it ran."""

    name: str
    data: JsonValue
    category: EventCategory


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A read's result, its output as JSON, and what it emitted."""

    result: CapabilityResult
    events: tuple[EmittedEvent, ...]

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "result": _result_to_json(self.result),
            "events": [[event.name, event.data, event.category] for event in self.events],
        }

    @classmethod
    def from_json(cls, document: JsonValue) -> StepRecord:
        """What `to_json` wrote."""
        record = cast("dict[str, JsonValue]", document)
        events = tuple(
            EmittedEvent(name, data, category)
            for name, data, category in cast("list[tuple[str, JsonValue, EventCategory]]", record["events"])
        )
        return cls(_result_from_json(cast("Document", record["result"])), events)


def _result_to_json(result: CapabilityResult) -> dict[str, JsonValue]:
    match result:
        case Completed():
            return _completed_to_json(result)
        case NeedsInput():
            return {
                "status": "needs_input",
                "interaction": result.interaction.to_json(),
                "partialInput": result.partial_input,
                "invalidates": [reference.to_json() for reference in result.invalidates],
                "modelRedactions": list(result.model_redactions),
            }
        case NeedsDependency():
            return {
                "status": "needs_dependency",
                "requirement": result.requirement.to_json(),
                "providerCapabilityId": result.provider_capability_id,
                "providerInput": result.provider_input,
                "continuation": result.continuation,
                "modelRedactions": list(result.model_redactions),
            }
        case NeedsConfirmation():
            return {
                "status": "needs_confirmation",
                "interaction": result.interaction.to_json(),
                "proposedInput": result.proposed_input,
                "continuation": result.continuation,
                "modelRedactions": list(result.model_redactions),
            }
        case Failed(issue=issue):
            return {
                "status": "failed",
                "code": issue.code,
                "message": issue.message,
                "retryable": issue.retryable,
                "details": issue.details,
            }


def _completed_to_json(result: Completed) -> dict[str, JsonValue]:
    document: dict[str, JsonValue] = {
        "status": "completed",
        "output": cast("JsonValue", result.output),
        "facts": [fact.to_json() for fact in result.facts],
        "evidence": [evidence.to_json() for evidence in result.evidence],
        "artifacts": [{"id": a.id, "kind": a.kind, "data": a.data} for a in result.artifacts],
        "continuation": result.continuation,
        "modelRedactions": list(result.model_redactions),
    }
    if result.interaction is not KEEP:
        document["interaction"] = result.interaction.to_json() if result.interaction is not None else None
    if (canonical := result.canonical_response) is not None:
        document["canonicalResponse"] = {
            "message": canonical.message,
            "claims": [[claim.text, list(claim.evidence_ids)] for claim in canonical.claims],
            "required": canonical.required,
        }
    return document


def _result_from_json(document: Document) -> CapabilityResult:
    redactions = tuple(cast("list[str]", document.get("modelRedactions", [])))
    continuation = document.get("continuation")
    match document["status"]:
        case "completed":
            return _completed_from_json(document, redactions)
        case "needs_input":
            return NeedsInput(
                interaction=Interaction.from_json(document["interaction"]),
                partial_input=document["partialInput"],
                invalidates=tuple(map(FactReference.from_json, cast("list[JsonValue]", document["invalidates"]))),
                model_redactions=redactions,
            )
        case "needs_dependency":
            return NeedsDependency(
                requirement=FactReference.from_json(document["requirement"]),
                provider_capability_id=cast("str", document["providerCapabilityId"]),
                provider_input=document["providerInput"],
                continuation=continuation,
                model_redactions=redactions,
            )
        case "needs_confirmation":
            return NeedsConfirmation(
                interaction=Interaction.from_json(document["interaction"]),
                proposed_input=document["proposedInput"],
                continuation=continuation,
                model_redactions=redactions,
            )
        case _:
            return Failed(
                CapabilityIssue(
                    code=cast("str", document["code"]),
                    message=cast("str", document["message"]),
                    retryable=cast("bool", document["retryable"]),
                    details=document["details"],
                )
            )


def _completed_from_json(document: Document, redactions: tuple[str, ...]) -> Completed:
    interaction = document.get("interaction", KEEP)
    return Completed(
        output=document["output"],
        facts=tuple(map(FactCandidate.from_json, cast("list[JsonValue]", document["facts"]))),
        evidence=tuple(map(EvidenceRecord.from_json, cast("list[JsonValue]", document["evidence"]))),
        artifacts=tuple(
            Artifact(cast("str", a["id"]), cast("str", a["kind"]), a["data"])
            for a in cast("list[Document]", document["artifacts"])
        ),
        canonical_response=_canonical_from_json(document.get("canonicalResponse")),
        interaction=KEEP
        if interaction is KEEP
        else None
        if interaction is None
        else Interaction.from_json(cast("JsonValue", interaction)),
        continuation=document["continuation"],
        model_redactions=redactions,
    )


def _canonical_from_json(document: JsonValue) -> CanonicalResponse | None:
    if document is None:
        return None
    canonical = cast("Document", document)
    claims = cast("list[tuple[str, list[str]]]", canonical["claims"])
    return CanonicalResponse(
        message=cast("str", canonical["message"]),
        claims=tuple(ResponseClaim(text, tuple(evidence_ids)) for text, evidence_ids in claims),
        required=cast("bool", canonical["required"]),
    )

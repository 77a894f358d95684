"""Selection and interpretation as a line means them (contract 2.4 to 2.6)."""

from __future__ import annotations

from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script_lines import Line, Proposal
from intention_kernel.models.script_reading import Document, Reading

RATIONALE = "As scripted."


def selection(line: Line, reading: Reading) -> JsonValue:
    """The shortlist: what the line proposes, and whose question it answers. LookupError where the agent has no such thing."""
    owners = [_owner(reading, value) for value in line.answers]
    proposed = [reading.offered(proposal.capability_id) for proposal in line.proposals]
    ids = list(dict.fromkeys(name for name in (*owners, *proposed) if name is not None))
    return {
        "mode": _mode(line, ids),
        "capabilityIds": cast("JsonValue", ids),
        "rationale": RATIONALE,
        "evidence": [evidence(reading)],
    }


def batch(line: Line, reading: Reading) -> JsonValue:
    """The batch: an answer, intentions, and what is given up."""
    document: Document = {
        "intentions": [
            *(_resolved(proposal, reading) for proposal in line.proposals),
            *(_other(reading, objective, {"resolution": "unsupported"}) for objective in line.unsupported),
            *(
                _other(reading, " or ".join(words), {"resolution": "ambiguous", "alternatives": list(words)})
                for words in line.ambiguous
            ),
        ],
        "contradictions": [],
    }
    if line.answers:
        document["answerToInteraction"] = _answer(line.answers[-1], reading)
    if line.cancelled or "lifecycleActions" in reading.members:
        document["lifecycleActions"] = [_cancelled(name, reading) for name in line.cancelled]
    return document


def evidence(reading: Reading) -> JsonValue:
    """The whole message."""
    return {"text": reading.words, "meaning": RATIONALE, "messageIndex": reading.message_index}


def _mode(line: Line, capability_ids: list[str]) -> str:
    if capability_ids:
        return "selected_with_control" if line.cancelled else "selected"
    if line.cancelled:
        return "control"
    return "no_match" if line.unsupported or line.ambiguous else "conversational"


def _owner(reading: Reading, value: JsonValue) -> str | None:
    interaction = reading.interaction
    owner = interaction.get("capabilityId")
    if interaction["kind"] == "choice":
        owner = reading.option(value).get("targetCapabilityId") or owner
    return owner if isinstance(owner, str) else None


def _answer(value: JsonValue, reading: Reading) -> JsonValue:
    interaction = reading.interaction
    said = reading.option(value)["id"] if interaction["kind"] == "choice" else value
    return {"interactionId": interaction["id"], "value": said, "evidence": reading.words, "rationale": RATIONALE}


def _resolved(proposal: Proposal, reading: Reading) -> JsonValue:
    given = proposal.input(reading.context) if callable(proposal.input) else proposal.input
    members: Document = {"resolution": "resolved", "proposedCapability": proposal.capability_id, "input": given}
    references: list[JsonValue] = [
        {"expression": reading.words, "target": target, "evidence": reading.words} for target in proposal.references
    ]
    return _other(reading, proposal.objective or reading.words, members | {"references": references})


def _other(reading: Reading, objective: str, members: Document) -> JsonValue:
    common: Document = {"objective": objective, "evidence": [evidence(reading)], "references": []}
    return common | members


def _cancelled(capability_id: str, reading: Reading) -> JsonValue:
    target = reading.agenda_item(capability_id)["id"]
    return {"kind": "cancel_agenda_item", "targetId": target, "evidence": reading.words}

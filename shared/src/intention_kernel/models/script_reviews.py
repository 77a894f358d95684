"""Reviews by a scripted model: it stands by what its line says (contract 2.4 and 2.7)."""

from __future__ import annotations

from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script_lines import Line
from intention_kernel.models.script_reading import Document, Reading, objects
from intention_kernel.models.script_understanding import RATIONALE


def supported(line: Line, reading: Reading) -> JsonValue:
    """The verdict of a review that says yes or no."""
    return {"verdict": "supported", "rationale": RATIONALE}


def choice_review(line: Line, reading: Reading) -> JsonValue:
    """What the message means for the open menu: the line's answer, its operations, or neither."""
    if line.answers:
        option = reading.option(line.answers[-1])
        shown = objects(reading.interaction.get("options"))
        return {
            "meaning": "unique_option",
            "position": shown.index(option) + 1,
            "label": option["label"],
            "optionId": option["id"],
            "rationale": RATIONALE,
        }
    if line.proposals:
        ids = list(dict.fromkeys(proposal.capability_id for proposal in line.proposals))
        return {
            "meaning": "operation_request",
            "operationCapabilityIds": cast("JsonValue", ids),
            "rationale": RATIONALE,
        }
    return {"meaning": "ambiguous_or_unrelated", "rationale": RATIONALE}


def answer_review(line: Line, reading: Reading) -> JsonValue:
    """The variants of `interaction-answer.review`, told apart by their input."""
    if reading.input.get("reviewKind") == "omitted_choice_answer":
        chosen = reading.option(line.answers[-1])["id"] if line.answers else None
        verdict = "supported" if line.answers else "unsupported"
        return {"verdict": verdict, "optionId": chosen, "rationale": RATIONALE}
    if "proposedOption" in reading.input:
        if not line.answers:
            return {"decision": "not_selection", "rationale": RATIONALE}
        return {
            "decision": "selected",
            "optionId": reading.option(line.answers[-1])["id"],
            "rationale": RATIONALE,
        }
    return supported(line, reading)


def lifecycle_review(line: Line, reading: Reading) -> JsonValue:
    """A verdict for each action."""
    reviews: list[JsonValue] = []
    for at in range(len(objects(reading.input.get("proposedActions")))):
        review: Document = {"actionIndex": at, "verdict": "supported", "rationale": RATIONALE}
        reviews.append(review)
    return {"reviews": reviews}

"""What the kernel decided about a message, from the final batch and plan, never from a model's word for it (G3, G15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.intentions import IntentionEvidence
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

DecisionMode = Literal["selected", "selected_with_control", "control", "no_match", "conversational"]


@dataclass(frozen=True, slots=True)
class Decision:
    """`capability_ids` were accepted, be it to ask or to wait; `evidence` are the user's words that led there."""

    mode: DecisionMode
    capability_ids: tuple[str, ...]
    rationale: str
    evidence: tuple[IntentionEvidence, ...]


def decide(turn: TurnOutcome) -> Decision:
    """The decision as the composing model is told it."""
    accepted = tuple(
        dict.fromkeys(step.capability_id for step in turn.steps if step.capability_id and step.disposition != "reject")
    )
    mode = _mode(turn, accepted)
    refusals = tuple(dict.fromkeys(step.reason.code for step in turn.steps if step.disposition == "reject"))
    evidence = tuple(dict.fromkeys(item for step in turn.steps for item in step.intention.evidence))
    return Decision(mode, accepted, _rationale(accepted, refusals, len(turn.cancelled_item_ids)), evidence)


def _mode(turn: TurnOutcome, accepted: tuple[str, ...]) -> DecisionMode:
    if accepted:
        return "selected_with_control" if turn.cancelled_item_ids else "selected"
    if turn.cancelled_item_ids:
        return "control"
    refused = any(step.disposition == "reject" or step.capability_id is None for step in turn.steps)
    return "no_match" if refused or matched_nothing(turn) else "conversational"


def matched_nothing(turn: TurnOutcome) -> bool:
    """The message asked for something that no capability does, and answered nothing."""
    if turn.selection is None or turn.interpretation is None:
        return False
    return turn.selection.mode == "no_match" and turn.interpretation.batch.answer_to_interaction is None


def _rationale(accepted: tuple[str, ...], refusals: tuple[str, ...], cancelled: int) -> str:
    parts = [
        f"accepted: {', '.join(accepted)}" if accepted else "",
        f"refused: {', '.join(refusals)}" if refusals else "",
        f"given up: {cancelled}" if cancelled else "",
    ]
    return "; ".join(part for part in parts if part) or "the message asks for no operation"

"""What is delivered in words that no model may touch, and whether those are all that is needed (contract 2.12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.results import Artifact
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.composing.canonical import Copy, joined
from intention_kernel.runtime.stages.composing.claims import Requirements, occurrences
from intention_kernel.runtime.stages.composing.decision import Decision, matched_nothing
from intention_kernel.runtime.stages.composing.told import (
    notice_of_settled,
    notices_of_blocked,
    told_cancellations,
    told_issues,
)
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

Path = Literal["protected", "redacted", "direct", "model"]
"""How the answer comes about; a model has a part in the last one alone."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The turn in original words; it never goes to a model.

    `canonical` says all there is to say, and is None where a part of the turn has no words of its own: never a partial
    answer (G8). `notices` are our sentences about receipts in doubt, which even a technical response tells.
    """

    path: Path
    canonical: Copy | None
    notices: tuple[Copy, ...]
    requirements: Requirements
    interaction: Interaction | None
    artifacts: tuple[Artifact, ...]


def build_delivery(turn: TurnOutcome, decision: Decision, known: frozenset[str]) -> Delivery:
    """`known` are the ids of all evidence of the turn."""
    notices = tuple(notice.copy(required=True) for notice in notices_of_blocked(turn))
    copies = (*_copies(turn), *notices)
    required = tuple(copy for copy in copies if copy.required)
    requirements = Requirements(required, _goal(turn, required), known, decision.mode == "conversational")
    path = _path(turn, requirements, copies)
    return Delivery(
        path=path,
        canonical=_canonical(turn, path, copies),
        notices=notices,
        requirements=requirements,
        interaction=turn.state.interaction,
        artifacts=tuple(artifact for _, result in turn.completed for artifact in result.artifacts),
    )


def _copies(turn: TurnOutcome) -> tuple[Copy, ...]:
    """Capabilities' own words; in a continuation for which they are not all there, ours about the effect too."""
    found = tuple(
        Copy(answer.message, answer.claims, answer.required)
        for _, result in turn.completed
        if (answer := result.canonical_response) is not None
    )
    settled = notice_of_settled(turn)
    if settled is None or (found and not _wordless(turn)):
        return found
    return (settled.copy(required=not turn.completed), *found)


def _goal(turn: TurnOutcome, required: Sequence[Copy]) -> str | None:
    """The question that has to stand in the answer word for word, behind all that is required (G7, G9).

    A question that an earlier turn asked is shown beside the answer all the same. Where required texts hold the question
    themselves, and not once at an end, nothing more is asked of the answer.
    """
    asked = turn.state.interaction
    if asked is None or asked.mode == "optional":
        return None
    holding = [copy.message for copy in required if asked.goal in copy.message]
    once = len(holding) == 1 and occurrences(holding[0], asked.goal) == 1 and holding[0].endswith(asked.goal)
    if holding and not once:
        return None
    if required or asked.response_mode == "contextual":
        return asked.goal
    # Words that a model may not read cannot be asked of it.
    return asked.goal if turn.asks_now and turn.redactions.text(asked.goal) == asked.goal else None


def _path(turn: TurnOutcome, requirements: Requirements, copies: Sequence[Copy]) -> Path:
    asked = turn.state.interaction
    needs_model = _needs_model(turn)
    if asked is not None and asked.protected_canonical_message and (turn.asks_now or not needs_model):
        return "protected"
    exact = [copy.message for copy in requirements.required]
    if requirements.goal is not None:
        exact.append(requirements.goal)
    if any(turn.redactions.text(text) != text for text in exact):
        return "redacted"
    if needs_model or (asked is not None and asked.response_mode == "contextual"):
        return "model"
    canonical = joined(copies, *_closing(turn, copies))
    return "direct" if canonical is not None and not requirements.problems(canonical) else "model"


def _needs_model(turn: TurnOutcome) -> bool:
    """Whether something is to be said for which there are no words, or none that should be the first choice."""
    if told_issues(turn) or turn.cancelled_item_ids or matched_nothing(turn):
        return True
    if _wordless(turn):
        return True
    if turn.completed or turn.blocked or turn.settled is not None:
        return False
    return turn.state.interaction is None or turn.state.interaction.mode == "optional" or _leaves_open(turn)


def _leaves_open(turn: TurnOutcome) -> bool:
    """The question was asked before, and the message was about something else: it deserves an answer of its own."""
    answer = turn.interpretation.batch.answer_to_interaction if turn.interpretation is not None else None
    return not turn.asks_now and answer is None


def _wordless(turn: TurnOutcome) -> bool:
    return any(result.canonical_response is None for _, result in turn.completed)


def _canonical(turn: TurnOutcome, path: Path, copies: Sequence[Copy]) -> Copy | None:
    if _wordless(turn) and turn.settled is None and path != "protected":
        return None
    told = (*copies, *told_issues(turn), *told_cancellations(turn))
    return joined(told, *_closing(turn, told, protected=path == "protected"))


def _closing(turn: TurnOutcome, said: Sequence[Copy], *, protected: bool = False) -> tuple[str, ...]:
    """The question at the end, an optional one only where nothing else is said; and its protected text."""
    asked = turn.state.interaction
    if asked is None:
        return ()
    goal = (asked.goal,) if asked.mode == "required" or not said else ()
    return (*goal, asked.protected_canonical_message) if protected and asked.protected_canonical_message else goal

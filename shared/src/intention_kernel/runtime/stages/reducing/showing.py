"""Which of the agenda's questions the user is shown (contract 8.4). Each item keeps its own, so none is lost meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.planning.questions import expired


def question_to_show(
    agenda: Iterable[AgendaItem], before: Interaction | None, asked: Sequence[Interaction], *, stays: bool, at: datetime
) -> Interaction | None:
    """The one active question. `before` was active; `asked` are new ones, the most urgent first; `stays` says that a required
    question that is open keeps its place.

    A new question is shown, the first required one before others; but an open confirmation does not give way to another
    confirmation, nor a required question to an optional one. Where nothing new is asked the open question stays open, and
    where none is, the item that has waited longest asks its own again.
    """
    waiting = {item.interaction.id: item.interaction for item in agenda if item.interaction is not None}
    open_one = waiting.get(before.id) if before is not None else None
    new = [question for question in asked if question.id in waiting and question.id != (before.id if before else None)]
    candidate = next((question for question in new if question.mode == "required"), new[0] if new else None)
    if candidate is None:
        return open_one or next((question for question in waiting.values() if not expired(question, at)), None)
    if open_one is None or open_one.mode == "optional":
        return candidate
    both_confirm = open_one.kind == candidate.kind == "confirmation"
    return open_one if stays or both_confirm or candidate.mode == "optional" else candidate

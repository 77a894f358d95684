"""Which checks a proposed shortlist has to pass, in their order; the first that objects ends them (contract 2.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.asking import Models
from intention_kernel.runtime.stages.interpreting.interpret_options import example_competes_with_position
from intention_kernel.runtime.stages.selecting.selection_proposal import (
    SELECTED_MODES,
    SelectionAnswer,
    active_ids,
    taken,
)
from intention_kernel.runtime.stages.selecting.selection_reviews import (
    review_choice,
    review_diversion,
    review_lifecycle,
)
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Objections:
    """Why a shortlist is not accepted, in words for its repair.

    `at_boundary`: it had to be reviewed against the open question, so that a second refusal ends in no selection.
    """

    issues: tuple[str, ...]
    at_boundary: bool = False


async def checked(snapshot: ContextSnapshot, answer: SelectionAnswer, models: Models) -> Selection | Objections:
    """The proposal as an accepted shortlist, or why it is none."""
    unknown = [name for name in answer.capability_ids if name not in snapshot.view.agent.capabilities]
    if unknown:
        return Objections((f"these capabilities do not exist: {', '.join(unknown)}",))
    selection = taken(snapshot, answer)
    if answer.mode in SELECTED_MODES and is_unbound_scalar(snapshot):
        return Objections(("a bare value, with no open question and nothing on the agenda, asks for nothing",))
    menu = _reviewed_menu(snapshot, answer)
    if menu is not None:
        selection_or_objections = await _with_choice(snapshot, menu, answer, selection, models)
        if isinstance(selection_or_objections, Objections):
            return selection_or_objections
        selection = selection_or_objections
    diverts = _diverts(snapshot, selection)
    if diverts and (issues := await review_diversion(snapshot, selection, answer, models)):
        return Objections(issues, at_boundary=True)
    if "control" in answer.mode and (issues := await review_lifecycle(snapshot, answer, models)):
        return Objections(issues, at_boundary=diverts or menu is not None)
    return selection


def is_unbound_scalar(snapshot: ContextSnapshot) -> bool:
    """Whether the message is a bare number that nothing in the thread asked for."""
    state = snapshot.view.state
    return state.interaction is None and not state.agenda and bool(_NUMBER.fullmatch(snapshot.view.text.strip()))


async def _with_choice(
    snapshot: ContextSnapshot, menu: Interaction, answer: SelectionAnswer, selection: Selection, models: Models
) -> Selection | Objections:
    if example_competes_with_position(menu.options, snapshot.view.text):
        words = "the text is an example of one option and the position of another: it picks neither"
        return Objections((words,), at_boundary=True)
    reviewed = await review_choice(snapshot, menu, answer, models)
    if reviewed.issues:
        return Objections(reviewed.issues, at_boundary=True)
    return replace(selection, reviewed_choice=reviewed.choice)


def _reviewed_menu(snapshot: ContextSnapshot, answer: SelectionAnswer) -> Interaction | None:
    """The open menu, where the shortlist takes up one of its targets; a verified click needs no review."""
    interaction = snapshot.view.state.interaction
    if interaction is None or interaction.kind != "choice" or snapshot.click is not None:
        return None
    targets = {option.target_capability_id for option in interaction.options}
    takes_up = answer.mode in SELECTED_MODES and not targets.isdisjoint(answer.capability_ids)
    return interaction if len(interaction.options) >= 2 and takes_up else None


def _diverts(snapshot: ContextSnapshot, selection: Selection) -> bool:
    """Whether the shortlist has nothing to do with the open question. One that has both is looked at after interpretation."""
    active = active_ids(snapshot)
    if not active or snapshot.click is not None or selection.mode not in SELECTED_MODES:
        return False
    return set(active).isdisjoint(selection.capability_ids)

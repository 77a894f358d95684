"""Clicks: a choice that the host has verified, checked against the question that is open (contract 2.3 and 8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer, InteractionSelection
from intention_kernel.runtime.stages.state import KernelState

RefusalCode = Literal["INTERACTION_SELECTION_MISMATCH", "INTERACTION_OPTION_NOT_FOUND", "INTERACTION_SELECTION_EMPTY"]

_REFUSALS: dict[RefusalCode, str] = {
    "INTERACTION_SELECTION_MISMATCH": "That question is no longer open, so I have not used your choice.",
    "INTERACTION_OPTION_NOT_FOUND": "That is not one of the choices I offered, so I have not used it.",
    "INTERACTION_SELECTION_EMPTY": "I could not tell which choice you made, so I have not used it.",
}


@dataclass(frozen=True, slots=True)
class RefusedClick:
    """A click that answers nothing: the turn says so in these words, asks no model and changes nothing."""

    code: RefusalCode
    message: str


def answer_of_click(
    interaction: Interaction | None, selection: InteractionSelection, text: str
) -> InteractionAnswer | RefusedClick:
    """The answer that a click gives to the open question: the option's own value, or `{"action": …}`.

    Whether the question has expired is the planner's to say: it takes the question away and tells the user.
    """
    if interaction is None or interaction.id != selection.interaction_id:
        return _refused("INTERACTION_SELECTION_MISMATCH")
    if selection.option_id is not None:
        option = interaction.option(selection.option_id)
        if option is None:
            return _refused("INTERACTION_OPTION_NOT_FOUND")
        return InteractionAnswer(
            interaction_id=interaction.id, value=option.value, evidence=text if text.strip() else option.label
        )
    if selection.action is None or not selection.action.strip():
        return _refused("INTERACTION_SELECTION_EMPTY")
    return InteractionAnswer(
        interaction_id=interaction.id,
        value={"action": selection.action},
        evidence=text if text.strip() else selection.action,
    )


def clicked_owner(interaction: Interaction, selection: InteractionSelection) -> str | None:
    """The capability that a valid click is for: the option's target, else the question's owner."""
    option = interaction.option(selection.option_id) if selection.option_id is not None else None
    return (option.target_capability_id if option is not None else None) or interaction.capability_id


def resumed_item(state: KernelState, interaction: Interaction, owner: str | None) -> AgendaItem | None:
    """The one waiting item that an answer for `owner` resumes; None where there is none, or no single one.

    A confirmation resumes the item that waits with this very question; another question resumes the only item of its
    owner, if that waits for input and its intention is resolved.
    """
    if owner is None or owner != interaction.capability_id:
        return None
    if interaction.kind == "confirmation":
        found = [i for i in state.agenda if i.interaction is not None and i.interaction.id == interaction.id]
        status = "waiting_confirmation"
    else:
        found = [i for i in state.agenda if owner in (i.capability_id, i.intention.proposed_capability)]
        status = "waiting_input"
    item = found[0] if len(found) == 1 else None
    return item if item and item.status == status and item.intention.resolution == "resolved" else None


def is_expired(interaction: Interaction, at: datetime) -> bool:
    """Whether the question was open too long at that time (aware UTC); one without an end never is."""
    return interaction.expires_at is not None and datetime.fromisoformat(interaction.expires_at) <= at


def _refused(code: RefusalCode) -> RefusedClick:
    return RefusedClick(code, _REFUSALS[code])

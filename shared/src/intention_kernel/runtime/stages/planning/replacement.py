"""Which unfinished items give way to a new request: a changed mind replaces what it changes (contract 8.2 and 8.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, Replacement

MAX_AGENDA_ITEMS = 64
"""A request that would open more is refused and the user is told; nothing unfinished is dropped for it."""


def replaced(
    view: TurnView, fresh: Iterable[PlanStep], resumed: PlanStep | None, gone: frozenset[str]
) -> tuple[Replacement, ...]:
    """The items that give way, each to one of these new steps. A rejected step replaces nothing.

    A request gives up, of the same capability: the item whose question is shown, or else the one that waits longest; and
    what is over anyway, follow-up questions and failed attempts. A step that is blocked on a receipt never gives way, nor
    does anything waiting when an answer in the same message went to that capability: the request is a second one then.
    An ambiguous request gives up an earlier ambiguous one.
    """
    taken = set(gone)
    if resumed is not None and resumed.item_id is not None:
        taken.add(resumed.item_id)
    found: list[Replacement] = []
    for step in fresh:
        if step.disposition == "reject":
            continue
        for item in _gives_way(view, step, resumed, taken):
            taken.add(item.id)
            found.append(Replacement(item.id, step.id))
    return tuple(found)


def _gives_way(view: TurnView, step: PlanStep, resumed: PlanStep | None, taken: set[str]) -> Iterator[AgendaItem]:
    same = [item for item in view.state.agenda if item.capability_id == step.capability_id and item.id not in taken]
    if step.capability_id is None:
        yield from same
        return
    yield from (item for item in same if item.completed_follow_up or (item.status == "blocked" and not item.blocked))
    if resumed is not None and resumed.capability_id == step.capability_id:
        return
    waiting = [item for item in same if item.status != "blocked" and not item.completed_follow_up]
    chosen = next((item for item in waiting if _is_shown(view, item)), waiting[0] if waiting else None)
    if chosen is not None:
        yield chosen


def _is_shown(view: TurnView, item: AgendaItem) -> bool:
    active = view.state.interaction
    return active is not None and item.interaction is not None and item.interaction.id == active.id

"""Which items were started for which, and what goes with an item that is gone (contract 8.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intention_kernel.contracts.agenda import AgendaItem

Items = Mapping[str, AgendaItem]
"""The agenda by id, in its order."""


def with_dependency(consumer: AgendaItem, item_id: str, *, owned: bool) -> AgendaItem:
    """The consumer, waiting for that item. `owned`: the kernel started it for this consumer alone."""
    changes = {"dependencies": _with(consumer.dependencies, item_id)}
    if owned:
        changes["owned_dependency_ids"] = _with(consumer.owned_dependency_ids, item_id)
    return consumer.model_copy(update=changes)


def unneeded(items: Items, gone: Iterable[AgendaItem]) -> set[str]:
    """Items that were started for one that is gone, and for what they were started in turn. What another item waits for
    stays, and so does a step that is blocked on a receipt."""
    found: set[str] = set()
    owners = list(gone)
    while owners:
        for owned_id in owners.pop().owned_dependency_ids:
            item = items.get(owned_id)
            if item is None or owned_id in found or item.blocked is not None or _is_needed(items, owned_id, found):
                continue
            found.add(owned_id)
            owners.append(item)
    return found


def without_gone(items: Items, successors: Mapping[str, str]) -> dict[str, AgendaItem]:
    """The items without links to items that are gone. Where a newer request took the place of one, what waited for it
    waits for the newer one, which it does not own."""
    return {item_id: _linked(item, items, successors) for item_id, item in items.items()}


def _is_needed(items: Items, item_id: str, leaving: set[str]) -> bool:
    return any(item_id in item.dependencies for other, item in items.items() if other not in leaving)


def _linked(item: AgendaItem, items: Items, successors: Mapping[str, str]) -> AgendaItem:
    if not item.dependencies and not item.owned_dependency_ids:
        return item
    links = dict.fromkeys(successors.get(link, link) for link in item.dependencies)
    dependencies = tuple(link for link in links if link in items and link != item.id)
    owned = tuple(link for link in item.owned_dependency_ids if link in items)
    if (dependencies, owned) == (item.dependencies, item.owned_dependency_ids):
        return item
    return item.model_copy(update={"dependencies": dependencies, "owned_dependency_ids": owned})


def _with(links: tuple[str, ...], link: str) -> tuple[str, ...]:
    return links if link in links else (*links, link)

"""Pages of the queue by a filter's text: what every surface lists (design 7)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import JsonError
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.operator_queue import OperatorQueue, Place, QueueItem
from intention_kernel.ports.queue_filter import Filter, IsOneOf, is_narrow, leaves_out_done
from intention_kernel.reconciliation.filtering import FilterProblem, parse
from intention_kernel.reconciliation.places import moment

EVERYTHING = Scope()

_CURSOR_VERSION = 1
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Page:
    """Items in the order of the queue; `cursor` is where the next page begins, None: there is none.

    Pages of one filter neither skip nor repeat an item that keeps its place.
    """

    items: tuple[QueueItem, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class BadCursor:
    """No cursor of this build."""


ListAnswer = Page | FilterProblem | BadCursor


async def list_items(
    queue: OperatorQueue,
    query: str = "",
    *,
    reader: str = "",
    scope: Scope = EVERYTHING,
    cursor: str | None = None,
    limit: int = 200,
) -> ListAnswer:
    """The items that the filter names. Without a word of it what is done, and what is snoozed, is left out.

    What is done is kept by thread, so a filter that includes it names a thread or a receipt. `reader` is who `owner:me` means,
    `scope` what is within their reach; the rest is not there.
    """
    asked = parse(query)
    if isinstance(asked, FilterProblem):
        return asked
    asked = in_sight(asked)
    if not leaves_out_done(asked) and not is_narrow(asked):
        return FilterProblem(0, "what is done is listed for a thread or a receipt", "thread:ID")
    place = None if cursor is None else _place(cursor)
    if cursor is not None and place is None:
        return BadCursor()
    found = await queue.items(within(asked, scope), reader, place, limit + 1)
    return Page(found[:limit], _cursor(found[limit - 1]) if len(found) > limit else None)


def in_sight(query: Filter) -> Filter:
    """The filter with what it leaves unsaid: `-status:done`, `snoozed:no`."""
    named = {term.field for term in query.terms if isinstance(term, IsOneOf)}
    unsaid = []
    if "status" not in named:
        unsaid.append(IsOneOf("status", ("done",), negated=True))
    if "snoozed" not in named:
        unsaid.append(IsOneOf("snoozed", ("no",)))
    return replace(query, terms=(*query.terms, *unsaid))


def within(query: Filter, scope: Scope) -> Filter:
    """The filter with what the scope leaves of it."""
    reach = []
    if scope.tenants is not None:
        reach.append(IsOneOf("tenant", tuple(sorted(scope.tenants))))
    if scope.effects is not None:
        reach.append(IsOneOf("effect", tuple(sorted(scope.effects))))
    return replace(query, terms=(*query.terms, *reach))


def _cursor(item: QueueItem) -> str:
    members: list[JsonValue] = [
        _CURSOR_VERSION,
        item.urgent,
        item.blocks,
        None if item.key_closes_at is None else item.key_closes_at.isoformat(),
        item.opened_at.isoformat(),
        item.thread_id,
        item.effect_key,
        item.settlement,
        item.kind,
    ]
    return base64.urlsafe_b64encode(dumps(members)).decode().rstrip("=")


def _place(cursor: str) -> Place | None:
    """None for whatever `_cursor` did not make."""
    try:
        members = loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, JsonError):
        return None
    match members:
        case [
            1,
            bool(urgent),
            int(blocks),
            None | str() as closes,
            str(opened),
            str(thread),
            str(key),
            int(number),
            str(kind),
        ]:
            closes_at, opened_at = None if closes is None else moment(closes), moment(opened)
            if (closes is not None and closes_at is None) or opened_at is None:
                return None
            if kind not in ("effect", "orphaned") or max(abs(blocks), abs(number)) >= _LARGEST:
                return None
            return Place(
                urgent, blocks, closes_at, opened_at, thread, key, number, "effect" if kind == "effect" else "orphaned"
            )
        case _:
            return None

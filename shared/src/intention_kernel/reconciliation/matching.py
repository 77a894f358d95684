"""What a filter means, as a predicate over one item: the postgres adapter's SQL selects the same items."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from intention_kernel.ports.operator_queue import QueueItem
from intention_kernel.ports.queue_filter import (
    Compares,
    Filter,
    HasTitle,
    IsOneOf,
    IsOwnedBy,
    Me,
    Nobody,
    NumberField,
    Owner,
    Term,
)

_COMPARISONS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def matches(query: Filter, item: QueueItem, reader: str, now: datetime) -> bool:
    """Whether the item is shown to that reader at that moment."""
    return all(_holds(term, item, reader, now) != term.negated for term in query.terms)


def _holds(term: Term, item: QueueItem, reader: str, now: datetime) -> bool:
    match term:
        case IsOneOf(field=field, values=values):
            return any(value in values for value in _members(field, item, now))
        case IsOwnedBy(owners=owners):
            return any(_owns(owner, item, reader, now) for owner in owners)
        case Compares(field=field, comparison=comparison, bound=bound):
            number = _number(field, item, now)
            return number is not None and _COMPARISONS[comparison](number, bound)
        case HasTitle(text=text):
            return text.translate(_LOWER) in item.summary.title.translate(_LOWER)


def _members(field: str, item: QueueItem, now: datetime) -> tuple[str | None, ...]:
    """The values that name the item under this word."""
    match field:
        case "status":
            return _status(item)
        case "kind":
            return (item.kind,)
        case "cause":
            return (item.cause,)
        case "snoozed":
            return ("any", "yes" if is_snoozed(item, now) else "no")
        case "provider":
            return (item.summary.provider,)
        case "currency":
            return (item.summary.currency,)
        case "effect":
            return (item.effect_id,)
        case _:
            member: str | None = getattr(item, f"{field}_id")
            return (member,)


def _status(item: QueueItem) -> tuple[str, ...]:
    if item.phase != "open":
        return (item.phase,)
    if item.contradicted:
        return ("open", "contradicted")
    return ("open", "uncertain") if item.state == "uncertain" else ("open",)


def is_snoozed(item: QueueItem, now: datetime) -> bool:
    """Out of sight at that moment."""
    return item.snoozed_until_change or (item.snoozed_until is not None and item.snoozed_until > now)


def _owns(owner: Owner, item: QueueItem, reader: str, now: datetime) -> bool:
    held_by = item.claimed_by if item.claimed_until is not None and item.claimed_until > now else None
    match owner:
        case Me():
            return held_by == reader
        case Nobody():
            return held_by is None
        case name:
            return held_by == name


def _number(field: NumberField, item: QueueItem, now: datetime) -> Decimal | None:
    match field:
        case "age":
            return _seconds(item.opened_at, now)
        case "window":
            return None if item.key_closes_at is None else _seconds(now, item.key_closes_at)
        case "amount":
            return item.summary.amount
        case "blocks":
            return Decimal(item.blocks)


def _seconds(since: datetime, until: datetime) -> Decimal:
    span = until - since
    return Decimal(span.days * 86_400 + span.seconds) + Decimal(span.microseconds) / 1_000_000

"""The queue's composed queries (design 2): a filter as SQL with parameters, through SQLAlchemy Core.

It selects what `reconciliation.matching` says; the order is that of reconciliation_items_priority_idx, read from a place on,
so that a page costs what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    DateTime,
    Numeric,
    Select,
    Text,
    and_,
    any_,
    bindparam,
    case,
    extract,
    false,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from intention_kernel.ports.operator_queue import Place
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
    is_narrow,
    leaves_out_done,
)
from intention_kernel.postgres.tables import receipt_work, receipts, reconciliation_items
from intention_kernel.postgres.text import clean

_Condition = ColumnElement[bool]
_DIALECT: Any = PGDialect_asyncpg()  # type: ignore[no-untyped-call]
_ITEM, _RECEIPT, _WORK = reconciliation_items.c, receipts.c, receipt_work.c
_NOW: ColumnElement[Any] = func.now()
_OPEN = _ITEM.phase == literal_column("'open'")
_NOT_DONE = _ITEM.phase != literal_column("'done'")
_IS_SNOOZED = func.coalesce(_WORK.snoozed_until > _NOW, false())
_HELD_BY = case((_WORK.claimed_until > _NOW, _WORK.claimed_by), else_=null())
_ORDER: tuple[ColumnElement[Any], ...] = (
    not_(_ITEM.contradicted),
    -_ITEM.waiting,
    _ITEM.key_closes_at,
    _ITEM.opened_at,
    _ITEM.thread_id,
    _ITEM.effect_key,
    _ITEM.settlement,
    _ITEM.kind,
)
_TEXTS = {
    "kind": _ITEM.kind,
    "cause": _RECEIPT.cause,
    "provider": _RECEIPT.provider,
    "currency": _RECEIPT.currency,
    "effect": _RECEIPT.effect_id,
    "agent": _RECEIPT.agent_id,
    "thread": _ITEM.thread_id,
    "turn": _RECEIPT.turn_id,
    "tenant": _RECEIPT.tenant_id,
    "receipt": _RECEIPT.receipt_id,
}


def items_query(query: Filter, reader: str, after: Place | None, limit: int) -> tuple[str, Sequence[object]]:
    """The statement and its parameters. Values are never part of the text, so that it is one for all values."""
    found = _rows().where(*(_condition(term, reader) for term in query.terms))
    if leaves_out_done(query) and not is_narrow(query):
        found = found.where(_NOT_DONE)  # the order's index knows these words; few items are rather found by their keys
    if after is not None:
        found = found.where(tuple_(*_ORDER) > tuple_(*_place(after)))
    compiled = found.order_by(*_ORDER).limit(bindparam(None, limit, BigInteger)).compile(dialect=_DIALECT)
    values = compiled.params
    return compiled.string, [values[name] for name in compiled.positiontup or ()]


def _rows() -> Select[Any]:
    finite = {
        name: case((func.isfinite(column), column), else_=null()).label(name)
        for name, column in (
            ("next_look_at", _ITEM.next_look_at),
            ("key_closes_at", _ITEM.key_closes_at),
            ("claimed_until", _WORK.claimed_until),
            ("snoozed_until", _WORK.snoozed_until),
        )
    }
    work = and_(_WORK.thread_id == _ITEM.thread_id, _WORK.effect_key == _ITEM.effect_key)
    receipt = and_(_RECEIPT.thread_id == _ITEM.thread_id, _RECEIPT.effect_key == _ITEM.effect_key)
    item = (_ITEM.thread_id, _ITEM.effect_key, _ITEM.settlement, _ITEM.kind, _ITEM.phase, _ITEM.reason, _ITEM.opened_at)
    of_receipt = (
        *(_RECEIPT.receipt_id, _RECEIPT.effect_id, _RECEIPT.turn_id, _RECEIPT.state, _RECEIPT.contradicted),
        *(_RECEIPT.version, _RECEIPT.title, _RECEIPT.provider, _RECEIPT.amount, _RECEIPT.currency),
        *(_RECEIPT.agent_id, _RECEIPT.tenant_id, _RECEIPT.cause),
    )
    return select(
        *item,
        *of_receipt,
        *finite.values(),
        _ITEM.looks,
        _ITEM.turn_id.label("waits_for"),
        _ITEM.waiting.label("blocks"),
        _ITEM.contradicted.label("urgent"),
        _WORK.claimed_by,
        func.coalesce(_WORK.snoozed_answer.is_not(None) & (_WORK.snoozed_until > _NOW), false()).label(
            "snoozed_until_change"
        ),
        _NOW.label("now"),
    ).select_from(reconciliation_items.join(receipts, receipt).outerjoin(receipt_work, work))


def _place(after: Place) -> tuple[ColumnElement[Any], ...]:
    return (
        bindparam(None, not after.urgent, Boolean),
        bindparam(None, -after.blocks, BigInteger),
        func.coalesce(
            bindparam(None, after.key_closes_at, DateTime(timezone=True)), literal_column("'infinity'::timestamptz")
        ),
        bindparam(None, after.opened_at, DateTime(timezone=True)),
        bindparam(None, clean(after.thread_id), Text),
        bindparam(None, clean(after.effect_key), Text),
        bindparam(None, after.settlement, BigInteger),
        bindparam(None, after.kind, Text),
    )


def _condition(term: Term, reader: str) -> _Condition:
    """What is not known of an item is not so; negated, it is. As it stands a condition can be looked up in an index."""
    holds = _holds(term, reader)
    return not_(func.coalesce(holds, false())) if term.negated else holds


def _holds(term: Term, reader: str) -> _Condition:
    match term:
        case IsOneOf(field="status", values=values):
            return or_(*(_has_status(value) for value in values))
        case IsOneOf(field="snoozed", values=values):
            return or_(*(_is_snoozed(value) for value in values))
        case IsOneOf(field=field, values=values):
            return _TEXTS[field] == any_(bindparam(None, list(values), ARRAY(Text)))
        case IsOwnedBy(owners=owners):
            return or_(*(_is_owned(owner, reader) for owner in owners))
        case Compares(field=field, comparison=comparison, bound=bound):
            return _number(field).op(comparison, is_comparison=True)(bindparam(None, bound, Numeric))
        case HasTitle(text=text):
            return func.strpos(_lower(_RECEIPT.title), _lower(bindparam(None, text, Text))) > literal_column("0")


def _has_status(word: str) -> _Condition:
    if word == "uncertain":
        return and_(_OPEN, _RECEIPT.state == literal_column("'uncertain'"), not_(_RECEIPT.contradicted))
    if word == "contradicted":
        return and_(_OPEN, _RECEIPT.contradicted)
    return _ITEM.phase == bindparam(None, word, Text)


def _is_snoozed(word: str) -> _Condition:
    if word == "any":
        return literal_column("true", Boolean)
    return _IS_SNOOZED if word == "yes" else not_(_IS_SNOOZED)


def _is_owned(owner: Owner, reader: str) -> _Condition:
    match owner:
        case Me():
            return bindparam(None, clean(reader), Text) == _HELD_BY
        case Nobody():
            return _HELD_BY.is_(None)
        case name:
            return bindparam(None, name, Text) == _HELD_BY


def _number(field: NumberField) -> ColumnElement[Any]:
    match field:
        case "age":
            return extract("epoch", _NOW - _ITEM.opened_at)
        case "window":
            left = extract("epoch", _ITEM.key_closes_at - _NOW)
            return case((func.isfinite(_ITEM.key_closes_at), left), else_=null())
        case "amount":
            return _RECEIPT.amount
        case "blocks":
            return _ITEM.waiting


def _lower(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The letters A to Z alone, on every server."""
    return func.lower(text.collate("C"))

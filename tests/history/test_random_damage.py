"""A healthy history with one row missing, doubled or exchanged for another is never healthy, whichever row it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.history.check import check_history
from intention_kernel.history.values import History, Move, Record

from tests.history.healthy import ALLOWED, healthy

DELETED = (
    "turns", "set_aside", "rejected", "rejections", "events", "heads", "receipts", "moves", "items", "ledger",
    "requests",
)  # fmt: skip
DOUBLED = ("turns", "set_aside", "rejected", "receipts", "moves", "items", "ledger")
EXCHANGED = {"turns": "revision", "events": "offset", "moves": "version", "ledger": "reference"}
"""Rows of one thread that exchange this member tell another story."""

HEALTHY = healthy()


def _with(name: str, rows: Sequence[Any]) -> History:
    changed: dict[str, Any] = {name: tuple(rows)}
    return replace(HEALTHY, **changed)


def _owner(row: Any) -> object:
    return row.key if isinstance(row, Record) else (row.thread_id, row.key if isinstance(row, Move) else None)


@given(st.data())
def test_a_missing_row_is_found(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(DELETED))
    rows = getattr(HEALTHY, name)
    index = data.draw(st.integers(0, len(rows) - 1))
    assert check_history(_with(name, rows[:index] + rows[index + 1 :]), ALLOWED)


@given(st.data())
def test_a_doubled_row_is_found(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(DOUBLED))
    rows = getattr(HEALTHY, name)
    assert check_history(_with(name, (*rows, data.draw(st.sampled_from(rows)))), ALLOWED)


@given(st.data())
def test_exchanged_rows_are_found(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(EXCHANGED)))
    rows, member = getattr(HEALTHY, name), EXCHANGED[name]
    pairs = [
        (one, other) for one in range(len(rows)) for other in range(one) if _owner(rows[one]) == _owner(rows[other])
    ]
    one, other = data.draw(st.sampled_from(pairs))
    changed = list(rows)
    changed[one] = replace(rows[one], **{member: getattr(rows[other], member)})
    changed[other] = replace(rows[other], **{member: getattr(rows[one], member)})
    assert check_history(_with(name, changed), ALLOWED)


@given(st.data())
def test_an_event_that_is_told_with_other_bytes_is_found(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(HEALTHY.events) - 1))
    told = HEALTHY.events[index]
    other = replace(told, value=data.draw(st.binary().filter(lambda value: value != told.value)))
    assert check_history(_with("events", (*HEALTHY.events[:index], other, *HEALTHY.events[index + 1 :])), ALLOWED)
    assert check_history(_with("events", (*HEALTHY.events, replace(other, offset=900 + index))), ALLOWED)

"""Every rule of the checker is broken by hand, in the way that it is about, and only that rule says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from intention_kernel import history as history_package
from intention_kernel.history.check import check_history
from intention_kernel.history.values import (
    Allowed,
    Applied,
    History,
    Item,
    Move,
    Record,
    Rejected,
    Sent,
    SetAside,
    WireEvent,
)

from tests.history.healthy import (
    ALLOWED,
    NO_REQUEST,
    RESTORED_ALLOWED,
    asked,
    effect,
    event,
    healthy,
    restored,
    resumed,
)

Break = Callable[[History], History]


def _with(history: History, name: str, rows: Iterable[Any]) -> History:
    changed: dict[str, Any] = {name: tuple(rows)}
    return replace(history, **changed)


def _edit(name: str, changes: dict[str, Any], **which: Any) -> Break:
    """The rows that have these members get other ones."""

    def edit(history: History) -> History:
        rows = getattr(history, name)
        chosen = [row for row in rows if all(getattr(row, member) == value for member, value in which.items())]
        assert chosen, f"no {name} with {which}"
        return _with(history, name, (replace(row, **changes) if row in chosen else row for row in rows))

    return edit


def _drop(name: str, **which: Any) -> Break:
    """The rows that have these members are gone."""

    def drop(history: History) -> History:
        rows = getattr(history, name)
        kept = tuple(row for row in rows if any(getattr(row, member) != value for member, value in which.items()))
        assert kept != rows, f"no {name} with {which}"
        return _with(history, name, kept)

    return drop


def _add(name: str, *rows: object) -> Break:
    return lambda history: _with(history, name, (*getattr(history, name), *rows))


def _all(*breaks: Break) -> Break:
    def all_of(history: History) -> History:
        for one in breaks:
            history = one(history)
        return history

    return all_of


def _rewrite(old: bytes, new: bytes) -> Break:
    """Other bytes wherever a client, the request topic, a row or the rejected topic has these."""

    def rewrite(history: History) -> History:
        for name in ("sent", "requests", "rejected", "rejections"):
            rows = (replace(row, value=new) if row.value == old else row for row in getattr(history, name))
            history = _with(history, name, rows)
        return history

    return rewrite


def _exchange(one: bytes, other: bytes) -> Break:
    """Two requests in each other's place."""
    between = b"between"
    swapped = _all(_rewrite(one, between), _rewrite(other, one), _rewrite(between, other))
    return lambda history: replace(swapped(history))


def _retype(thread_id: str, sequence: int, type: str) -> Break:
    """An event of another type, committed so and told so."""

    def retype(history: History) -> History:
        turns, told = [], list(history.events)
        for turn in history.turns:
            events = list(turn.events)
            if turn.thread_id == thread_id and turn.first_sequence <= sequence < turn.first_sequence + len(events):
                old, new = events[sequence - turn.first_sequence], event(thread_id, turn.turn_id, sequence, type)
                events[sequence - turn.first_sequence] = new
                told = [replace(e, headers=new.headers, value=new.value) if e.value == old.value else e for e in told]
            turns.append(replace(turn, events=tuple(events)))
        return replace(history, turns=tuple(turns), events=tuple(told))

    return retype


def _told(thread_id: str, wire: WireEvent, partition: int, offset: int) -> Record:
    return Record(partition, offset, thread_id.encode(), wire.value, wire.headers)


def _place_of(value: bytes) -> tuple[int, int]:
    return next((one.partition, one.offset) for one in healthy().requests if one.value == value)


def _request(value: bytes, offset: int = 900) -> Record:
    return Record(0, offset, b"plain", value)


def _lost_at_rest(value: bytes, *, good: bool = True) -> Break:
    offsets: Break = lambda history: replace(history, offsets={**history.offsets, 0: (901, 901)})  # noqa: E731
    return _all(_add("requests", _request(value)), _add("sent", Sent(b"plain", value, (0, 900), good)), offsets)


def _no_longer(**names: Any) -> Allowed:
    return replace(ALLOWED, **names)


OTHER = asked("plain", "t1", "other")
T2 = event("plain", "t2", 3, "turn.started").value
UNTOLD = effect("bank", "untold", "b1", ("uncertain", "uncertain"), ("settle", "completed"))
UNHEARD = _all(
    *(_add(name, *getattr(UNTOLD, name)) for name in ("moves", "items", "ledger")), _add("receipts", UNTOLD.receipt)
)

CASES: list[tuple[str, str, Break]] = [
    ("acknowledged-in-log", "nothing is there", _add("sent", Sent(b"plain", asked("plain", "t1"), (0, 99)))),
    ("acknowledged-in-log", "something else is there", _add("sent", Sent(b"plain", asked("plain", "t2"), (0, 0)))),
    ("one-outcome", "nothing came of it", _lost_at_rest(asked("plain", "t8"))),
    ("one-outcome", "bad bytes are not rejected", _lost_at_rest(b"{bad", good=False)),
    ("one-outcome", "a bad request is not rejected", _lost_at_rest(asked("plain", "t7"), good=False)),
    ("one-outcome", "a conflict is not rejected", _all(_drop("rejected", value=OTHER), _drop("rejections", value=OTHER))),
    ("one-outcome", "rejected as what it was not", _all(
        _edit("rejected", {"value": b"{"}, value=NO_REQUEST), _edit("rejections", {"value": b"{"}, value=NO_REQUEST))),
    ("one-outcome", "redriven into nothing", _all(
        _edit("set_aside", {"state": "redriven"}, turn_id="g3"), _edit("items", {"phase": "done"}, kind="orphaned"))),
    ("asked-for", "a request of nobody", _drop("sent", value=asked("plain", "t2"))),
    ("asked-for", "a turn without a request", _all(
        _drop("requests", value=asked("plain", "t2")), _drop("sent", value=asked("plain", "t2")))),
    ("asked-for", "a continuation of no settlement", _rewrite(resumed("bank", "id-found", 1), asked("bank", "reconciliation:id-found:1:1"))),
    ("asked-for", "redriven without a request", _drop("requests", partition=1, offset=2)),
    ("asked-for", "set aside for another's record", _edit("set_aside", {"place": (0, 0)}, turn_id="g3")),
    ("asked-for", "rejected without a record", _all(
        _add("rejected", Rejected((1, 99), None, None, None, "open", "not_json", None, b"x")),
        _add("rejections", Record(0, 99, None, b"x", (
            ("reason", b"not_json"), ("origin_partition", b"1"), ("origin_offset", b"99")))))),
    ("rejected-wrongly", "a conflict with the same content", _rewrite(OTHER, asked("plain", "t1"))),
    ("rejected-wrongly", "a good request", _all(
        _edit("rejected", {"reason": "because"}, reason="unknown_agent"), _edit("rejections", {"headers": (
            ("reason", b"because"), ("origin_partition", b"1"), ("origin_offset", b"%d" % _place_of(asked("refused", "r1"))[1])
        )}, value=asked("refused", "r1")))),
    ("set-aside-wrongly", "another turn", _all(
        _add("set_aside", SetAside("gone", "y", 1, "dropped", "held_too_long", (1, 900))),
        _add("requests", Record(1, 900, b"gone", asked("gone", "y"))), _add("sent", Sent(b"gone", asked("gone", "y"), None)),
        _add("heads", replace(healthy().heads[0], thread_id="gone", revision=1, next_sequence=2)),
        _add("events", _told("gone", event("gone", "y", 1, "turn.failed"), 1, 900)),
        lambda history: replace(history, offsets={**history.offsets, 1: (901, 901)}))),
    ("rejected-published", "told nowhere", _drop("rejections", value=NO_REQUEST)),
    ("rejected-published", "told with other bytes", _edit("rejections", {"value": b"x"}, value=NO_REQUEST)),
    ("rejected-published", "told and not so", _add("rejections", Record(0, 99, None, b"x"))),
    ("offsets", "behind", lambda history: replace(history, offsets={**history.offsets, 0: (1, history.offsets[0][1])})),
    ("offsets", "beyond", lambda history: replace(history, offsets={**history.offsets, 0: (99, history.offsets[0][1])})),
    ("offsets", "no end", lambda history: replace(history, offsets={0: history.offsets[0]})),
    ("committed-at-most-once", "and given up", _edit("set_aside", {"state": "dropped"}, turn_id="g1")),
    ("order", "against the topic", _exchange(asked("plain", "t2"), asked("plain", "t3"))),
    ("revisions", "the head is ahead", _edit("heads", {"revision": 9}, thread_id="plain")),
    ("revisions", "a fenced rejection has none", _edit("rejected", {"revision": None}, turn_id="r1")),
    ("effect-once", "applied twice", _add("ledger", Applied("bank", "paid", "ref-paid"))),
    ("effect-recorded", "another reference", _edit("ledger", {"reference": "?"}, key="paid")),
    ("effect-recorded", "completed and not applied", _drop("ledger", key="found")),
    ("effect-recorded", "failed and applied", _add("ledger", Applied("bank", "refused", "ref"))),
    ("effect-recorded", "applied without a receipt", _add("ledger", Applied("bank", "unknown", "ref"))),
    ("moves-legal", "a version is left out", _drop("moves", key="again", version=2)),
    ("moves-legal", "the last move is gone", _drop("moves", key="paid", version=2)),
    ("moves-legal", "from another state", _edit("moves", {"from_state": "uncertain"}, key="paid", version=2)),
    ("moves-legal", "no first preparation", _edit("moves", {"from_state": "failed"}, key="paid", version=1)),
    ("moves-legal", "an attempt too many", _all(
        _edit("moves", {"attempt": 2}, key="paid", version=2), _edit("receipts", {"attempt": 2}, key="paid"))),
    ("moves-legal", "prepared again although completed", _all(
        _edit("moves", {"state": "completed"}, key="again", version=2), _edit("moves", {"from_state": "completed"}, key="again", version=3))),
    ("moves-legal", "a settlement that does not count", _edit("moves", {"settlements": 0}, key="found", version=3)),
    ("moves-legal", "contradicted by nobody", _edit("moves", {"cause": "retry"}, key="disputed", version=3)),
    ("moves-legal", "no longer contradicted by nobody", _all(
        _add("moves", Move("waits", "disputed", 4, "failed", "failed", 1, 0, False, "retry")), _drop("items", key="disputed"),
        _edit("receipts", {"version": 4, "contradicted": False}, key="disputed"))),
    ("moves-legal", "a move that changes nothing", _edit("moves", {"cause": "settle"}, key="open", version=3)),
    ("moves-legal", "not what its moves led to", _edit("receipts", {"version": 9}, key="paid")),
    ("moves-legal", "moves of nothing", _edit("moves", {"key": "other"}, key="open")),
    ("open-item", "nobody is told", _drop("items", key="open")),
    ("open-item", "it is decided already", _edit("items", {"phase": "decided"}, key="open")),
    ("open-item", "there is one too many", _add("items", Item("bank", "paid", 1, "effect", "open", None))),
    ("open-item", "its continuation is still owed", _edit("items", {"phase": "decided"}, key="found")),
    ("open-item", "of nothing", _add("items", Item("bank", "none", 1, "effect", "open", None))),
    ("orphaned", "nobody is told", _drop("items", kind="orphaned")),
    ("orphaned", "twice", _add("items", Item("given up", "held", 2, "orphaned", "open", "g3"))),
    ("orphaned", "by a turn that is not set aside", _edit("items", {"turn_id": "g1"}, kind="orphaned")),
    ("continued", "nobody went on", UNHEARD),
    ("nothing-in-flight", "the outbox", lambda history: replace(history, left=("outbox rows: 1, turns.events",))),
    ("nothing-in-flight", "a turn", _edit("heads", {"turn_id": "t4"}, thread_id="plain")),
    ("event-published", "the last one is missing", _drop("events", value=event("plain", "t3", 6, "turn.completed").value)),
    ("event-published", "nobody is told what is given up", _edit("events", {"value": event("given up", "g9", 6, "turn.failed").value}, value=event("given up", "g3", 6, "turn.failed").value)),
    ("event-content", "other bytes", _edit("events", {"value": (T2 or b"") + b" "}, value=T2)),
    ("event-content", "another header", _edit("events", {"headers": event("plain", "t2", 3, "turn.strange").headers}, value=T2)),
    ("event-content", "another key", _add("events", Record(0, 900, b"other", T2, event("plain", "t2", 3, "turn.started").headers))),
    ("event-content", "repeated with other bytes", _add("events", replace(_told("plain", event("plain", "t2", 3, "turn.started"), 0, 900), value=b"x"))),
    ("event-content", "no headers", _add("events", Record(0, 900, b"plain", T2))),
    ("event-content", "an incarnation that never was", lambda history: replace(history, incarnation="i9")),
    ("event-content", "the turn of another", lambda history: replace(history, turns=tuple(
        replace(turn, events=tuple(replace(e, value=(e.value or b"").replace(b'"t2"', b'"t1"')) for e in turn.events)) for turn in history.turns
    ), events=tuple(replace(e, value=(e.value or b"").replace(b'"t2"', b'"t1"')) for e in history.events))),
    ("event-order", "too early", _all(_edit("events", {"offset": 901}, value=T2))),
    ("event-order", "elsewhere", _edit("events", {"partition": 3}, value=event("plain", "t3", 6, "turn.completed").value)),
    ("event-sequences", "the head is ahead", _edit("heads", {"next_sequence": 99}, thread_id="plain")),
    ("event-uncommitted", "told and not so", _add("events", _told("plain", event("plain", "t9", 7, "turn.started"), 0, 900))),
    ("event-uncommitted", "of a thread that is not there", _add("events", _told("gone", event("gone", "y", 1, "turn.started"), 1, 900))),
    ("turn-completed", "never", _retype("plain", 2, "turn.other")),
    ("turn-completed", "twice", _retype("plain", 1, "turn.completed")),
]  # fmt: skip
"""Rule, what is wrong, and the change that makes it so."""

NOT_ALLOWED = [
    ("rejected-wrongly", _no_longer(rejected=frozenset())),
    ("set-aside-wrongly", _no_longer(set_aside=frozenset({("given up", "g1")}))),
    ("settled", _no_longer(open_items=False)),
    ("contradicted", _no_longer(contradicted=False)),
]


@pytest.mark.parametrize(("rule", "what", "change"), CASES, ids=[f"{rule}: {what}" for rule, what, _ in CASES])
def test_a_broken_rule_is_found_and_no_other(rule: str, what: str, change: Break) -> None:
    findings = check_history(change(healthy()), ALLOWED)
    assert {finding.rule for finding in findings} == {rule}, "\n".join(map(str, findings))


@pytest.mark.parametrize(("rule", "allowed"), NOT_ALLOWED)
def test_what_is_not_allowed_is_found(rule: str, allowed: Allowed) -> None:
    assert {finding.rule for finding in check_history(healthy(), allowed)} == {rule}


def test_every_rule_of_the_checker_has_a_case() -> None:
    sources = Path(history_package.__file__).parent.glob("check*.py")
    rules = {rule for source in sources for rule in re.findall(r'Finding\(\s*"([a-z-]+)"', source.read_text("utf-8"))}
    assert rules == {rule for rule, *_ in CASES} | {rule for rule, _ in NOT_ALLOWED}


def test_healthy_histories_have_no_finding() -> None:
    assert check_history(healthy(), ALLOWED) == []
    assert check_history(restored(), RESTORED_ALLOWED) == []


LOST = event("restored", "x2", 4, "turn.completed").value

RESTORED_CASES: list[tuple[str, set[str], Break]] = [
    ("nothing was restored", {"rejected-wrongly", "asked-for", "event-content", "event-sequences", "event-uncommitted"},
     lambda history: replace(history, recoveries=0)),
    ("what was left out is told by nobody", {"event-order", "event-sequences"}, _drop("events", value=LOST)),
    ("the new database left something out", {"event-sequences"}, _edit(
        "events", {"headers": event("restored", "x2", 4, "turn.completed", "i2").headers}, value=LOST)),
    ("the lost one tells on", {"event-uncommitted"}, _add("events", _told("restored", event("restored", "x4", 9, "turn.started"), 0, 900))),
    ("what is left out is told by no head", {"event-sequences"}, _edit("heads", {"next_sequence": 40}, thread_id="plain")),
    ("what is given up is not told again", {"event-sequences"}, _drop("events", value=event("restored", "x3", 8, "turn.failed").value)),
    ("a third incarnation", {"event-content"}, lambda history: replace(history, incarnation="i3")),
]  # fmt: skip


@pytest.mark.parametrize(("what", "rules", "change"), RESTORED_CASES, ids=[what for what, *_ in RESTORED_CASES])
def test_a_recovery_excuses_what_the_lost_database_told_and_no_more(what: str, rules: set[str], change: Break) -> None:
    findings = check_history(change(restored()), RESTORED_ALLOWED)
    assert {finding.rule for finding in findings} == rules, "\n".join(map(str, findings))


def test_findings_of_a_rule_are_bounded() -> None:
    entries = [Applied("bank", f"key-{number}", "ref") for number in range(30)]
    findings = check_history(_add("ledger", *entries)(healthy()), ALLOWED)
    assert [finding.what for finding in findings[10:]] == ["and 20 more"]

"""View models, without a browser or a store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.reconciliation.filtering import FilterProblem, parse
from receipt_reconciler.web.console.forms import Form
from receipt_reconciler.web.console.saying import saying
from receipt_reconciler.web.console.views.queue import problem_view
from receipt_reconciler.web.console.views.times import key_clock, span, when
from receipt_reconciler.web.console.views.values import NoValueError, fields_of, typed_value
from receipt_reconciler.web.console.views.wording import link_of

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Flat:
    """A result with every kind of field."""

    charge: str
    count: int
    rate: float
    final: bool
    kind: Literal["card", "cash"]
    note: str | None = None


@dataclass(frozen=True)
class Nested:
    """A result that is typed as JSON."""

    lines: list[str]


@dataclass(frozen=True)
class Nullable:
    """A member that has to be there and may be null: no field that is left empty says which."""

    note: str | None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (11_520, "3 h 12 min"),
        (90_000, "1 d 1 h"),
        (7_200, "2 h"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_a_time_is_exact_for_machines_and_relative_for_people() -> None:
    past = when(NOW - timedelta(minutes=3), NOW)
    assert (past.iso, past.exact, past.words) == ("2026-12-01T11:57:00.000Z", "2026-12-01 11:57:00 UTC", "3 min ago")
    assert when(NOW + timedelta(hours=2), NOW).words == "in 2 h"
    assert when(NOW, NOW).words == "just now"


def test_the_key_windows_clock_warns_before_it_closes() -> None:
    kinds = [key_clock(at if at is None else NOW + timedelta(minutes=at), NOW).kind for at in (None, -1, 0, 59, 61)]
    assert kinds == ["none", "closed", "closed", "closing", "open"]


@pytest.mark.parametrize(
    ("query", "suggestion", "repaired"),
    [
        ("statsu:uncertain", "status", "/queue?q=status%3Auncertain"),
        ("owner:me statsu:open x", "status", "/queue?q=owner%3Ame+status%3Aopen+x"),
        ("status:opem owner:me", "open", "/queue?q=status%3Aopen+owner%3Ame"),
        ("x age:2h y", "age>2h", "/queue?q=x+age%3E2h+y"),
    ],
)
def test_a_filters_problem_offers_the_text_with_what_was_meant(query: str, suggestion: str, repaired: str) -> None:
    problem = parse(query)
    assert isinstance(problem, FilterProblem)
    shown = problem_view(query, problem)
    assert (shown.suggestion, shown.repaired) == (suggestion, repaired)
    assert shown.before + shown.after == query


def test_a_flat_result_has_a_field_for_each_member_and_others_are_json() -> None:
    fields = fields_of(Flat)
    assert fields is not None
    assert [(field.name, field.kind, field.required) for field in fields] == [
        ("charge", "text", True),
        ("count", "integer", True),
        ("rate", "number", True),
        ("final", "boolean", True),
        ("kind", "text", True),
        ("note", "text", False),
    ]
    assert fields[4].options == ("card", "cash")
    assert fields_of(Nested) is None
    assert fields_of(Nullable) is None
    assert fields_of(str) is None


def _form(**typed: str) -> Form:
    return Form(tuple((f"value.{name}", text) for name, text in typed.items()))


def test_what_is_typed_becomes_values_of_the_members_types() -> None:
    typed = _form(charge="7", count="7", rate="1.5", final="true", kind="card", note="")
    value: JsonValue = {"charge": "7", "count": 7, "rate": 1.5, "final": True, "kind": "card"}
    assert typed_value(fields_of(Flat), typed) == value
    assert typed_value(None, Form((("value", '{"lines": ["a"]}'),))) == {"lines": ["a"]}


@pytest.mark.parametrize(
    ("name", "text"), [("count", "1.5"), ("count", "true"), ("count", ""), ("rate", "x"), ("final", "1")]
)
def test_what_is_no_value_of_a_member_is_told_by_its_name(name: str, text: str) -> None:
    typed = {"charge": "7", "count": "7", "rate": "1.5", "final": "true", "kind": "card", name: text}
    with pytest.raises(NoValueError, match=name):
        typed_value(fields_of(Flat), _form(**typed))
    with pytest.raises(NoValueError, match="not JSON"):
        typed_value(None, Form((("value", "{"),)))


def test_what_is_left_empty_is_missing_and_no_empty_text() -> None:
    with pytest.raises(NoValueError, match=r"missing: charge, count, rate, final, kind\.$"):
        typed_value(fields_of(Flat), _form(charge=" ", count="", note=""))
    with pytest.raises(NoValueError, match="type what the provider answered, as JSON, or null"):
        typed_value(None, Form((("value", " \n"),)))
    assert typed_value(None, Form((("value", "null"),))) is None


@pytest.mark.parametrize(
    ("text", "is_link"),
    [
        ("https://bank.example/list?a=1", True),
        ("http://bank.example", True),
        ("javascript:alert(1)", False),
        ("JAVASCRIPT://a/%0aalert(1)", False),
        ("data:text/html,x", False),
        (" https://a.example", False),
        ("see https://a.example", False),
        ("https:///x", False),
    ],
)
def test_only_http_addresses_are_links(text: str, is_link: bool) -> None:
    assert (link_of(text) is not None) == is_link


def test_no_address_puts_words_of_its_own_on_a_page() -> None:
    assert saying("claimed").startswith("You have claimed it")
    assert saying("<b>you won</b>") == ""

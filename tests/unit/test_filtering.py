"""Filters of the queue: text to a value and back, and what is said of a text that is none (design 7)."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.ports.queue_filter import (
    Compares,
    Filter,
    HasTitle,
    IsOneOf,
    IsOwnedBy,
    Me,
    Nobody,
)
from intention_kernel.reconciliation.filter_words import FILTER_WORDS
from intention_kernel.reconciliation.filtering import LONGEST_QUERY, MOST_VALUES, FilterProblem, parse, text_of

from tests.support.queue_filters import filters

_PAGE = Path(__file__).parents[2] / "docs/queue.md"


def test_a_filter_says_what_its_words_say() -> None:
    query = (
        "status:uncertain,failed -provider:stripe owner:me,none,ben age>2h window<=90m amount>-1.50 "
        '-kind:orphaned tenant:"a b, \\"c\\"" refund -"two words"'
    )
    assert parse(query) == Filter(
        (
            IsOneOf("status", ("uncertain", "failed")),
            IsOneOf("provider", ("stripe",), negated=True),
            IsOwnedBy((Me(), Nobody(), "ben")),
            Compares("age", ">", Decimal(7200)),
            Compares("window", "<=", Decimal(5400)),
            Compares("amount", ">", Decimal("-1.50")),
            IsOneOf("kind", ("orphaned",), negated=True),
            IsOneOf("tenant", ('a b, "c"',)),
            HasTitle("refund"),
            HasTitle("two words", negated=True),
        )
    )
    assert parse(" \t\n") == Filter()
    assert parse('owner:"me"') == Filter((IsOwnedBy(("me",)),))


@given(filters())
def test_a_filter_is_read_back_from_its_text(query: Filter) -> None:
    assert parse(text_of(query)) == query


@given(st.text() | st.text(alphabet='abstu:<>=-," \\meown2hx.', max_size=60))
def test_any_text_is_a_filter_or_a_problem_with_its_place(query: str) -> None:
    found = parse(query)
    if isinstance(found, FilterProblem):
        assert 0 <= found.position <= len(query)
        assert found.message
    else:
        assert parse(text_of(found)) == found


@pytest.mark.parametrize(
    ("query", "position", "said", "suggestion"),
    [
        ("statuss:open", 0, "is no word of a filter", "status"),
        ("age>2h stauts:open", 7, "is no word of a filter", "status"),
        ("status:open,unsertain", 12, "status has no value 'unsertain'", "uncertain"),
        ("-kind:orphan", 6, "one of effect, orphaned", "orphaned"),
        ("xyzzy:1", 0, "is no word of a filter", None),
        ("age:2h", 3, "age takes <, <=, > or >=", "age>2h"),
        ("age>2", 4, "a whole number with s, m, h or d", "age>2h"),
        ("amount>=ten", 8, "amount takes a number", "amount>=100"),
        ("status>open", 6, "status takes a colon", "status:uncertain"),
        ("owner:", 6, "a value of owner is missing", "owner:none"),
        ("owner:ana,,ben", 10, "a value of owner is missing", "owner:none"),
        ('provider:"stripe', 9, "the quote is not closed", "provider:stripe"),
        ('"a"b', 3, "a space is missing", None),
        ("-", 1, "is missing", None),
        ('""', 0, "every title", None),
        ("a\x00b", 1, "no stored text has", None),
        ("x" * (LONGEST_QUERY + 1), LONGEST_QUERY, "at most", None),
        ("a " * (MOST_VALUES + 1), 2 * MOST_VALUES, "at most", None),
        (f"b owner:{','.join('a' * MOST_VALUES)}", 2, "at most", None),
        (f"b status:{','.join(['open'] * MOST_VALUES)}", 2, "at most", None),
    ],
)
def test_what_is_no_filter_is_told_with_its_place_and_the_nearest_word(
    query: str, position: int, said: str, suggestion: str | None
) -> None:
    found = parse(query)
    assert isinstance(found, FilterProblem)
    assert (found.position, found.suggestion) == (position, suggestion)
    assert said in found.message


@pytest.mark.parametrize("word", sorted(FILTER_WORDS))
def test_every_word_has_an_example_that_is_a_filter(word: str) -> None:
    assert isinstance(parse(FILTER_WORDS[word][0]), Filter)


def test_the_page_about_the_queue_has_the_words_of_the_parser() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| (.+) \|$", _PAGE.read_text("utf-8"), re.MULTILINE)
    assert {word: (example, meaning) for word, example, meaning in rows} == FILTER_WORDS

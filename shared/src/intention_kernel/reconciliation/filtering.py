"""The one parser of filters (design 7): text of people to a Filter, and back.

`status:open,failed -provider:stripe owner:me age>2h "free words"`: terms with spaces between them, all of which must hold. A
value with spaces, commas or quotes stands in double quotes, with a backslash before a quote or a backslash.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from intention_kernel.ports.queue_filter import (
    CLOSED_FIELDS,
    NUMBER_FIELDS,
    TEXT_FIELDS,
    ClosedField,
    Compares,
    Comparison,
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
from intention_kernel.reconciliation.filter_words import FILTER_WORDS

LONGEST_QUERY = 2_000
"""Characters of a query."""

MOST_VALUES = 100
"""Of all terms of a query together; a free text is one, and so is a bound. Each is a condition for the store."""

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SPANS = ("age", "window")
_HEAD = re.compile(r'(-?)([^\s":<>=,]*)(<=|>=|[:<>=])')
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_BARE = re.compile(r'[^\s",]+')
_FREE = re.compile(r'[^\s":<>=]+')
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?")


@dataclass(frozen=True, slots=True)
class FilterProblem:
    """Why a text is no filter: the first place (characters from 0), words, and the nearest thing that is known."""

    position: int
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        hint = "" if self.suggestion is None else f"; did you mean {self.suggestion!r}?"
        return f"at character {self.position + 1}: {self.message}{hint}"


@dataclass(frozen=True, slots=True)
class _Text:
    """A value as it was written."""

    text: str
    position: int
    quoted: bool = False


class _NotAFilterError(Exception):
    def __init__(self, position: int, message: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.problem = FilterProblem(position, message, suggestion)


def parse(query: str) -> Filter | FilterProblem:
    """Total: whatever the text is."""
    if len(query) > LONGEST_QUERY:
        return FilterProblem(LONGEST_QUERY, f"a filter has at most {LONGEST_QUERY} characters")
    odd = _UNSTORABLE.search(query)
    if odd is not None:
        return FilterProblem(odd.start(), "a character that no stored text has")
    try:
        return Filter(tuple(_terms(query)))
    except _NotAFilterError as error:
        return error.problem


def _terms(query: str) -> Iterator[Term]:
    position, room = _after_spaces(query, 0), MOST_VALUES
    while position < len(query):
        term, end = _term(query, position)
        if end < len(query) and not query[end].isspace():
            raise _NotAFilterError(end, f"a space is missing before {query[end]!r}; quote what holds such characters")
        room -= _size(term)
        if room < 0:
            raise _NotAFilterError(position, f"a filter has at most {MOST_VALUES} values")
        yield term
        position = _after_spaces(query, end)


def _size(term: Term) -> int:
    match term:
        case IsOneOf(values=values):
            return len(values)
        case IsOwnedBy(owners=owners):
            return len(owners)
        case Compares() | HasTitle():
            return 1


def _after_spaces(query: str, position: int) -> int:
    while position < len(query) and query[position].isspace():
        position += 1
    return position


def _term(query: str, start: int) -> tuple[Term, int]:
    head = _HEAD.match(query, start)
    if head is None:
        return _free(query, start)
    sign, word, operator = head.groups()
    at = start + len(sign)
    negated = sign == "-"
    if word not in FILTER_WORDS:
        raise _NotAFilterError(at, f"{word!r} is no word of a filter", _nearest(word, FILTER_WORDS))
    if word in NUMBER_FIELDS:
        return _comparison(query, head.end(), cast("NumberField", word), operator, negated=negated)
    if operator != ":":
        raise _NotAFilterError(head.end() - len(operator), f"{word} takes a colon", FILTER_WORDS[word][0])
    values, end = _values(query, head.end(), word)
    return _named(word, values, negated=negated), end


def _free(query: str, start: int) -> tuple[Term, int]:
    negated = query[start] == "-"
    at = start + negated
    found, end = _value(query, at, _FREE)
    if found is None:
        raise _NotAFilterError(at, _why_no_value(query, at, "a word or a quoted text"))
    if not found.text:
        raise _NotAFilterError(at, "an empty text is in every title")
    return HasTitle(found.text, negated), end


def _values(query: str, start: int, word: str) -> tuple[list[_Text], int]:
    values: list[_Text] = []
    position = start
    while True:
        found, end = _value(query, position, _BARE)
        if found is None:
            raise _NotAFilterError(
                position, _why_no_value(query, position, f"a value of {word}"), FILTER_WORDS[word][0]
            )
        values.append(found)
        if end >= len(query) or query[end] != ",":
            return values, end
        position = end + 1


def _value(query: str, position: int, bare: re.Pattern[str]) -> tuple[_Text | None, int]:
    quoted = _QUOTED.match(query, position)
    if quoted is not None:
        return _Text(re.sub(r"\\(.)", r"\1", quoted[1]), position, quoted=True), quoted.end()
    found = bare.match(query, position)
    if found is None:
        return None, position
    return _Text(found[0], position), found.end()


def _why_no_value(query: str, position: int, wanted: str) -> str:
    if query[position : position + 1] == '"':
        return "the quote is not closed; inside of it only a quote and a backslash have a backslash before them"
    return f"{wanted} is missing"


def _named(word: str, values: list[_Text], *, negated: bool) -> Term:
    if word == "owner":
        return IsOwnedBy(tuple(map(_owner, values)), negated)
    if word in TEXT_FIELDS:
        return IsOneOf(word, tuple(value.text for value in values), negated)
    known = CLOSED_FIELDS[cast("ClosedField", word)]
    for value in values:
        if value.text not in known:
            raise _NotAFilterError(
                value.position,
                f"{word} has no value {value.text!r}; it is one of {', '.join(known)}",
                _nearest(value.text, known),
            )
    return IsOneOf(cast("ClosedField", word), tuple(value.text for value in values), negated)


def _owner(value: _Text) -> Owner:
    """A person who is called `me` is written in quotes."""
    if value.quoted:
        return value.text
    match value.text:
        case "me":
            return Me()
        case "none":
            return Nobody()
        case name:
            return name


def _comparison(query: str, start: int, word: NumberField, operator: str, *, negated: bool) -> tuple[Term, int]:
    if operator not in ("<", "<=", ">", ">="):
        raise _NotAFilterError(start - 1, f"{word} takes <, <=, > or >=", FILTER_WORDS[word][0])
    found, end = _value(query, start, _BARE)
    bound = None if found is None else _bound(word, found.text)
    if bound is None:
        wanted = "a whole number with s, m, h or d" if word in _SPANS else "a number"
        raise _NotAFilterError(start, f"{word} takes {wanted}", FILTER_WORDS[word][0])
    return Compares(word, cast("Comparison", operator), bound, negated), end


def _bound(word: NumberField, text: str) -> Decimal | None:
    if word in _SPANS:
        span = _SPAN.fullmatch(text)
        return None if span is None else Decimal(int(span[1]) * _SECONDS[span[2]])
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _nearest(word: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return near[0] if near else None


def text_of(query: Filter) -> str:
    """Text that `parse` reads as this filter."""
    return " ".join(f"{'-' if term.negated else ''}{_words(term)}" for term in query.terms)


def _words(term: Term) -> str:
    match term:
        case IsOneOf(field=field, values=values):
            return f"{field}:{','.join(map(_bare_or_quoted, values))}"
        case IsOwnedBy(owners=owners):
            return f"owner:{','.join(map(_owner_text, owners))}"
        case Compares(field=field, comparison=comparison, bound=bound):
            return f"{field}{comparison}{_span(int(bound)) if field in _SPANS else f'{bound:f}'}"
        case HasTitle(text=text):
            return _quoted(text)


def _owner_text(owner: Owner) -> str:
    match owner:
        case Me():
            return "me"
        case Nobody():
            return "none"
        case str():
            return _quoted(owner) if owner in ("me", "none") else _bare_or_quoted(owner)


def _bare_or_quoted(text: str) -> str:
    return text if _BARE.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _span(seconds: int) -> str:
    """In the largest unit that loses nothing."""
    size, unit = next((size, unit) for unit, size in _SECONDS.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"

"""Small rules that many members of a definition share: identifiers, counts, words of a closed list, texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from math import isfinite
from typing import Final

from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.errors import CompileProblem

_IDENTIFIER: Final = re.compile(r"[a-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*\Z")


def is_identifier(value: str) -> bool:
    """Whether `value` may be the id of an agent, a capability or a policy, or the type of a fact.

    Lower-case first, letters and digits in parts that one dot, hyphen or underscore separates; 200 characters at most.
    """
    return _IDENTIFIER.match(value) is not None and identifier_problem(value) is None


def identifier_problems(place: str, value: str) -> Iterator[CompileProblem]:
    """INVALID_IDENTIFIER where `value` is none."""
    if not is_identifier(value):
        yield CompileProblem(
            "INVALID_IDENTIFIER",
            place,
            f"{value!r} is no identifier: write letters and digits, lower-case first, with single dots, hyphens or "
            "underscores between them, such as hotel.book-room",
        )


def word_problems(place: str, value: object, words: Iterable[str]) -> Iterator[CompileProblem]:
    """UNKNOWN_WORD where `value` is not one of a closed list."""
    known = tuple(words)
    if value not in known:
        yield CompileProblem(
            "UNKNOWN_WORD", place, f"{value!r} is unknown{meant(str(value), known)}; write one of {', '.join(known)}"
        )


def is_count(value: object, *, at_least: int = 1, at_most: int | None = None) -> bool:
    """Whether `value` is a whole number (and no bool) in these bounds."""
    return type(value) is int and value >= at_least and (at_most is None or value <= at_most)


def is_seconds(value: object) -> bool:
    """Whether `value` is a finite number of seconds above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0


def is_text(value: object, *, at_most: int | None = None) -> bool:
    """Whether `value` is a string that is not blank, and no longer than that (code points)."""
    return isinstance(value, str) and bool(value.strip()) and (at_most is None or len(value) <= at_most)


def twice(values: Iterable[str]) -> tuple[str, ...]:
    """The values that occur more than once, each once, in the order of their second occurrence."""
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for value in values:
        if value in seen:
            repeated[value] = None
        seen.add(value)
    return tuple(repeated)


def meant(value: str, known: Iterable[str]) -> str:
    """` (did you mean x?)`, or nothing."""
    near = get_close_matches(value, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""

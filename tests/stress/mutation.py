"""One rule switched off: what text is replaced, and which tests have to fail then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """In this file (from the root of the checkout) `old`, which is there once, becomes `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule that does not hold any more, and the tests that know it; each of them has to fail.

    `rule` is the protocol's number, or the invariant's where the protocol has none. Names are unique over all tables.
    """

    name: str
    rule: str
    without: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def function(name: str, old: str, new: str) -> Edit:
    """An edit of a database function."""
    return Edit(f"shared/src/intention_kernel/postgres/migrations/sql/functions/{name}_v1.sql", old, new)

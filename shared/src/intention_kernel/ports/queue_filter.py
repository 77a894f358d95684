"""What people may ask of the operator queue: a filter as a value, read from text by `reconciliation.filtering`.

A filter is a conjunction: an item is shown where every term holds. A negated term holds exactly where it would not.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

StatusWord = Literal["open", "decided", "failed", "done", "uncertain", "contradicted"]
KindWord = Literal["effect", "orphaned"]
SnoozedWord = Literal["yes", "no", "any"]
CauseWord = Literal[
    "prepare",
    "completed",
    "failed",
    "uncertain",
    "scan",
    "commit",
    "retry",
    "restore",
    "recover",
    "found_prepared",
    "settle",
    "late_answer",
    "contradicted",
    "contested",
    "contest",
]
TextField = Literal["provider", "effect", "agent", "thread", "turn", "tenant", "currency", "receipt"]
NumberField = Literal["age", "window", "amount", "blocks"]
Comparison = Literal["<", "<=", ">", ">="]

ClosedField = Literal["status", "kind", "cause", "snoozed"]
CLOSED_FIELDS: dict[ClosedField, tuple[str, ...]] = {
    "status": get_args(StatusWord),
    "kind": get_args(KindWord),
    "cause": get_args(CauseWord),
    "snoozed": get_args(SnoozedWord),
}
"""Words whose values are all known."""
TEXT_FIELDS: tuple[TextField, ...] = get_args(TextField)
NUMBER_FIELDS: tuple[NumberField, ...] = get_args(NumberField)


@dataclass(frozen=True, slots=True)
class IsOneOf:
    """`status:open,failed`, `provider:stripe`: the member is one of the values, byte for byte.

    `status:uncertain` and `status:contradicted` are open items by what is known of their receipt; `open` is both and every
    other open item.
    """

    field: ClosedField | TextField
    values: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Me:
    """The reader."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """No claim, or one that is over."""


Owner = Me | Nobody | str


@dataclass(frozen=True, slots=True)
class IsOwnedBy:
    """`owner:me,none,ben`: who holds a claim that is not over."""

    owners: tuple[Owner, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Compares:
    """`age>2h`, `amount<=100`: a number against a bound. `age` and `window` are whole seconds.

    What has no amount, or whose provider keeps no key, compares with nothing.
    """

    field: NumberField
    comparison: Comparison
    bound: Decimal
    negated: bool = False


@dataclass(frozen=True, slots=True)
class HasTitle:
    """Free words: the title holds this text; the case of the letters A to Z does not matter."""

    text: str
    negated: bool = False


Term = IsOneOf | IsOwnedBy | Compares | HasTitle


@dataclass(frozen=True, slots=True)
class Filter:
    """All of these; none: everything."""

    terms: tuple[Term, ...] = ()


def leaves_out_done(query: Filter) -> bool:
    """Whether no item that is done can match: what is not done is listed from an index of its own."""
    statuses = [term for term in query.terms if isinstance(term, IsOneOf) and term.field == "status"]
    return any(("done" in term.values) == term.negated for term in statuses)


def is_narrow(query: Filter) -> bool:
    """Whether it names threads or receipts, whose few items are found by their keys."""
    return any(
        isinstance(term, IsOneOf) and term.field in ("thread", "receipt") and not term.negated for term in query.terms
    )

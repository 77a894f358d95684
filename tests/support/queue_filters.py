"""Filters of the queue as Hypothesis draws them."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st
from intention_kernel.ports.queue_filter import (
    CLOSED_FIELDS,
    TEXT_FIELDS,
    Compares,
    Comparison,
    Filter,
    HasTitle,
    IsOneOf,
    IsOwnedBy,
    Me,
    Nobody,
    Term,
)

_COMPARISONS: st.SearchStrategy[Comparison] = st.sampled_from(["<", "<=", ">", ">="])
_STORABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
_TEXTS = st.text(_STORABLE, max_size=8)
_SPANS = st.builds(
    lambda number, size: Decimal(number * size), st.integers(0, 999_999), st.sampled_from([1, 60, 3_600, 86_400])
).filter(lambda seconds: seconds < 10**11)
_AMOUNTS = st.decimals(-(10**9), 10**9, places=2)


def filters(
    texts: st.SearchStrategy[str] = _TEXTS, spans: st.SearchStrategy[Decimal] = _SPANS
) -> st.SearchStrategy[Filter]:
    """Of up to four terms; `texts` are the values that words of free choice get, `spans` seconds."""
    return st.builds(lambda terms: Filter(tuple(terms)), st.lists(_terms(texts, spans), max_size=4))


def _terms(texts: st.SearchStrategy[str], spans: st.SearchStrategy[Decimal]) -> st.SearchStrategy[Term]:
    negated = st.booleans()
    closed = st.one_of(
        *(
            st.builds(
                IsOneOf, st.just(field), st.lists(st.sampled_from(words), min_size=1, max_size=3).map(tuple), negated
            )
            for field, words in CLOSED_FIELDS.items()
        )
    )
    named = st.builds(
        IsOneOf, st.sampled_from(TEXT_FIELDS), st.lists(texts, min_size=1, max_size=3).map(tuple), negated
    )
    owner = st.one_of(st.just(Me()), st.just(Nobody()), texts, st.sampled_from(["me", "none"]))
    owned = st.builds(IsOwnedBy, st.lists(owner, min_size=1, max_size=3).map(tuple), negated)
    spanned = st.builds(Compares, st.sampled_from(["age", "window"]), _COMPARISONS, spans, negated)
    counted = st.builds(Compares, st.just("blocks"), _COMPARISONS, st.integers(-1, 4).map(Decimal), negated)
    priced = st.builds(Compares, st.just("amount"), _COMPARISONS, _AMOUNTS, negated)
    titled = st.builds(HasTitle, texts.filter(bool), negated)
    return st.one_of(closed, named, owned, spanned, counted, priced, titled)

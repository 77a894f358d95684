"""Shapes: made of names, lengths and nothing else that a value holds."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.json_codec import MAX_DEPTH, JsonValue, dumps
from intention_kernel.reconciliation.masking import DEEPEST, MOST_ELEMENTS, masked
from intention_kernel.reconciliation.masking_documents import (
    masked_event,
    masked_given_up,
    masked_item,
    masked_shown,
    masked_thread,
    masked_trace,
    masked_turn,
)

Document = dict[str, JsonValue]

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=30,
)
# Nothing of these alphabets is in the words of a shape, so that one found anywhere was let through.
_SECRETS = st.text("ØßΔЖ中", min_size=3) | st.integers(10**9, 10**12)
SECRET_VALUES = st.recursive(
    _SECRETS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=20,
)
MASKS = [masked_shown, masked_item, masked_thread, masked_turn, masked_event, masked_given_up, masked_trace]
MEMBERS = [
    "payload", "value", "hostContext", "checkpoint", "request", "result", "data", "detail", "record", "input", "items",
    "observations", "decisions", "events", "setAside", "tree", "comparison", "anything",
]  # fmt: skip


def _leaves(value: JsonValue) -> list[JsonValue]:
    match value:
        case list():
            return [leaf for element in value for leaf in _leaves(element)]
        case dict():
            return [leaf for element in value.values() for leaf in _leaves(element)]
        case _:
            return [value]


def _other(value: JsonValue) -> JsonValue:
    """Another value of the same shape: other letters, other numbers."""
    match value:
        case bool() | None:
            return value
        case str():
            return "".join("y" if letter == "x" else "x" for letter in value)
        case int() | float():
            return 7 if value != 7 else 8
        case list():
            return [_other(element) for element in value]
        case dict():
            return {name: _other(element) for name, element in value.items()}


@given(VALUES)
def test_values_of_one_shape_are_masked_alike(value: JsonValue) -> None:
    """So nothing but the shape can be read from it. It is JSON, and masking it once more lets nothing else through."""
    shown = masked(value)
    assert shown == masked(_other(value))
    dumps(masked(shown))


@given(SECRET_VALUES)
def test_no_text_and_no_number_of_a_value_is_in_a_masked_document(value: JsonValue) -> None:
    """Whatever member it stands in, one that no document has among them."""
    leaves = {str(leaf) for leaf in _leaves(value)}
    for content in (value, [value], {"x": value}, [{"value": value, "detail": value}]):
        document: Document = {"title": "ours", **{member: cast("JsonValue", content) for member in MEMBERS}}
        for mask in MASKS:
            shown = json.dumps(mask(document), ensure_ascii=False)
            assert not [leaf for leaf in leaves if leaf in shown]


def test_what_a_shape_looks_like() -> None:
    value: JsonValue = {"name": "Ada Lovelace", "n": 12.5, "yes": True, "no": None, "list": ["", "x", [1]], "of": {}}
    assert masked(value) == {
        "name": "text of 12 characters",
        "n": "a number",
        "yes": True,
        "no": None,
        "list": ["text of 0 characters", "text of 1 character", ["a number"]],
        "of": {},
    }


def test_long_lists_and_large_objects_say_how_many_more_there_are() -> None:
    shown = masked([1] * (MOST_ELEMENTS + 5))
    assert isinstance(shown, list)
    assert (len(shown), shown[-1]) == (MOST_ELEMENTS + 1, "and 5 more")
    named = masked({f"n{number}": number for number in range(MOST_ELEMENTS + 2)})
    assert isinstance(named, dict)
    assert (len(named), named["…"]) == (MOST_ELEMENTS + 1, "and 2 more")
    assert masked([1] * MOST_ELEMENTS) == ["a number"] * MOST_ELEMENTS


def test_what_is_as_deep_as_anything_stored_is_masked_to_a_depth() -> None:
    value: JsonValue = "secret"
    for _ in range(MAX_DEPTH):
        value = [value]
    shown = masked(value)
    for _ in range(DEEPEST):
        assert isinstance(shown, list)
        [shown] = shown
    assert shown == "more, too deep to show"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("the effect has no way to ask its provider", "the effect has no way to ask its provider"),
        ("needs a person: the lookup failed: card 4242", "needs a person: the lookup failed: [text of 9 characters]"),
        ("the provider has it, but 4242 is no text", "the provider has it, but [text of 15 characters]"),
        ("it is in the bank's list: 12 EUR", "it is in the bank's list: 12 EUR"),
    ],
)
def test_of_reasons_what_they_quote_is_masked_and_peoples_words_stay(reason: str, shown: str) -> None:
    assert masked_item({"reason": reason}) == {"reason": shown}
    assert masked_shown({"decisions": [{"reason": reason}]}) == {"decisions": [{"reason": shown}]}
    assert masked_item({"reason": reason}, words=True) == {"reason": reason}
    assert masked_shown({"items": [{"reason": reason}]}, words=True) == {"items": [{"reason": reason}]}
    assert masked_shown({"decisions": [{"reason": reason}]}, words=True) == {"decisions": [{"reason": reason}]}


def test_of_a_receipt_the_effects_own_words_and_references_stay() -> None:
    document: Document = {
        "title": "Charge 12 EUR",
        "provider": "acme",
        "amount": "12",
        "currency": "EUR",
        "reference": "re_3Q",
        "payload": {"card": "4242"},
        "observations": [{"finding": "found", "detail": "card 4242", "value": {"c": "4242"}, "reference": "re_3Q"}],
        "notes": [{"text": "the customer called"}],
    }
    shown = masked_shown(document)
    assert shown | {"payload": None, "observations": None} == document | {"payload": None, "observations": None}
    assert shown["payload"] == {"card": "text of 4 characters"}
    assert shown["observations"] == [
        {
            "finding": "found",
            "detail": "text of 9 characters",
            "value": {"c": "text of 4 characters"},
            "reference": "re_3Q",
        }
    ]
    worked_on = masked_shown(document, words=True)
    assert worked_on["observations"] == [
        {"finding": "found", "detail": "card 4242", "value": {"c": "text of 4 characters"}, "reference": "re_3Q"}
    ]
    assert worked_on | {"observations": None} == shown | {"observations": None}

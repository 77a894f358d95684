"""Redactions: what was named is in no text any more, and nothing else is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.redactions import REDACTED, Redactions

ALPHABET = st.text("ab[]redact", max_size=12)


@pytest.mark.parametrize(
    ("strings", "text", "shown"),
    [
        (("4111 1111",), "card 4111 1111, yes", f"card {REDACTED}, yes"),
        (("ab",), "ab is too short to be taken out", "ab is too short to be taken out"),
        (("Anna", "Anna Smith"), "Anna Smith and Anna", f"{REDACTED} and {REDACTED}"),
        (("12345", "45678"), "no 12345678!", f"no {REDACTED}!"),
        (("aaa",), "xaaaax", f"x{REDACTED}x"),
        (("secret", "act"), "secret act", f"{REDACTED} {REDACTED}"),
        ((), "nothing", "nothing"),
    ],
)
def test_a_text_loses_what_was_named(strings: tuple[str, ...], text: str, shown: str) -> None:
    assert Redactions.of(strings).text(text) == shown


def test_every_string_of_a_value_is_redacted_and_names_and_numbers_stay() -> None:
    value: JsonValue = {"guest": ["Anna Smith", 12345], "Anna": {"x": "call Anna"}, "n": None, "b": True}
    redacted = Redactions.of(["Anna", "12345"]).value(value)
    assert redacted == {"guest": [f"{REDACTED} Smith", 12345], "Anna": {"x": f"call {REDACTED}"}, "n": None, "b": True}


def test_more_redactions_keep_the_earlier_ones() -> None:
    assert Redactions.of(["Anna"]).plus(["Smith!"]).text("Anna Smith!") == f"{REDACTED} {REDACTED}"


@given(st.lists(st.text("ab", min_size=3, max_size=6), max_size=4), ALPHABET)
def test_nothing_named_is_left_and_twice_is_the_same_as_once(strings: list[str], text: str) -> None:
    redactions = Redactions.of(strings)
    once = redactions.text(text)
    assert not any(string in once.replace(REDACTED, "|") for string in strings)
    assert redactions.text(once) == once


@given(st.lists(ALPHABET, max_size=4), ALPHABET)
def test_redacting_twice_changes_nothing_even_for_parts_of_the_placeholder(strings: list[str], text: str) -> None:
    redactions = Redactions.of(strings)
    once = redactions.text(text)
    assert redactions.text(once) == once or any(mark in "".join(strings) for mark in "[]")

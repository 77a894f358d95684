"""Digests are stored and compared for years: the canonical form is pinned, and equal values have one."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intention_kernel.contracts.digest import canonical_bytes, digest, payload_fingerprint, same_json
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import JsonError

names = st.text(max_size=4) | st.sampled_from(["\uffff", "\U0001f600", "\ud800", "é", "e\u0301", "a", "A", "\0", ""])
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names
    | st.sampled_from([0, -0.0, 1, 1.0, True, 1e22, 10**22, 1e23, 10**23, 2**53 + 1, float(2**53)])
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)

VECTORS: list[tuple[JsonValue, bytes]] = [
    (None, b"null"),
    (True, b"true"),
    (1, b"1"),
    (1.0, b"1"),
    (-0.0, b"0"),
    (2.5, b"2.5"),
    (1e-7, b"1e-07"),
    (0.00001, b"1e-05"),
    (1e16, b"10000000000000000"),
    (1e23, b"99999999999999991611392"),
    (5e-324, b"5e-324"),
    (2**64, b"18446744073709551616"),
    ([], b"[]"),
    ({}, b"{}"),
    ('"\\/\b\f\n\r\t\x00\x1f\x7f', b'"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f"'),
    ("é\u2028😀", '"é\u2028😀"'.encode()),
    ("\ud83d\\ud83d", b'"\\ud83d\\\\ud83d"'),
    ({"b": [1, {"d": 0, "c": "x y"}], "a": None}, b'{"a":null,"b":[1,{"c":"x y","d":0}]}'),
    # By code point: U+FFFF comes before U+1F600, which UTF-16 would put first.
    ({"😀": 1, "\uffff": 2, "é": 3, "z": 4, "Z": 5, "": 6}, '{"":6,"Z":5,"z":4,"é":3,"\uffff":2,"😀":1}'.encode()),
    ({"\ud800": 1, "\ue000": 2}, b'{"\\ud800":1,"\xee\x80\x80":2}'),
]

FAN7: JsonValue = {"sku": "FILTER-A", "quantity": 2}


@pytest.mark.parametrize(("value", "expected"), VECTORS, ids=[ascii(value) for value, _ in VECTORS])
def test_the_canonical_form_is_pinned(value: JsonValue, expected: bytes) -> None:
    assert canonical_bytes(value) == expected
    assert digest(value) == sha256(expected).digest()


def test_the_digests_of_known_values_are_pinned() -> None:
    assert digest({}).hex() == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest(FAN7).hex() == "5f31646081ddec08f6e555dc33004f0f699588306cfda11526bf2470f47901d8"
    assert payload_fingerprint(FAN7).hex() == "ea5b0f803c930bb09e0f7db91e0a0b2e7e8f85f749503119f4d0cfa4a795b123"


def equal(left: object, right: object) -> bool:
    """Equality of JSON values: numbers by their value, true and false are no numbers, members in any order."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return left == right


@settings(max_examples=250)
@given(values, values)
def test_two_values_have_one_canonical_form_exactly_if_they_are_equal(left: JsonValue, right: JsonValue) -> None:
    assert (canonical_bytes(left) == canonical_bytes(right)) == equal(left, right)


def respelled(value: JsonValue, chance: random.Random) -> JsonValue:
    """The same value with members in another order and whole numbers spelled the other way where that is exact."""
    if isinstance(value, dict):
        return {name: respelled(value[name], chance) for name in chance.sample(list(value), len(value))}
    if isinstance(value, list):
        return [respelled(item, chance) for item in value]
    if type(value) is int and abs(value) <= 2**53:
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


@settings(max_examples=100)
@given(values, st.randoms(use_true_random=False))
def test_order_of_members_and_spelling_of_numbers_change_no_digest(value: JsonValue, chance: random.Random) -> None:
    other = respelled(value, chance)
    assert digest(other) == digest(value)
    assert payload_fingerprint(other) == payload_fingerprint(value)


@settings(max_examples=100)
@given(values)
def test_the_canonical_form_is_json_of_an_equal_value_and_survives_the_codec(value: JsonValue) -> None:
    canonical = canonical_bytes(value)
    assert equal(json.loads(canonical), value)
    assert canonical_bytes(loads(dumps(value))) == canonical
    assert canonical_bytes(loads(canonical)) == canonical


@settings(max_examples=50)
@given(values)
def test_a_fingerprint_is_no_digest(value: JsonValue) -> None:
    assert len(digest(value)) == len(payload_fingerprint(value)) == 32
    assert digest(value) != payload_fingerprint(value)


@pytest.mark.parametrize("of", [canonical_bytes, digest, payload_fingerprint])
def test_what_json_cannot_hold_has_no_digest(of: object) -> None:
    with pytest.raises(JsonError) as caught:
        of({"a": [float("nan")]})  # type: ignore[operator]
    assert caught.value.path == "/a/0"


def test_a_digest_is_the_same_in_another_process_with_other_hash_seeds() -> None:
    script = (
        "from intention_kernel.contracts.digest import payload_fingerprint as f\n"
        "print(f({name: 1.5 for name in {'b', 'a', 'é', '\\ud800', '😀'}}).hex())"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"}
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == payload_fingerprint(dict.fromkeys(["\ud800", "a", "é", "😀", "b"], 1.5)).hex()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, True),
        (1, True, False),
        (0, False, False),
        ([{"yes": True}], [{"yes": 1}], False),
        ("1", 1, False),
        (None, "", False),
        ([1, 2], [2, 1], False),
    ],
)
def test_values_are_the_same_as_json_and_not_as_python(one: object, other: object, same: bool) -> None:
    """A yes is true and not 1: an answer is compared with options in this way alone."""
    assert same_json(one, other) is same

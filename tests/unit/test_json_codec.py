"""The lossless codec against the standard library: nothing changes silently, and what would is refused with its place."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import random
import struct
import sys
import uuid
from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise
from types import MappingProxyType

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from intention_kernel.contracts import json_codec
from intention_kernel.contracts.json_codec import MAX_DEPTH, MAX_INTEGER_DIGITS, JsonValue, check, dumps, loads
from intention_kernel.errors import JsonError

# --- values and texts ------------------------------------------------------------------------------------------------


def is_whole(text: str) -> bool:
    """Whether no surrogate pair stands in the text as two code points, which JSON cannot express."""
    return not any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in pairwise(text))


strings = st.text(st.characters(exclude_categories=()), max_size=12).filter(is_whole) | st.sampled_from(
    ["", "\0", "\ud800", "\udfff\ud800", "é\u2028\x7f", '"\\/\b\f\n\r\t', "[{:,}]", "\U0010ffff", "\ufeff", "a\\u003ab"]
)
integers = st.integers() | st.sampled_from(
    [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400, 2**53 + 1]
)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 1e16, 1e22, 5e-324, 1e-7, 0.1 + 0.2])
scalars = st.none() | st.booleans() | integers | floats | strings
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(strings, inner, max_size=5), max_leaves=25
)


def same(left: object, right: object) -> bool:
    """Equality that tells 1 from 1.0 and from True, 0.0 from -0.0, and one order of members from another."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return same(list(left), list(right)) and same(list(left.values()), list(right.values()))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("d", left) == struct.pack("d", right)
    return left == right


class Refused(Exception):
    """What the reference does not admit."""


def reference_loads(raw: bytes) -> object:
    """The standard library, made strict, and nothing else."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refused("duplicate")
        return dict(pairs)

    def real(text: str) -> float:
        if math.isinf(float(text)):
            raise Refused("out of range")
        return float(text)

    def constant(text: str) -> float:
        raise Refused(text)

    try:
        text = raw.decode("utf-8")
        return json.loads(text, object_pairs_hook=members, parse_float=real, parse_constant=constant)
    except ValueError as error:
        raise Refused(str(error)) from error


def admitted(read: Callable[[bytes], object], raw: bytes) -> tuple[bool, object]:
    try:
        return True, read(raw)
    except (Refused, JsonError):
        return False, None


def nested(depth: int, innermost: str = "") -> str:
    return "[" * depth + innermost + "]" * depth


def refusal(call: Callable[[], object]) -> JsonError:
    with pytest.raises(JsonError) as caught:
        call()
    return caught.value


SPELLED = [
    "-0",
    "-0.0",
    "1e400",
    "1E5",
    "1.50",
    "0.1e-7",
    "18446744073709551616",
    "-9223372036854775809",
    "1e-400",
    "7",
]
WRONG = ["NaN", "-Infinity", "01", "1.", "+1", "tru", "", "[", '"', '"\\x"', "{}}"]
PIECES = [
    *["a", ":", "{", "]", "é", "\U0001f600", "\x7f", "\ufeff", "\\u0000", "\\ud83d", "\\ude00", "\\ud83d\\ude00"],
    *["\\uD83D\\uDE00", "\\u003a", "\\u0061", "\\/", "\\n", "\\\\", '\\"'],
]
DAMAGE = [b"", b'"', b"\\", b"\xff", b"\xed\xa0\x80", b"]", b",", b"\0", b"-", b" ", b"\xef\xbb\xbf"]


class UglyTexts:
    """JSON in every spelling that somebody may send; a Hypothesis strategy of the same took 20 times as long."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, room: int = 3) -> str:
        kind = self.random.randrange(10 if room else 6)
        if kind < 2:
            return self.number()
        if kind < 4:
            return self.string()
        if kind < 6:
            return self.random.choice(["true", "false", "null", self.random.choice(WRONG) if kind == 5 else "0"])
        if kind < 8:
            return self.joined("[]", [self.value(room - 1) for _ in range(self.random.randrange(4))])
        return self.joined("{}", [self.member(room - 1) for _ in range(self.random.randrange(4))])

    def number(self) -> str:
        digits = str(self.random.getrandbits(self.random.choice([3, 53, 62, 63, 64, 65, 80])))
        sign = self.random.choice(["", "-"])
        tail = self.random.choice(["", "", ".0", ".5", "e3", "E+300", "e-20", ".25E308"])
        return self.random.choice(
            [sign + digits + tail, repr(self.random.uniform(-1e3, 1e3)), self.random.choice(SPELLED)]
        )

    def string(self) -> str:
        return '"' + "".join(self.random.choices(PIECES, k=self.random.randrange(4))) + '"'

    def member(self, room: int) -> str:
        return f"{self.string()}{self.space()}:{self.space()}{self.value(room)}"

    def joined(self, brackets: str, parts: list[str]) -> str:
        return brackets[0] + self.space() + f"{self.space()},{self.space()}".join(parts) + self.space() + brackets[1]

    def space(self) -> str:
        return self.random.choice(["", "", "", "", " ", "\t", "\r\n"])

    def damaged(self) -> bytes:
        raw = bytearray(self.value().encode())
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(raw) + 1)
            raw[at : at + self.random.randrange(3)] = self.random.choice(DAMAGE)
        return bytes(raw)


def agrees_with_the_reference(raw: bytes) -> bool:
    """Whether ours and the reference both read the same value or both refuse; returns whether they read it."""
    (read, ours), (reference_read, theirs) = admitted(loads, raw), admitted(reference_loads, raw)
    assert read == reference_read, raw
    assert same(ours, theirs), raw
    assert not read or same(loads(dumps(ours)), ours), raw
    return read


# --- round trips -----------------------------------------------------------------------------------------------------


@settings(max_examples=250)
@given(values)
@example({"b": [1, 1.0, True, -0.0, None], "a": {"\0": "\ud800", "": 2**64}})
@example([18446744073709551616, "\udfff\ud800"])
def test_every_value_comes_back_with_its_types_its_order_and_its_bits(value: JsonValue) -> None:
    assert same(loads(dumps(value)), value)


@settings(max_examples=100)
@given(values)
def test_what_is_dumped_is_compact_utf8_that_the_standard_library_reads_as_the_same_value(value: JsonValue) -> None:
    raw = dumps(value)
    assert same(json.loads(raw.decode("utf-8")), value)
    outside = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode(json.loads(raw))
    assert sum(map(outside.count, " \n\t")) == sum(map(raw.decode().count, " \n\t"))


@settings(max_examples=100)
@given(values, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_what_the_standard_library_writes_is_read_as_the_same_value(
    value: JsonValue, ascii_only: bool, indent: int | str | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    raw = text.encode("utf-8", "backslashreplace")
    assert same(loads(raw), value)
    assert same(loads(raw.decode()), value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"a":2,"b":":"}',
        '{"a":{"b":1,"\\u0062":1}}',
        '[{"a":1,":":2},{"\\u003a":0,":":0}]',
        '{"a":{},"a":{"x":1}}',
        "[18446744073709551616]",
        '"\\ud83d\\ud83d\\ude00"',
        "-0",
        "[1E5,1.0e+2,1e16,1e22,100000000000000000000.0]",
    ],
)
def test_a_text_that_orjson_would_change_is_read_or_refused_as_by_the_strict_standard_library(text: str) -> None:
    agrees_with_the_reference(text.encode())


@settings(max_examples=100)
@given(st.integers(0, 2**64))
def test_texts_in_every_spelling_are_read_or_refused_as_by_the_strict_standard_library(seed: int) -> None:
    texts = UglyTexts(seed)
    for _ in range(40):
        agrees_with_the_reference(texts.value().encode())


def test_the_texts_in_every_spelling_are_neither_all_good_nor_all_bad() -> None:
    texts = UglyTexts(1)
    outcomes = [agrees_with_the_reference(texts.value().encode()) for _ in range(2000)]
    assert 0.3 < sum(outcomes) / len(outcomes) < 0.9


@settings(max_examples=100)
@given(st.integers(0, 2**64), st.binary(max_size=8))
def test_damaged_texts_are_read_or_refused_as_by_the_strict_standard_library(seed: int, noise: bytes) -> None:
    agrees_with_the_reference(noise)
    texts = UglyTexts(seed)
    for _ in range(40):
        agrees_with_the_reference(texts.damaged())


@settings(max_examples=80)
@given(values)
def test_the_fast_and_the_exact_way_agree_where_both_can_go(value: JsonValue) -> None:
    exact = json_codec._dumps_exactly(value)
    assert same(json_codec._loads_exactly(exact), value)
    fast = json_codec._dumps_fast(value)
    assert fast is None or same(json_codec._loads_exactly(fast), value)


def test_the_bytes_are_utf8_whatever_way_they_are_written() -> None:
    assert dumps(["é\u2028", 1]) == '["é\u2028",1]'.encode()
    assert dumps(["é\u2028", 2**64, "\ud800"]) == '["é\u2028",18446744073709551616,"\\ud800"]'.encode()


def test_an_ordinary_document_takes_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    value: JsonValue = {"text": "grüße: \0 {[", "n": [1, -0.5, 1e300, 2**64 - 1, True, None], "empty": [{}, []]}

    def slow(*_: object) -> None:
        raise AssertionError("went the slow way")

    monkeypatch.setattr(json_codec, "_loads_exactly", slow)
    monkeypatch.setattr(json_codec, "_dumps_exactly", slow)
    assert same(loads(dumps(value)), value)


# --- nesting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("innermost", ["", "1", "18446744073709551616", '"\\ud800"'])
def test_the_deepest_nesting_that_is_allowed_goes_both_ways(innermost: str) -> None:
    text = nested(MAX_DEPTH, innermost)
    assert dumps(loads(text)).decode() == text


@pytest.mark.parametrize("innermost", ["", "1", "18446744073709551616", '"\\ud800"'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 254, 255, 1025, 100_000])
def test_deeper_nesting_is_refused_when_it_is_read(depth: int, innermost: str) -> None:
    assert "nested deeper" in refusal(lambda: loads(nested(depth, innermost))).problem
    assert "nested deeper" in refusal(lambda: loads(nested(depth, innermost)[:-1])).problem
    assert "nested deeper" in refusal(lambda: loads('{"a":' * depth + "1" + "}" * depth)).problem


@pytest.mark.parametrize("innermost", [1, 2**64, "\ud800", None])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 255, 100_000])
def test_deeper_nesting_is_refused_when_it_is_written(depth: int, innermost: JsonValue) -> None:
    value = innermost
    for _ in range(depth):
        value = [value]
    for write in (dumps, check):
        error = refusal(lambda write=write: write(value))  # type: ignore[misc]
        assert "nested deeper" in error.problem
        assert error.path == "/0" * MAX_DEPTH


def test_many_brackets_that_are_not_deep_are_no_nesting() -> None:
    in_strings = ('["' + "[" * 500 + '",1e5,"\\\\"]', '["' + '[{\\"' * 500 + '",1e5]', '"' + '[{\\"' * 500 + '"')
    for text in ("[" + ",".join(["[{}]"] * 500) + "]", *in_strings):
        assert admitted(reference_loads, text.encode()) == admitted(loads, text.encode())
        assert dumps(loads(text))


def test_a_value_that_contains_itself_is_refused_where_it_does() -> None:
    loop: dict[str, object] = {"ok": 1}
    loop["again"] = [0, loop, loop]
    for write in (dumps, check):
        error = refusal(lambda write=write: write({"a": loop}))  # type: ignore[misc]
        assert (error.path, error.problem) == ("/a/again/1", "the value contains itself")


def test_a_value_that_is_used_twice_is_no_loop() -> None:
    shared: list[JsonValue] = [1, 2**70]
    assert dumps({"a": shared, "b": [shared]}) == b'{"a":[1,1180591620717411303424],"b":[[1,1180591620717411303424]]}'


# --- what is refused on the way in -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ('{"a":1,"a":1}', "/a", "more than once"),
        ('{"a": 1, "b": 2, "\\u0061": 1}', "/a", "more than once"),
        ('[{"x":{"k~/":1,"b":[],"k~/":2}}]', "/0/x/k~0~1", "more than once"),
        ('{"":{"":0,"":1}}', "//", "more than once"),
        ('{"a:b":{"c":1,"c":[":"]}}', "/a:b/c", "more than once"),
        ('{"a":[1,NaN]}', "/a/1", "NaN"),
        ("[Infinity]", "/0", "Infinity"),
        ("-Infinity", "", "Infinity"),
        ('{"a":{"b":[0,1e400]}}', "/a/b/1", "range of a float"),
        ("-1E+309", "", "range of a float"),
        ("1" * 400 + ".0", "", "range of a float"),
        ('{"n":' + "9" * (MAX_INTEGER_DIGITS + 1) + "}", "/n", "integer of"),
        ("\ufeff{}", "", "byte order mark"),
        ("\ud800", "", "bare surrogate"),
        ("", "", "Expecting value"),
        ("[1,]", "", "character"),
        ("[1] 2", "", "Extra data"),
        ('"\x01"', "", "control character"),
        ("'a'", "", "Expecting value"),
        ("/**/1", "", "Expecting value"),
        ("{a:1}", "", "property name"),
    ],
)
def test_a_text_that_is_not_lossless_json_is_refused_with_its_place(text: str, path: str, words: str) -> None:
    error = refusal(lambda: loads(text))
    assert error.path == path
    assert words in error.problem


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b'["ok","\xed\xa0\x80"]', "byte 7 is not UTF-8"),
        (b'"\xc0\xaf"', "byte 1 is not UTF-8"),
        (b"\xef\xbb\xbf1", "byte order mark"),
        ("[1]".encode("utf-16"), "not UTF-8"),
        ("[1]".encode("utf-32-le"), "Expecting value"),
    ],
)
def test_bytes_that_are_not_utf8_are_refused(raw: bytes, words: str) -> None:
    error = refusal(lambda: loads(raw))
    assert error.path == ""
    assert words in error.problem


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_the_longest_length_goes_both_ways_and_one_digit_more_neither(sign: str) -> None:
    longest = sign + "9" * MAX_INTEGER_DIGITS
    assert dumps(loads(longest)).decode() == longest
    too_long = int(longest) * 10
    assert refusal(lambda: dumps([0, too_long])).path == "/1"
    assert refusal(lambda: check({"a": too_long})).path == "/a"
    assert refusal(lambda: loads(f"[{longest}0]")).path == "/0"


def test_a_process_without_a_bound_of_digits_keeps_ours() -> None:
    usual, longest = sys.get_int_max_str_digits(), "9" * MAX_INTEGER_DIGITS
    sys.set_int_max_str_digits(0)
    try:
        assert dumps(loads(longest)).decode() == longest
        assert refusal(lambda: loads(f"[{longest}9]")).path == "/0"
        assert refusal(lambda: dumps([10**MAX_INTEGER_DIGITS])).path == "/0"
    finally:
        sys.set_int_max_str_digits(usual)


def test_a_process_with_a_lower_bound_of_digits_refuses_with_our_error() -> None:
    usual, long = sys.get_int_max_str_digits(), 10**1000
    sys.set_int_max_str_digits(640)
    try:
        assert refusal(lambda: loads(b"[" + b"1" * 1000 + b"]")).path == "/0"
        assert "digits" in refusal(lambda: dumps(long)).problem
    finally:
        sys.set_int_max_str_digits(usual)


# --- what is refused on the way out ----------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    A = "a"


class Text(str):
    __slots__ = ()


class Members(dict[str, int]):
    pass


class Row(list[int]):
    pass


class Ratio(float):
    pass


@dataclasses.dataclass
class Point:
    x: int = 1


FOREIGN: list[tuple[object, str]] = [
    (float("nan"), "nan is not a JSON number"),
    (float("inf"), "inf is not a JSON number"),
    (float("-inf"), "-inf is not a JSON number"),
    ((1, 2), "tuple would come back as list"),
    ((), "tuple would come back as list"),
    ({1, 2}, "set is not a JSON type"),
    (frozenset(), "frozenset is not a JSON type"),
    (b"bytes", "bytes is not a JSON type"),
    (bytearray(b"x"), "bytearray is not a JSON type"),
    (1j, "complex is not a JSON type"),
    (decimal.Decimal("1.0"), "Decimal is not a JSON type"),
    (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "datetime is not a JSON type"),
    (datetime.date(2026, 1, 1), "date is not a JSON type"),
    (datetime.time(1, 2), "time is not a JSON type"),
    (uuid.UUID(int=1), "UUID is not a JSON type"),
    (Colour.RED, "Colour is not a JSON type"),
    (Level.LOW, "Level would come back as int"),
    (Word.A, "Word would come back as str"),
    (Text("a"), "Text would come back as str"),
    (Members(a=1), "Members would come back as dict"),
    (OrderedDict(a=1), "OrderedDict would come back as dict"),
    (MappingProxyType({}), "mappingproxy is not a JSON type"),
    (Row([1]), "Row would come back as list"),
    (Ratio(1.5), "Ratio would come back as float"),
    (Point(), "Point is not a JSON type"),
    (Point, "type is not a JSON type"),
    (orjson.Fragment(b"1"), "Fragment is not a JSON type"),
    (..., "ellipsis is not a JSON type"),
    ("a\ud83d\ude00", "characters 1 and 2 are two halves of one"),
    ({1: 2}, "a member name is int, not str"),
    ({None: 2}, "a member name is NoneType, not str"),
    ({Text("a"): 2}, "a member name is Text, not str"),
    ({Word.A: 2}, "a member name is Word, not str"),
    ({"\ud83d\ude00": 2}, "characters 0 and 1 are two halves of one"),
]


@pytest.mark.parametrize(("foreign", "problem"), FOREIGN, ids=[repr(problem) for _, problem in FOREIGN])
def test_a_value_that_json_cannot_hold_is_refused_with_its_place(foreign: object, problem: str) -> None:
    for write in (dumps, check):
        for value, path in (
            (foreign, ""),
            ({"a": [0, foreign], "z": object()}, "/a/1"),
            ([2**64, {"x/~": foreign}], "/1/x~1~0"),
        ):
            error = refusal(lambda write=write, value=value: write(value))  # type: ignore[misc]
            assert (error.path, error.problem) == (path, problem)


@settings(max_examples=80)
@given(values, st.sampled_from([foreign for foreign, _ in FOREIGN]), st.data())
def test_one_foreign_value_anywhere_is_found(value: JsonValue, foreign: object, data: st.DataObject) -> None:
    """Replaces one leaf, chosen anywhere in the value, and expects exactly its path."""
    path = ""
    holder: dict[str, object] = {"top": value}
    place: object = holder
    while True:
        keys: list[str | int] = list(place) if isinstance(place, dict) else list(range(len(place)))  # type: ignore[arg-type]
        key = data.draw(st.sampled_from(keys))
        path += "/" + json_codec._segment(key)
        below = place[key]  # type: ignore[index]
        if not isinstance(below, (dict, list)) or not below:
            place[key] = foreign  # type: ignore[index]
            break
        place = below
    assert refusal(lambda: check(holder)).path == path
    assert refusal(lambda: dumps(holder)).path == path


@settings(max_examples=80)
@given(values)
def test_check_admits_what_can_be_dumped(value: JsonValue) -> None:
    check(value)


def test_a_path_is_safe_to_log_and_to_store_and_never_long() -> None:
    error = refusal(lambda: dumps({"a\0\n": {"\ud800": {"k" * 1000: float("nan")}}}))
    assert error.path == "/a\\u0000\\n/\\ud800/" + "k" * 80 + "…"
    assert str(error).encode()

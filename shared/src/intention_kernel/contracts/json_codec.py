"""JSON in and out without loss (design 5): what was dumped comes back with the same types, order and bits.

    loads   orjson, accepted only where writing its result again gives the very bytes that were read; else the standard
            library. That one comparison proves what orjson keeps silent about: a duplicate member would have vanished,
            an integer beyond 64 bits would have become a float.
    dumps   orjson, for values whose types are exactly those of JSON; else (integers beyond 64 bits, lone surrogates)
            the standard library.

A value is None, bool, int, float (finite), str, list or dict with str keys, exactly; subclasses and look-alikes (tuples,
enums, datetimes) are refused, since they would come back as something else. Numbers are read as the standard library
reads them: without fraction and exponent an int of any size up to `MAX_INTEGER_DIGITS` (`-0` is 0), else the nearest
64-bit float (`-0.0` keeps its sign); one that no finite float is near to is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isfinite, isinf
from types import NoneType
from typing import TypeAlias

import orjson

from intention_kernel.errors import JsonError

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None

MAX_DEPTH = 200
"""Lists and objects inside each other; `[]` is 1 deep. Small enough that no reader of ours runs out of stack."""

MAX_INTEGER_DIGITS = 4300
"""Python's own default bound for turning digits into an int, whose cost grows with their square."""

_INTEGER_BOUND = 10**MAX_INTEGER_DIGITS
_SCALARS = frozenset({NoneType, bool, int, str})
_COMES_BACK_AS = ((str, str), (int, int), (float, float), (list, list), (tuple, list), (dict, dict))
_SHOWN_NAME = 80

# Two code points that JSON can only write as the escapes of the one character they would come back as.
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Strings are matched whole, so that their brackets are not seen; possessive, so that no text makes it backtrack.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))


def loads(data: bytes | str) -> JsonValue:
    """Read one JSON document in UTF-8; a str is taken as the UTF-8 bytes it stands for.

    Raises `JsonError` on everything that RFC 8259 does not allow (NaN, a byte order mark, invalid UTF-8), and on what
    would not survive: duplicate members, numbers beyond the range of a float, integers beyond `MAX_INTEGER_DIGITS`,
    nesting beyond `MAX_DEPTH`. Its path points at the culprit for duplicates and numbers, else at the document.
    """
    raw = data if isinstance(data, bytes) else _utf8(data)
    try:
        value: JsonValue = orjson.loads(raw)
        if orjson.dumps(value) == raw and _is_shallow(raw, value):
            return value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass  # not JSON, or one of the texts that only the standard library reads without loss: it decides
    return _loads_exactly(raw)


def dumps(value: object) -> bytes:
    """Write `value` compactly in UTF-8, members in their order, lone surrogates as `\\ud800` escapes.

    Raises `JsonError` with the path of the culprit where `loads` would not give back the same value: see `check`.
    """
    fast = _dumps_fast(value)
    if fast is not None:
        return fast
    _inspect(value, ())
    return _dumps_exactly(value)


def check(value: object) -> None:
    """Raise `JsonError` with the path of the culprit if `dumps` would refuse `value`.

    Refused are types that are not exactly those of JSON (tuples, sets, bytes, datetimes, enums, subclasses), member
    names that are not str, NaN and infinities, integers beyond `MAX_INTEGER_DIGITS`, values that contain themselves or
    are nested beyond `MAX_DEPTH`, and a surrogate pair that stands in a str as two code points.
    """
    if _dumps_fast(value) is None:
        _inspect(value, ())


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise JsonError("", f"character {error.start} is a bare surrogate, which UTF-8 cannot hold") from None


def _is_shallow(raw: bytes, value: JsonValue) -> bool:
    # Brackets inside of strings are counted too: that can only send us to look at the value itself.
    return raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH or _is_plain((value,), MAX_DEPTH)


def _dumps_fast(value: object) -> bytes | None:
    # orjson writes tuples, enums, UUIDs and NaN as something else, so types and floats are seen to first. It does
    # itself refuse what is left: integers beyond 64 bits, surrogates, and member names that are not exactly str.
    if not _is_plain((value,), MAX_DEPTH):
        return None
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return None


def _is_plain(items: object, room: int) -> bool:
    """Whether the items are of JSON's types and nested at most `room` deep; member names are not looked at."""
    # Depth first and bounded, so that a value that contains itself ends it; one loop, since it runs on every dump.
    for item in items.values() if type(items) is dict else items:  # type: ignore[attr-defined]
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind is dict or kind is list:
            if not room or not _is_plain(item, room - 1):
                return False
        elif kind is not float or not isfinite(item):
            return False
    return True


def _dumps_exactly(value: object) -> bytes:
    try:
        # In UTF-8 nothing but a surrogate fails to encode, and its backslash form is its JSON escape.
        return _encoder.encode(value).encode("utf-8", "backslashreplace")
    except ValueError as error:  # this process runs with a lower bound of digits than ours
        raise JsonError("", str(error)) from None


class _Flaw:
    """Stands in a value just read for what must be refused, so that its path can be told."""

    __slots__ = ("member", "problem")

    def __init__(self, problem: str, member: str | None = None) -> None:
        self.problem = problem
        self.member = member


class _Reader:
    """The hooks of one reading with the standard library; `flawed` tells whether a `_Flaw` is in its result."""

    __slots__ = ("flawed",)

    def __init__(self) -> None:
        self.flawed = False

    def read(self, text: str) -> object:
        result: object = json.JSONDecoder(
            object_pairs_hook=self._members,
            parse_int=self._integer,
            parse_float=self._real,
            parse_constant=self._constant,
        ).decode(text)
        return result

    def _members(self, pairs: list[tuple[str, object]]) -> object:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        times = Counter(name for name, _ in pairs)
        again = next(name for name in times if times[name] > 1)
        return self._flaw("this member appears more than once", again)

    def _integer(self, text: str) -> object:
        try:
            if len(text.lstrip("-")) <= MAX_INTEGER_DIGITS:
                return int(text)
        except ValueError:
            pass  # this process runs with a lower bound of digits than ours
        return self._flaw(f"an integer of {len(text)} characters")

    def _real(self, text: str) -> object:
        value = float(text)
        return self._flaw("a number beyond the range of a float") if isinf(value) else value

    def _constant(self, text: str) -> object:
        return self._flaw(f"{text} is not a JSON number")

    def _flaw(self, problem: str, member: str | None = None) -> _Flaw:
        self.flawed = True
        return _Flaw(problem, member)


def _loads_exactly(raw: bytes) -> JsonValue:
    if raw.startswith(_BYTE_ORDER_MARK):
        raise JsonError("", "it begins with a byte order mark")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise JsonError("", f"byte {error.start} is not UTF-8: {error.reason}") from None
    _refuse_deep_text(text)
    reader = _Reader()
    try:
        value = reader.read(text)
    except json.JSONDecodeError as error:
        raise JsonError("", f"{error.msg}, at character {error.pos}") from None
    if reader.flawed:
        _inspect(value, ())
    return value  # type: ignore[return-value]  # the hooks return JSON's types, or are flawed


def _refuse_deep_text(text: str) -> None:
    """Before the standard library reads it, which goes down the stack as deep as the text does."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        mark = match[0][0]
        depth += (mark in "[{") - (mark in "]}")
        if depth > MAX_DEPTH:
            raise JsonError("", f"nested deeper than {MAX_DEPTH} levels, at character {match.start()}")


_Trail: TypeAlias = tuple[tuple[object, str | int], ...]


def _inspect(value: object, trail: _Trail) -> None:
    """Raise `JsonError` at the first value that JSON cannot hold; `trail` is the way down to `value`."""
    if type(value) is dict:
        _inspect_nesting(value, trail)
        for name, member in value.items():
            _inspect_name(name, trail)
            _inspect(member, (*trail, (value, name)))
    elif type(value) is list:
        _inspect_nesting(value, trail)
        for index, item in enumerate(value):
            _inspect(item, (*trail, (value, index)))
    elif type(value) is _Flaw:
        names = trail if value.member is None else (*trail, (value, value.member))
        raise JsonError(_pointer(names), value.problem)
    elif problem := _problem_of(value):
        raise JsonError(_pointer(trail), problem)


def _inspect_nesting(value: object, trail: _Trail) -> None:
    if any(value is above for above, _ in trail):
        raise JsonError(_pointer(trail), "the value contains itself")
    if len(trail) >= MAX_DEPTH:
        raise JsonError(_pointer(trail), f"nested deeper than {MAX_DEPTH} levels")


def _inspect_name(name: object, trail: _Trail) -> None:
    problem = _problem_of(name) if type(name) is str else f"a member name is {type(name).__qualname__}, not str"
    if problem:
        raise JsonError(_pointer(trail), problem)


def _problem_of(value: object) -> str | None:
    if type(value) is float:
        return None if isfinite(value) else f"{value} is not a JSON number"
    if type(value) is int:
        in_bounds = -_INTEGER_BOUND < value < _INTEGER_BOUND
        return None if in_bounds else f"an integer of more than {MAX_INTEGER_DIGITS} digits"
    if type(value) is str:
        split = _SPLIT_PAIR.search(value)
        return f"characters {split.start()} and {split.end() - 1} are two halves of one" if split else None
    return None if type(value) in _SCALARS else _problem_of_type(value)


def _problem_of_type(value: object) -> str:
    name = type(value).__qualname__
    became = next((base.__name__ for kind, base in _COMES_BACK_AS if isinstance(value, kind)), None)
    return f"{name} is not a JSON type" if became is None else f"{name} would come back as {became}"


def _pointer(trail: _Trail) -> str:
    return "".join(f"/{_segment(key)}" for _, key in trail)


def _segment(key: str | int) -> str:
    """A part of the pointer that is safe in a log or a text column: as in a JSON string, and never long."""
    name = str(key).replace("~", "~0").replace("/", "~1")
    shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
    return json.dumps(shown, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace").decode()

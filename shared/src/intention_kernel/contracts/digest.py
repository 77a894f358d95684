"""One form and one digest for equal JSON values, whoever wrote them, in whatever process.

The canonical form is UTF-8 without whitespace. Members are sorted by the code points of their names. Strings escape
only `"`, `\\`, control characters (the short escapes, else lower-case `\\u00xx`) and lone surrogates (`\\udxxx`).

**A number is the number, not its spelling:** `2`, `2.0` and `2e0` are equal, and so are `0` and `-0.0`; `true` is no
number. A repeat that went through a store or language which writes 2.0 as 2 must be known as the same request, and a
twin of an open effect must not slip past protocol R20 by its decimal point. Whole numbers are written with all their
digits, others as Python's shortest repr that reads back the same. Nothing here depends on orjson, whose way of
writing floats has changed between its versions: digests are stored, and compared for years.
"""

from __future__ import annotations

import json
from hashlib import sha256

from intention_kernel.contracts import json_codec

_PAYLOAD_DOMAIN = b"intention-kernel/effect-payload/1\x00"

_encoder = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def canonical_bytes(value: object) -> bytes:
    """The canonical form of a JSON value; equal for two values exactly if they are equal (the order of members aside).

    Raises `JsonError` with the path of the culprit where `json_codec.check` does.
    """
    json_codec.check(value)
    # In UTF-8 nothing but a surrogate fails to encode, and its backslash form is its JSON escape.
    return _encoder.encode(_one_form(value)).encode("utf-8", "backslashreplace")


def same_json(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not. Raises what `canonical_bytes` does."""
    return canonical_bytes(one) == canonical_bytes(other)


def digest(value: object) -> bytes:
    """SHA-256 of the canonical form, 32 bytes; raises what `canonical_bytes` does."""
    return sha256(canonical_bytes(value)).digest()


def payload_fingerprint(value: object) -> bytes:
    """The 32 bytes that, with its key, identify an effect; never equal to a `digest`, of whatever value."""
    return sha256(_PAYLOAD_DOMAIN + canonical_bytes(value)).digest()


def _one_form(value: object) -> object:
    if type(value) is dict:
        return {name: _one_form(member) for name, member in value.items()}
    if type(value) is list:
        return [_one_form(item) for item in value]
    if type(value) is float and value.is_integer():
        return int(value)
    return value

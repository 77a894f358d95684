"""What a thread, turn, agent, tenant or correlation id may be (interface 2)."""

from __future__ import annotations

import unicodedata

MAX_CHARACTERS = 200
MAX_BYTES = 512
RESERVED_TURN_PREFIX = "reconciliation:"
"""Turn ids of continuations begin with it; a user's request may not (protocol R28)."""


def identifier_problem(value: str) -> str | None:
    """Why `value` cannot be an id, or None: 1-200 characters, at most 512 bytes of UTF-8, no control characters."""
    if not value:
        return "is empty"
    if len(value) > MAX_CHARACTERS:
        return f"has {len(value)} characters, the most is {MAX_CHARACTERS}"
    try:
        size_bytes = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        return "has a lone surrogate, which UTF-8 cannot hold"
    if size_bytes > MAX_BYTES:
        return f"has {size_bytes} bytes of UTF-8, the most is {MAX_BYTES}"
    if any(unicodedata.category(character) == "Cc" for character in value):
        return "has a control character"
    return None


def continuation_turn_id(receipt_id: str, settlement: int, issue: int) -> str:
    """The turn id of a continuation: reserved prefix, receipt, settlement number, issue number (protocol R28)."""
    return f"{RESERVED_TURN_PREFIX}{receipt_id}:{settlement}:{issue}"

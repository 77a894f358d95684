"""Text from outside for text columns: Postgres holds neither NUL nor lone surrogates there (protocol R13)."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


def clean(text: str) -> str:
    """For people's eyes: what cannot be stored becomes U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def clean_or_none(text: str | None) -> str | None:
    """The same, where there may be none."""
    return None if text is None else clean(text)


def escape(text: str) -> str:
    """For identities: nothing is lost, `unescape` gives it back."""
    return _UNSTORABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\\", "\\\\"))


def unescape(stored: str) -> str:
    """What `escape` was given."""
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), stored)

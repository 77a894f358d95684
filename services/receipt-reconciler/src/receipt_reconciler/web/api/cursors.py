"""Cursors of lists: opaque to callers, and whatever they send instead is refused."""

from __future__ import annotations

import base64
import binascii

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import JsonError

from receipt_reconciler.web.api.problems import ProblemError


def cursor_of(place: JsonValue) -> str:
    """A place as a cursor."""
    return base64.urlsafe_b64encode(dumps(place)).decode().rstrip("=")


def read_cursor(cursor: str) -> JsonValue:
    """The place; what it is of, its reader checks. Raises ProblemError."""
    try:
        return loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, JsonError):
        raise ProblemError("bad_cursor") from None

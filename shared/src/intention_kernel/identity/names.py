"""Pure: what a user may be called."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")


def name_problem(name: str) -> str | None:
    """Why `name` cannot be a user's, or None. Small ASCII letters only, so that no two names look alike."""
    if _NAME.fullmatch(name):
        return None
    return "a user's name is 1 to 100 of a-z, 0-9, '.', '_', '@', '+' and '-', and begins with a letter or a digit"

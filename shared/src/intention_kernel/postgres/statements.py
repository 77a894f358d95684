"""SQL is kept in files, one statement each; this is how they are read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_SQL = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> str:
    """The text of `sql/<name>.sql`."""
    return (_SQL / f"{name}.sql").read_text("utf-8")

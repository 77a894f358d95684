"""Runs one of the three processes with a wall clock that steps when it is told to: `python -m tests.campaigns.stepping NAME run`.

The file $STEPPING_FOLDER/$INTENTION_INSTANCE holds by how many seconds the wall time is off; the monotonic time is the
machine's. Each offset that was really used to tell a time is said once on a line of standard error.
"""

from __future__ import annotations

import importlib
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import intention_kernel.clock

SAID = "wall time is off by "
FOLDER, INSTANCE = "STEPPING_FOLDER", "INTENTION_INSTANCE"


class SteppingClock(intention_kernel.clock.SystemClock):
    """In the place of SystemClock."""

    def __init__(self) -> None:
        self._file = Path(os.environ[FOLDER]) / os.environ[INSTANCE]
        self._said = 0.0

    def now(self) -> datetime:
        offset = float(self._file.read_text("ascii")) if self._file.exists() else 0.0
        if offset != self._said:
            self._said = offset
            with self._file.with_suffix(".used").open("a", encoding="ascii") as used:
                used.write(f"{offset}\n")
            sys.stderr.write(f"{SAID}{offset} s\n")
        return datetime.now(UTC) + timedelta(seconds=offset)


def main() -> None:
    """The process of that name, as its console script runs it."""
    intention_kernel.clock.SystemClock = SteppingClock  # type: ignore[misc]  # before whoever imports it by name
    name, *arguments = sys.argv[1:]
    module = importlib.import_module(f"{name.replace('-', '_')}.cli")
    sys.argv = [name, *arguments]
    module.main()


if __name__ == "__main__":
    main()

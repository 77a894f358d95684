"""A real inventory process on a free port of loopback, for tests that kill, stop or lose it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

COMMAND = (sys.executable, "-m", "examples.fan7.inventory")
_DEADLINE_SECONDS = 30


def environment(failpoints: str) -> dict[str, str]:
    """This process's environment with the failpoints that the inventory is to arm."""
    return {**os.environ, "INTENTION_FAILPOINTS": failpoints}


class InventoryProcess:
    """Start, end and start again over one database file; whatever runs at the end is killed."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self.wait()

    def start(self, failpoints: str = "") -> None:
        """Returns when the process says where it listens."""
        self._process = subprocess.Popen(
            [*COMMAND, "--port", "0", "--database", str(self._database)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(failpoints),
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line
        self.url = line.removeprefix("listening on ").strip()

    def terminate(self) -> None:
        """SIGTERM."""
        self._running.terminate()

    def wait(self) -> int:
        """The exit code, negative for a signal; an error after 30 s."""
        process = self._running
        code = process.wait(timeout=_DEADLINE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
        return code

    @property
    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process


def run_to_end(*arguments: str, failpoints: str = "") -> tuple[int, str]:
    """Exit code and stderr of an inventory that is expected to end by itself."""
    ended = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment(failpoints),
        timeout=_DEADLINE_SECONDS,
        check=False,
    )
    return ended.returncode, ended.stderr

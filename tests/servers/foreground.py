"""`python -m intention_kernel.servers` as a process that a test can stop or kill."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_START_SECONDS = 90.0
_POLL_SECONDS = 0.05


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str) -> None:
    """Poll `condition`; an AssertionError that says `what` when it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(_POLL_SECONDS)


def servers_command(data_dir: Path) -> list[str]:
    """The command of the foreground servers."""
    return [sys.executable, "-m", "intention_kernel.servers", "--data", str(data_dir)]


@dataclass(frozen=True, slots=True)
class Foreground:
    """A running foreground process and all it has started."""

    process: subprocess.Popen[bytes]
    output: Path
    descendants: list[psutil.Process]

    def of(self, program: str) -> list[psutil.Process]:
        """The processes below it whose command names `program`."""
        return [process for process in self.descendants if program in " ".join(process.cmdline()[:4])]

    def wait_until_nothing_is_left(self) -> None:
        """Every process that it had started is gone."""
        wait_until(
            lambda: not any(is_running(process) for process in self.descendants),
            seconds=30,
            what=f"the end of {self.descendants}",
        )


def is_running(process: psutil.Process) -> bool:
    """False once it is gone; one that nobody has waited for yet is gone."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


@contextmanager
def foreground_servers(data_dir: Path) -> Iterator[Foreground]:
    """Start them on `data_dir`; yields when they have printed `ready`; kills what is left at the end."""
    output = data_dir.with_name(f"{data_dir.name}.out")
    with output.open("wb") as file:
        process = subprocess.Popen(servers_command(data_dir), stdout=file, stderr=file)
    try:
        wait_until(
            lambda: process.poll() is not None or "\nready" in output.read_text(),
            seconds=_START_SECONDS,
            what="a line that starts with `ready`",
        )
        assert process.poll() is None, output.read_text()
        yield Foreground(process, output, psutil.Process(process.pid).children(recursive=True))
    finally:
        process.kill()
        process.wait()

"""A real process of ours under a test's or a demo's hand: started, awaited, paused, killed, and what it printed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from intention_kernel.errors import InfrastructureError

READY = "ready"
"""What the line begins with that our processes print once they work."""

PATIENCE_SECONDS = 30.0
_KEPT_LINES = 400
_SHOWN_LINES = 40
_LOOK_AGAIN_SECONDS = 0.01
_LONGEST_LINE_BYTES = 1 << 20


def script(name: str) -> Path:
    """A console script of the environment that this interpreter runs in."""
    return Path(sys.executable).parent / name


def clean_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with `variables`, without other settings of ours and with compiled modules.

    Uncompiled modules make every start three times as long.
    """
    ours = {name: text for name, text in os.environ.items() if not name.startswith("INTENTION_")}
    ours.pop("PYTHONDONTWRITEBYTECODE", None)
    return ours | dict(variables)


class Child(Protocol):
    """What is needed of a process that was started; asyncio's has it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    async def wait(self) -> int: ...
    def send_signal(self, number: signal.Signals, /) -> None: ...


class Process:
    """One run of one command. An async context manager: what still runs at the end is killed and reaped.

    Every wait raises InfrastructureError with the process's last lines where it does not end in `seconds`.
    """

    def __init__(self, name: str, process: Child, ready: str) -> None:
        self.name = name
        self._process = process
        self._ready_prefix = ready
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ready_line: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str | Path], environment: Mapping[str, str], *, ready: str = READY
    ) -> Process:
        """Returns at once; `ready` is what the line begins with that `await_ready` waits for."""
        process = await asyncio.create_subprocess_exec(
            *command,
            env=clean_environment(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LONGEST_LINE_BYTES,
        )
        return cls(name, process, ready)

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.kill()
        await self.await_end()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended; a paused process runs."""
        return self._process.returncode is None

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.returncode

    def output(self) -> str:
        """The last lines of its standard output and standard error, as they came."""
        return "\n".join(self._lines)

    async def await_ready(self, seconds: float = PATIENCE_SECONDS) -> str:
        """The line that it prints once it works; an error too where it ends before."""
        try:
            async with asyncio.timeout(seconds):
                line = await asyncio.shield(self._ready_line)
        except TimeoutError:
            raise self._failure(f"was not ready within {seconds:g} s") from None
        if line is None:
            await self._process.wait()
            raise self._failure("ended before it was ready")
        return line

    async def await_end(self, seconds: float = PATIENCE_SECONDS) -> int:
        """The exit code, negative for a signal (-9 for SIGKILL), once it has ended and its output is read."""
        try:
            async with asyncio.timeout(seconds):
                code = await self._process.wait()
                await self._reading
        except TimeoutError:
            raise self._failure(f"did not end within {seconds:g} s") from None
        return code

    async def await_stopped(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Returns once SIGSTOP has taken effect, whoever sent it."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not self.is_stopped():
            if not self.running or asyncio.get_running_loop().time() > deadline:
                raise self._failure(f"did not stop within {seconds:g} s")
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def terminate(self) -> None:
        """SIGTERM: it stops in order, inside its grace."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL; it ends a paused process, too."""
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.running:
            with suppress(ProcessLookupError):  # it ended, and nobody has told us yet
                self._process.send_signal(number)

    def is_stopped(self) -> bool:
        """Whether SIGSTOP has taken effect, and no SIGCONT since."""
        with suppress(ChildProcessError):  # ended, and reaped by the event loop
            found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            return found is not None and found.si_code == os.CLD_STOPPED
        return False

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while raw := await _line_of(self._process.stdout):
            line = raw.decode("utf-8", "replace").rstrip("\n")
            self._lines.append(line)
            if line.startswith(self._ready_prefix) and not self._ready_line.done():
                self._ready_line.set_result(line)
        if not self._ready_line.done():
            self._ready_line.set_result(None)

    def _failure(self, what: str) -> InfrastructureError:
        shown = "\n".join(f"  | {line}" for line in list(self._lines)[-_SHOWN_LINES:])
        code = self._process.returncode
        ended = "" if code is None else f" (exit code {code})"
        return InfrastructureError(f"{self.name} {what}{ended}; its last lines:\n{shown or '  | (none)'}")


async def _line_of(stream: asyncio.StreamReader) -> bytes:
    """The next line; one that is too long is left out, so that who writes it never waits for us."""
    while True:
        try:
            return await stream.readline()
        except ValueError:  # the stream has let go of what it held of the line
            continue

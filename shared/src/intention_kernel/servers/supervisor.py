"""Child processes that cannot outlive us: each server runs under a guardian (see guardian.py)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.servers import guardian

_GRACE_SECONDS = 15
_LOG_TAIL_BYTES = 4000


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: `prefix` wraps guardian and server alike (a user namespace), `uid`/`gid` are the server's alone.

    `kill_signal` is what the server gets if its guardian is killed; `stop_signal` asks for an orderly stop.
    """

    arguments: Sequence[str]
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL
    prefix: Sequence[str] = ()
    uid: int = -1
    gid: int = -1


class Child:
    """One running server. `stop` is safe to call twice, and after the server ended by itself."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    async def wait(self) -> int:
        """The server's exit code, 128 + n if it died of signal n; waits for its end."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Ask the server to stop; it is killed after 15 seconds. Returns when it is gone."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()

    def log_tail(self) -> str:
        """The last lines that the server wrote."""
        return self._log.read_bytes()[-_LOG_TAIL_BYTES:].decode("utf-8", "replace").strip()


def _without_postgres_variables() -> dict[str, str]:
    """PGPORT, PGDATA and the like change what the server does; ours is told everything by argument."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


async def start(command: Command, *, held_open: Sequence[int] = ()) -> Child:
    """Start a server under a guardian, in a session of its own, so that Ctrl-C reaches us and not it.

    `held_open` are file descriptors that server and guardian inherit: the data directory's lock, which so stays taken
    until the last of them is gone.
    """
    guarded = [
        *command.prefix,
        *(sys.executable, "-I", "-S", guardian.__file__),
        *(str(os.getpid()), str(int(command.stop_signal)), str(int(command.kill_signal)), str(_GRACE_SECONDS)),
        *(str(command.uid), str(command.gid), "--", *command.arguments),
    ]
    with command.log.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *guarded,
            stdin=asyncio.subprocess.PIPE,
            stdout=log,
            stderr=asyncio.subprocess.STDOUT,
            env=_without_postgres_variables(),
            start_new_session=True,
            pass_fds=tuple(held_open),
        )
    return Child(process, command.log)


async def run(command: Command, *, held_open: Sequence[int] = ()) -> tuple[int, str]:
    """Run a command to its end under a guardian; its exit code and what it wrote last."""
    child = await start(command, held_open=held_open)
    try:
        return await child.wait(), child.log_tail()
    finally:
        await child.stop()

"""One run per data directory: a lock that the servers hold too, so that it is free only when all of them are gone."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.clock import SystemClock
from intention_kernel.errors import ConfigurationError

_LEFTOVERS_SECONDS = 30.0
_POLL_SECONDS = 0.1


def _is_alive(pid: int) -> bool:
    """False for one that was killed and that its parent has not waited for, where /proc can tell."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text("ascii", "replace").rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return not Path("/proc/self").exists()


def _holder(descriptor: int) -> int | None:
    """The process that wrote itself into the lock file, if it still lives."""
    text = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    pid = int(text) if text.isdigit() else None
    return pid if pid is not None and _is_alive(pid) else None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _acquire(descriptor: int, directory: Path, say: Callable[[str], None]) -> None:
    clock = SystemClock()
    deadline = clock.monotonic_seconds() + _LEFTOVERS_SECONDS
    said = False
    while not _try_lock(descriptor):
        holder = _holder(descriptor)
        if holder is not None:
            raise ConfigurationError(
                f"{directory} is in use by process {holder}: stop that one, or choose another data directory"
            )
        if clock.monotonic_seconds() > deadline:
            raise ConfigurationError(
                f"servers of an earlier run still use {directory} and do not stop: end them, or choose another directory"
            )
        if not said:
            say("waiting until the servers of an earlier run have stopped")
            said = True
        await asyncio.sleep(_POLL_SECONDS)


@asynccontextmanager
async def directory_lock(directory: Path, say: Callable[[str], None]) -> AsyncIterator[int]:
    """Hold `directory` for this run; yields the descriptor to hand to the servers.

    Raises ConfigurationError, with the pid, when another run holds it. A run whose process was killed leaves servers
    that are on their way out: those are waited for.
    """
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await _acquire(descriptor, directory, say)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)

"""The lock of a data directory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.lock import directory_lock


async def test_a_holder_that_lives_is_named_at_once(tmp_path: Path) -> None:
    async with directory_lock(tmp_path, print):
        with pytest.raises(ConfigurationError, match=f"in use by process {os.getpid()}:"):
            async with directory_lock(tmp_path, print):
                pass
    async with directory_lock(tmp_path, print):
        pass


async def test_servers_that_a_killed_run_left_are_waited_for(tmp_path: Path) -> None:
    said = list[str]()
    async with directory_lock(tmp_path, print) as descriptor:
        # The server of a run: it inherits the lock and lives until its input ends.
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE, pass_fds=[descriptor]
        )

    def tell(line: str) -> None:
        said.append(line)
        assert server.stdin is not None
        server.stdin.write(b"\n")

    async with directory_lock(tmp_path, tell):
        assert said == ["waiting until the servers of an earlier run have stopped"]
    await server.wait()


@pytest.fixture
def zombie() -> subprocess.Popen[bytes]:
    """A process that has ended and that nobody has waited for."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process


async def test_a_killed_holder_that_nobody_waited_for_does_not_hold(
    tmp_path: Path, zombie: subprocess.Popen[bytes]
) -> None:
    async with directory_lock(tmp_path, print) as descriptor:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{zombie.pid}\n".encode(), 0)
        waits = asyncio.Event()
        second = asyncio.ensure_future(_enter(tmp_path, lambda line: waits.set()))
        await asyncio.wait_for(waits.wait(), 10)
    await second
    zombie.wait()


async def _enter(directory: Path, say: Callable[[str], None]) -> None:
    async with directory_lock(directory, say):
        pass

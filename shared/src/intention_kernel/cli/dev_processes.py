"""The child processes of `intention dev`: each under a guardian, so that it cannot outlive us; their words on stderr."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from intention_kernel.cli.dev_log import readable
from intention_kernel.clock import SystemClock
from intention_kernel.errors import InfrastructureError
from intention_kernel.servers import guardian

_GRACE_SECONDS = 40  # more than a service's own grace, so that it ends by itself
_READY_SECONDS = 60.0
_ASK_AGAIN_SECONDS = 0.1
_ANSWER_SECONDS = 2.0
_LONGEST_LINE_BYTES = 1024 * 1024
_HOST = "127.0.0.1"


class DevProcess:
    """One running child; `start_process` makes one."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, port: int, ready_path: str) -> None:
        self.name = name
        self.url = f"http://{_HOST}:{port}"
        self._process = process
        self._port = port
        self._ready_path = ready_path
        self._clock = SystemClock()
        self._forwarding = asyncio.create_task(self._forward())

    async def wait_until_ready(self) -> None:
        """Returns when it answers 200; raises InfrastructureError where it ends, or does not in a minute."""
        give_up_at = self._clock.monotonic_seconds() + _READY_SECONDS
        while not await self._is_ready():
            if self._process.returncode is not None:
                raise InfrastructureError(await self.wait_until_it_ends())
            if self._clock.monotonic_seconds() > give_up_at:
                raise InfrastructureError(f"{self.name} was not ready within {_READY_SECONDS:.0f} s")
            await asyncio.sleep(_ASK_AGAIN_SECONDS)

    async def wait_until_it_ends(self) -> str:
        """What to tell people when it ended by itself."""
        code = await self._process.wait()
        await asyncio.wait([self._forwarding])
        return f"{self.name} ended by itself with exit code {code}; its last words are above"

    async def stop(self) -> None:
        """Ask it to stop, and wait until it is gone and all it said is told."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        await asyncio.wait([self._forwarding])

    async def _is_ready(self) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reader, writer = await asyncio.open_connection(_HOST, self._port)
                try:
                    writer.write(
                        f"GET {self._ready_path} HTTP/1.1\r\nHost: {_HOST}\r\nConnection: close\r\n\r\n".encode()
                    )
                    return b" 200 " in await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False

    async def _forward(self) -> None:
        stream = self._process.stdout
        while stream is not None:
            try:
                line = await stream.readline()
            except ValueError:  # a line without end: left out, so that its writer never waits for us
                continue
            if not line:
                return
            for said in readable(line.decode("utf-8", "replace").rstrip()):
                click.echo(f"{self.name} | {said}", err=True)


async def start_process(
    name: str, arguments: Sequence[str], environment: Mapping[str, str], port: int, ready_path: str
) -> DevProcess:
    """Start a console script of this environment, or this Python where the arguments begin with `-m`.

    It ends with us however we go; whoever starts it stops it.
    """
    scripts = Path(sys.executable).parent
    command = [sys.executable, *arguments] if arguments[0] == "-m" else [str(scripts / arguments[0]), *arguments[1:]]
    signals = (str(int(signal.SIGTERM)), str(int(signal.SIGKILL)))
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-I",
            "-S",
            guardian.__file__,
            str(os.getpid()),
            *signals,
            str(_GRACE_SECONDS),
            "-1",
            "-1",
            "--",
        ),
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(environment),
        limit=_LONGEST_LINE_BYTES,
        start_new_session=True,
    )
    return DevProcess(name, process, port, ready_path)

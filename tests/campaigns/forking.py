"""Our services as forks of a nursery: what starts them is ready at once (`nursery` says why)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from intention_kernel.testing.processes import READY, Process, clean_environment

from tests.campaigns.nursery import LONGEST_PACKET_BYTES

_LONGEST_LINE_BYTES = 1 << 20


class Forked:
    """One forked process, as `Process` needs it."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._ended = asyncio.Event()

    def end(self, code: int) -> None:
        """The nursery has seen its end."""
        self.returncode = code
        self._ended.set()

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """As long as its end is not known; raises ProcessLookupError where it is gone."""
        if self.returncode is None:
            os.kill(self.pid, number)


class Nursery:
    """Made by `open_nursery`; `start` is for a Fleet."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._living: dict[int, Forked] = {}
        self._started: asyncio.Queue[int] = asyncio.Queue()
        self._starting = asyncio.Lock()
        self._early: dict[int, int] = {}

    async def start(self, name: str, command: Sequence[str | Path], variables: Mapping[str, str]) -> Process:
        """As `Process.start`, of a console script's `run`."""
        output, writing = os.pipe()
        reader = asyncio.StreamReader(limit=_LONGEST_LINE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb", buffering=0)
        )
        request = {"program": Path(command[0]).name, "variables": dict(variables)}
        async with self._starting:
            socket.send_fds(self._channel, [json.dumps(request).encode()], [writing])
            os.close(writing)
            pid = await self._started.get()
        forked = self._living[pid] = Forked(pid, reader)
        if pid in self._early:
            forked.end(self._early.pop(pid))
        return Process(name, forked, READY)

    async def listen(self) -> None:
        """Take what the nursery says; runs until cancelled."""
        loop = asyncio.get_running_loop()
        while packet := await loop.sock_recv(self._channel, LONGEST_PACKET_BYTES):
            said = json.loads(packet)
            if "code" not in said:
                self._started.put_nowait(said["pid"])
            elif said["pid"] in self._living:
                self._living.pop(said["pid"]).end(said["code"])
            else:
                self._early[said["pid"]] = said["code"]


@asynccontextmanager
async def open_nursery() -> AsyncIterator[Nursery]:
    """A nursery that has loaded everything; with its end its children end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.campaigns.nursery", str(theirs.fileno())),
        env=clean_environment({}),
        pass_fds=(theirs.fileno(),),
    )
    theirs.close()
    ours.setblocking(False)
    await asyncio.get_running_loop().sock_recv(ours, LONGEST_PACKET_BYTES)
    nursery = Nursery(ours)
    listening = asyncio.create_task(nursery.listen())
    try:
        yield nursery
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
        ours.close()
        await process.wait()

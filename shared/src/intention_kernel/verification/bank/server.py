"""The bank on a port of loopback: JSON lines, one answer for one request, connections as long as the caller likes."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from intention_kernel.verification.bank.messages import (
    LONGEST_LINE_BYTES,
    Wrong,
    answer_line,
    read_request,
)
from intention_kernel.verification.bank.service import Bank, NoReply

LOOPBACK = "127.0.0.1"
_GRACE_SECONDS = 5.0
"""More than the longest delay: what was asked for before SIGTERM still happens."""

logger = logging.getLogger(__name__)


async def serve(bank: Bank, port: int) -> None:
    """Serve until SIGTERM or SIGINT; then what is under way is finished. Port 0 takes a free one.

    Prints `listening on ADDRESS` once it does. Raises OSError where it cannot listen.
    """
    stop, connections = _stop_signal(), _Connections(bank)
    server = await asyncio.start_server(connections.serve, LOOPBACK, port, limit=LONGEST_LINE_BYTES, backlog=1_024)
    sys.stdout.write(f"listening on {LOOPBACK}:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await stop.wait()
    server.close()
    await connections.finish(_GRACE_SECONDS)


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


class _Connections:
    """Everyone who is connected, and who of them waits for an answer."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self._stopping = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer line after line, until the caller, a fault or the bank's end ends it.

        A caller who goes while we answer is noticed afterwards: what was asked for happens.
        """
        self._writers.add(writer)
        try:
            while not self._stopping and (line := await reader.readline()).endswith(b"\n"):
                if not await self._answer(line, writer):
                    break
        except (ConnectionError, ValueError):
            pass  # gone, or a line that is too long for a request
        finally:
            self._writers.discard(writer)
            writer.close()

    async def finish(self, seconds: float) -> None:
        """Let what is under way end, then close what is still open."""
        self._stopping = True
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)
        for writer in self._writers:
            writer.close()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may go on."""
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            return await self._reply(line, writer)
        finally:
            self._answering.discard(task)

    async def _reply(self, line: bytes, writer: asyncio.StreamWriter) -> bool:
        request = read_request(line)
        try:
            answer = request if isinstance(request, Wrong) else await self._bank.answer(request)
        except Exception:
            logger.exception("a request failed")
            return False
        if isinstance(answer, NoReply):
            return False
        writer.write(answer_line(answer))
        await writer.drain()
        return True

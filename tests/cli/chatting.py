"""`intention chat` as a real process: what is typed goes into a pipe or a terminal, what it prints comes back."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from intention_kernel.testing.processes import clean_environment, script
from intention_kernel.testing.system import Installation

from tests.support.eventually import eventually

_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
WITHOUT_PROVIDERS = dict.fromkeys(_KEYS, "")
"""The environment of processes that must not talk to a real model, whoever runs the tests."""


@dataclass(slots=True)
class Chat:
    """A chat that runs. `out` is what it said, `err` what it noted beside; on a terminal both are `out`."""

    process: asyncio.subprocess.Process
    out: str = ""
    err: str = ""
    terminal: int | None = None
    reading: list[asyncio.Task[None]] = field(default_factory=list)
    seen: int = 0

    async def type(self, text: str) -> None:
        """Send a line."""
        await self.press(f"{text}\n")

    async def press(self, keys: str) -> None:
        """Send these bytes and no more."""
        if self.terminal is not None:
            os.write(self.terminal, keys.encode())
            return
        assert self.process.stdin is not None
        self.process.stdin.write(keys.encode())
        await self.process.stdin.drain()

    async def hear(self, text: str, seconds: float = 30.0) -> str:
        """What it said since the last call, up to `text`, once that is there."""
        await eventually(lambda: text in self.out[self.seen :] or self._ended(text), seconds)
        since, self.seen = self.seen, self.out.index(text, self.seen) + len(text)
        return self.out[since : self.seen]

    async def note(self, text: str, seconds: float = 30.0) -> None:
        """Returns once `text` is among its notes."""
        await eventually(lambda: text in self.err or self._ended(text), seconds)

    async def end(self, seconds: float = 30.0) -> int:
        """Close its input; the exit code."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        return await self.ended(seconds)

    async def ended(self, seconds: float = 30.0) -> int:
        """The exit code, once it has ended and all it printed is read."""
        async with asyncio.timeout(seconds):
            code = await self.process.wait()
            await asyncio.gather(*self.reading)
        return code

    def _ended(self, text: str) -> bool:
        assert self.process.returncode is None or not all(task.done() for task in self.reading), (
            f"it ended with {self.process.returncode} without {text!r}:\n{self.out}\n--- stderr:\n{self.err}"
        )
        return False


@asynccontextmanager
async def chatting(installation: Installation, thread_id: str, *options: str) -> AsyncIterator[Chat]:
    """A chat over pipes; killed at the end if it still runs."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        script("intention"),
        "chat",
        thread_id,
        *options,
        env=clean_environment(installation.variables()),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )
    chat = Chat(process)
    assert process.stdout is not None
    assert process.stderr is not None
    chat.reading = [
        asyncio.create_task(_read(process.stdout, chat, "out")),
        asyncio.create_task(_read(process.stderr, chat, "err")),
    ]
    async with _reaped(chat):
        yield chat


@asynccontextmanager
async def chatting_on_a_terminal(installation: Installation, thread_id: str, *options: str) -> AsyncIterator[Chat]:
    """A chat on a terminal of its own, where Ctrl-C and Ctrl-D are keys."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        script("intention"),
        "chat",
        thread_id,
        *options,
        env=clean_environment(installation.variables()),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    chat = Chat(process, terminal=ours)
    chat.reading = [asyncio.create_task(asyncio.to_thread(_read_terminal, ours, chat))]
    try:
        async with _reaped(chat):
            yield chat
    finally:
        os.close(ours)


def _take_terminal() -> None:
    """Make standard input the controlling terminal of this new session, so that its keys send signals."""
    os.close(os.open(os.ttyname(0), os.O_RDWR))


@asynccontextmanager
async def _reaped(chat: Chat) -> AsyncIterator[None]:
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            chat.process.send_signal(signal.SIGKILL)
        await chat.ended()


async def _read(stream: asyncio.StreamReader, chat: Chat, name: str) -> None:
    while chunk := await stream.read(4096):
        setattr(chat, name, getattr(chat, name) + chunk.decode())


def _read_terminal(descriptor: int, chat: Chat) -> None:
    with suppress(OSError):  # the other side is closed
        while chunk := os.read(descriptor, 4096):
            chat.out += chunk.decode()

"""The lines that somebody types, or that a pipe brings."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress

_CHUNK_BYTES = 65_536
_STDIN = 0

Take = Callable[[str | None], None]
"""Given each line without its end, then None."""


def read_lines(take: Take) -> None:
    """Read standard input in a thread that ends with the process; `take` is called on this event loop.

    The descriptor is read without Python's buffer, whose lock a thread that still waits would hold when the process ends.
    """
    loop = asyncio.get_running_loop()

    def give(line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(take, line)

    threading.Thread(target=_read, args=(give,), name="stdin", daemon=True).start()


def _read(give: Take) -> None:
    rest = b""
    while chunk := _chunk():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            give(_text(line))
    if rest:
        give(_text(rest))
    give(None)


def _chunk() -> bytes:
    try:
        return os.read(_STDIN, _CHUNK_BYTES)
    except OSError:  # the terminal is gone
        return b""


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").removesuffix("\r")

"""Waiting for a condition instead of for time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def eventually(condition: Callable[[], object], seconds: float = 20.0, every: float = 0.005) -> None:
    """Return as soon as `condition()` is true; AssertionError, with what it last returned, after `seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not (last := condition()):
        assert loop.time() < deadline, f"still {last!r} after {seconds} s"
        await asyncio.sleep(every)

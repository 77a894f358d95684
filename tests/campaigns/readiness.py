"""What a process of ours says of itself over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from intention_kernel.testing.fleet import Member

_ANSWER_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 0.05
_WELL = b"HTTP/1.1 200"


async def is_ready(member: Member) -> bool:
    """What `/readyz` answers; False where nothing does."""
    return (await _answer(member, "/readyz")).startswith(_WELL)


async def is_alive(member: Member) -> bool:
    """What `/livez` answers; False where nothing does."""
    return (await _answer(member, "/livez")).startswith(_WELL)


async def await_unready(members: Sequence[Member], seconds: float) -> list[Member]:
    """Returns when each of them has said once that it is not ready, or after `seconds`; those that never did."""
    return await _await(members, seconds, ready=False)


async def await_ready(members: Sequence[Member], seconds: float) -> list[Member]:
    """Returns when each of them has said once that it is ready, or after `seconds`; those that never did."""
    return await _await(members, seconds, ready=True)


async def _await(members: Sequence[Member], seconds: float, *, ready: bool) -> list[Member]:
    clock = asyncio.get_running_loop().time
    deadline, left = clock() + seconds, list(members)
    while left and clock() < deadline:
        left = [member for member in left if await is_ready(member) is not ready]
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return left


async def _answer(member: Member, path: str) -> bytes:
    port = int((await member.process.await_ready()).rpartition("http=")[2])
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
                return await reader.read()
            finally:
                writer.close()
    return b""

"""A connection for one look, such as a process's first one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from intention_kernel.postgres.errors import DRIVER_ERRORS

_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 8.0  # a server that took the connection and says nothing more would be waited for without end
_GOODBYE_SECONDS = 1.0


@asynccontextmanager
async def brief_connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Connected for a few seconds at most: what takes longer is cut off, which its statement raises.

    Raises one of the driver's errors (`errors.DRIVER_ERRORS`) where the database is away or does not answer.
    """
    connection = await asyncpg.connect(database_url, timeout=_CONNECT_SECONDS)
    guard = asyncio.get_running_loop().call_later(_LOOK_SECONDS, connection.terminate)
    try:
        yield connection
    finally:
        guard.cancel()
        try:
            await connection.close(timeout=_GOODBYE_SECONDS)
        except DRIVER_ERRORS:
            connection.terminate()

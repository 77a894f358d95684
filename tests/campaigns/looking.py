"""A look into a campaign's database, from a connection of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

_ANSWER_SECONDS = 5.0


@asynccontextmanager
async def looking_at(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that may write whatever the server's default is. Raises one of the driver's errors."""
    connection = await asyncpg.connect(
        database_url,
        timeout=_ANSWER_SECONDS,
        command_timeout=_ANSWER_SECONDS,
        server_settings={"default_transaction_read_only": "off", "application_name": "campaign"},
    )
    try:
        yield connection
    finally:
        connection.terminate()

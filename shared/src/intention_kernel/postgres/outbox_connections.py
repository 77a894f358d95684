"""How the relay talks to Postgres: few connections, one statement a call, no transaction left open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import cast

import asyncpg

from intention_kernel.errors import InfrastructureError
from intention_kernel.postgres.schema import require_schema

_SQL = Path(__file__).parent / "sql"
_CONNECT_SECONDS = 10.0
# Half-open connections are noticed by the server within half a minute, by us within the command timeout.
_SERVER_SETTINGS = {"application_name": "outbox-relay", "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5"}


def statement(name: str) -> str:
    """The text of `sql/<name>.sql`."""
    return (_SQL / f"{name}.sql").read_text("utf-8")


@contextmanager
def store_errors(doing: str) -> Iterator[None]:
    """What the driver and the socket raise, as InfrastructureError: nothing was decided, ask again."""
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise InfrastructureError(f"{doing}: {error or type(error).__name__}") from error


@asynccontextmanager
async def outbox_pool(database_url: str, *, size: int, command_seconds: float) -> AsyncIterator[asyncpg.Pool]:
    """Connections for the outbox and the leases. A statement that takes longer than `command_seconds` has failed.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    with store_errors("connecting to Postgres"):
        pool = await asyncpg.create_pool(
            database_url,
            min_size=1,
            max_size=size,
            timeout=_CONNECT_SECONDS,
            command_timeout=command_seconds,
            server_settings=_SERVER_SETTINGS,
            reset=_nothing_to_reset,
        )
    try:
        with store_errors("reading the schema's version"):
            async with pool.acquire() as connection:
                await require_schema(cast("asyncpg.Connection", connection))
        yield pool
    finally:
        pool.terminate()


async def _nothing_to_reset(_: asyncpg.Connection) -> None:
    """Spares the round trip: no statement of the relay leaves anything behind in its session."""

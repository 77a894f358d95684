"""How the relay talks to Postgres: its start, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from intention_kernel.errors import InfrastructureError
from intention_kernel.postgres.brief import brief_connection
from intention_kernel.postgres.errors import DRIVER_ERRORS
from intention_kernel.postgres.schema import require_schema


@contextmanager
def store_errors(doing: str) -> Iterator[None]:
    """What the driver and the socket raise, as InfrastructureError: nothing was decided, ask again."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise InfrastructureError(f"{doing}: {error or type(error).__name__}") from error


async def require_migrated(database_url: str) -> None:
    """Return where the database fits this build.

    Raises InfrastructureError where it is away, SchemaVersionError where it does not fit.
    """
    with store_errors("connecting to Postgres"):
        async with brief_connection(database_url) as connection:
            await require_schema(connection)

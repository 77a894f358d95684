"""The connections of those who work on receipts, set-aside turns and rejected records rather than run turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from intention_kernel.postgres.brief import brief_connection
from intention_kernel.postgres.errors import DRIVER_ERRORS, unanswered
from intention_kernel.postgres.pool import PATIENCE_SECONDS, Pool, StatementConnection
from intention_kernel.postgres.schema import require_schema
from intention_kernel.postgres.wakeup import WakeupSender


@asynccontextmanager
async def open_pool(
    database_url: str,
    *,
    pool_size: int,
    patience_seconds: float = PATIENCE_SECONDS,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[Pool, Callable[[], None]]]:
    """A pool, and what to call after whatever leaves something in the outbox; closed once what is under way is answered.

    `settings` are the server's, beside those of every pool.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    await _check_schema(database_url)
    pool = Pool(database_url, pool_size, patience_seconds=patience_seconds, settings=settings)
    hints = StatementConnection(database_url, patience_seconds=0.0, settings={"synchronous_commit": "off"})
    wakeup = WakeupSender(hints)
    try:
        yield pool, wakeup.wake
    finally:
        await pool.close()
        await wakeup.drained()
        await hints.close()


async def _check_schema(database_url: str) -> None:
    try:
        async with brief_connection(database_url) as connection:
            await require_schema(connection)
    except DRIVER_ERRORS as error:
        raise unanswered(error) from error

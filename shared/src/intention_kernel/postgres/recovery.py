"""What `intention recover` does in the database (protocol R39): each step is one transaction and may be repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from intention_kernel.ports.partition_progress import PartitionProgress
from intention_kernel.postgres.reading import database_errors
from intention_kernel.postgres.schema import require_schema
from intention_kernel.postgres.statements import statement

_SETTINGS = {"application_name": "intention-recover", "lock_timeout": "10000"}


@dataclass(frozen=True, slots=True)
class RecoveryFacts:
    """What is there before. `seconds` until the last of the leases is over by itself."""

    partition_count: int
    incarnation: str
    recoveries: int
    recovering: bool
    relays: int
    threads: int
    seconds: float


class RecoveryStore:
    """One connection without a statement timeout. Every call raises InfrastructureError."""

    def __init__(self, connection: asyncpg.Connection, database_url: str) -> None:
        self._connection = connection
        self._database_url = database_url

    async def facts(self) -> RecoveryFacts:
        """What a recovery looks at first."""
        with database_errors(self._database_url):
            row = await self._connection.fetchrow(statement("recovery_facts"))
        return RecoveryFacts(**dict(row or {}))

    async def progress(self, topic: str, partition_count: int) -> dict[int, PartitionProgress]:
        """The rows of a topic's partitions; without offsets where nothing was stored."""
        with database_errors(self._database_url):
            rows = await self._connection.fetch(statement("progress"), topic, list(range(partition_count)))
        return {row["partition"]: PartitionProgress(row["done_offset"] or 0, row["restore_until"] or 0) for row in rows}

    async def begin(self, topic: str, untils: Mapping[int, int], incarnation: str, actor: str, found: bytes) -> bool:
        """See begin_recovery_v1; False where an unfinished one goes on."""
        with database_errors(self._database_url):
            began: bool = await self._connection.fetchval(
                statement("recovery_begin"), topic, list(untils), list(untils.values()), incarnation, actor, found
            )
        return began

    async def raise_sequences(self, topic: str, partition: int, read_until: int, last: Mapping[str, int]) -> int:
        """Every thread goes on above its last sequence on the topic; how many were behind."""
        threads = sorted(last)
        with database_errors(self._database_url):
            raised: int = await self._connection.fetchval(
                statement("recovery_raise"), topic, partition, read_until, threads, [last[one] for one in threads]
            )
        return raised

    async def finish(self, actor: str, done: bytes) -> None:
        """Runners may run again."""
        with database_errors(self._database_url):
            await self._connection.execute(statement("recovery_finish"), actor, done)


@asynccontextmanager
async def open_recovery(database_url: str) -> AsyncIterator[RecoveryStore]:
    """Raises SchemaVersionError where the database does not fit this build, and as `database_errors` does."""
    with database_errors(database_url):
        connection = await asyncpg.connect(database_url, timeout=10.0, server_settings=_SETTINGS)
    try:
        with database_errors(database_url):
            await require_schema(connection)
        yield RecoveryStore(connection, database_url)
    finally:
        await connection.close(timeout=5.0)

"""Which processes may still call a provider: one row per instance (protocol R22 c)."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from intention_kernel.postgres.statements import statement


async def record_start(connection: asyncpg.Connection, instance: str, boot: UUID) -> None:
    """A new life of this instance: it proves that an older one is dead."""
    await connection.execute(statement("record_process_start"), instance, boot)


async def record_stop(connection: asyncpg.Connection, instance: str, boot: UUID) -> None:
    """This life has nothing under way any more and is about to end."""
    await connection.execute(statement("record_process_stop"), instance, boot)

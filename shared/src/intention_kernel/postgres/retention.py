"""The Retention port in Postgres: one function a call, which may be repeated (protocol R11, R38)."""

from __future__ import annotations

from intention_kernel.ports.retention import Deletion, Thinned
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean


class PostgresRetention:
    """See the port."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def thin(self, thread_id: str, older_seconds: float, limit: int) -> Thinned:
        [row] = await self._pool.fetch(statement("thin_thread"), (thread_id, older_seconds, limit))
        return Thinned(row["turns"], row["receipts"])

    async def delete(self, thread_id: str, actor: str, reason: str) -> Deletion:
        [row] = await self._pool.fetch(statement("delete_thread"), (thread_id, clean(actor), clean(reason)))
        outcome: Deletion = row["outcome"]
        return outcome

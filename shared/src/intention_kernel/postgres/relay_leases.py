"""The RelayLeases port in Postgres: rows of `relay_leases` and `relays`, on the database's clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from intention_kernel.ports.outbox import Beat
from intention_kernel.postgres.outbox_connections import store_errors
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.statements import statement

_BEAT = statement("relay_beat")
_TAKE = statement("relay_take")
_RELEASE = statement("relay_release")
_LEAVE = statement("relay_leave")


class PostgresRelayLeases:
    """See the port. Commits wait for the disk: an epoch that a crash took back could be handed out twice (R2)."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def beat(self, owner: str, epochs: Mapping[int, int], lease_seconds: float) -> Beat:
        with store_errors("renewing the relay's leases"):
            (row,) = await self._pool.fetch(_BEAT, (owner, lease_seconds, list(epochs), list(epochs.values())))
        return Beat(
            renewed=frozenset(row["renewed"]),
            live_relays=row["live_relays"],
            shard_count=row["shard_count"],
            next_expiry_seconds=row["next_expiry_seconds"],
        )

    async def take(
        self, owner: str, limit: int, lease_seconds: float, *, held: Collection[int] = ()
    ) -> Mapping[int, int]:
        with store_errors("taking shards"):
            rows = await self._pool.fetch(_TAKE, (owner, lease_seconds, limit, list(held)))
        return {row["shard"]: row["epoch"] for row in rows}

    async def release(self, owner: str, epochs: Mapping[int, int]) -> None:
        with store_errors("releasing shards"):
            await self._pool.fetch(_RELEASE, (owner, list(epochs), list(epochs.values())))

    async def leave(self, owner: str) -> None:
        with store_errors("leaving"):
            await self._pool.fetch(_LEAVE, (owner,))

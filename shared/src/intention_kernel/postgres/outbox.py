"""The Outbox port in Postgres: rows of `outbox`, with the bytes that they hold or point at (protocol R35, R37)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import asyncpg
from cramjam import DecompressionError

from intention_kernel.contracts.event import unpack_pairs
from intention_kernel.ports.outbox import OutboxRecord, OutboxRow, Stream
from intention_kernel.postgres.outbox_connections import store_errors
from intention_kernel.postgres.packing import unpack
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.statements import statement

_FETCH = statement("relay_fetch")
_DELETE = statement("relay_delete")
_REFUSE = statement("relay_refuse")


class PostgresOutbox:
    """See the port; every call is one statement in autocommit."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def fetch(
        self, shards: Collection[int], *, rows_per_shard: int, max_bytes: int, held: Collection[Stream]
    ) -> Sequence[OutboxRow]:
        threads, topics = [thread for thread, _ in held], [topic for _, topic in held]
        with store_errors("reading the outbox"):
            rows = await self._pool.fetch(_FETCH, (list(shards), rows_per_shard, max_bytes, threads, topics))
        return [_row(row) for row in rows]

    async def delete(self, rows: Sequence[OutboxRow]) -> None:
        # In the order of the key, so that two deletes that meet wait for each other instead of blocking each other.
        ordered = sorted(rows, key=lambda row: (row.shard, row.id))
        with store_errors("deleting from the outbox"):
            await self._pool.fetch(
                _DELETE,
                (
                    [row.shard for row in ordered],
                    [row.id for row in ordered],
                    [row.thread_id for row in ordered],
                    [row.topic for row in ordered],
                    [row.dedupe for row in ordered],
                ),
            )

    async def refuse(self, row: OutboxRow, reason: str) -> None:
        with store_errors("refusing an outbox row"):
            await self._pool.fetch(
                _REFUSE, (row.shard, row.id, row.thread_id, row.topic, row.dedupe, reason.replace("\0", ""))
            )


def _row(row: asyncpg.Record) -> OutboxRow:
    records, size_bytes, unreadable = _records(row["block"], row["value"])
    return OutboxRow(
        shard=row["shard"],
        id=row["id"],
        thread_id=row["thread_id"],
        topic=row["topic"],
        dedupe=row["dedupe"],
        first_sequence=row["first_sequence"],
        records=records,
        size_bytes=size_bytes,
        unreadable=unreadable,
    )


def _records(block: bytes | None, value: bytes | None) -> tuple[tuple[OutboxRecord, ...], int, str | None]:
    if value is not None:
        return (((), value),), len(value), None
    if block is None:
        return (), 0, "the turn that it points at is gone"
    try:
        packed = unpack(block)
        records = unpack_pairs(packed)
    except (ValueError, TypeError, IndexError, DecompressionError) as error:
        return (), 0, f"its bytes cannot be read: {error}"
    return records, len(packed), None

"""The Postgres adapter under the contract suites: what is stored is read by SQL of its own, on a connection of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import asyncpg

from intention_kernel.contracts.event import WireRecord, unpack_records
from intention_kernel.ids import random_id
from intention_kernel.ports.turn_store import JournalEntry, Origin
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.origin_rows import unpack_headers
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.redrives import PostgresRedrives
from intention_kernel.postgres.retention import PostgresRetention
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_harness import (
    StoredHead,
    StoredItem,
    StoredOutboxRow,
    StoredReceipt,
    StoredTransition,
    StoredTurn,
)


class PostgresHarness:
    """A BoundaryHarness over a store that is open and a connection beside it."""

    def __init__(
        self,
        store: PostgresStore,
        redrives: PostgresRedrives,
        retention: PostgresRetention,
        connection: asyncpg.Connection,
    ) -> None:
        self._store = store
        self._redrives = redrives
        self._retention = retention
        self._connection = connection

    @property
    def store(self) -> PostgresStore:
        """The store under test."""
        return self._store

    @property
    def redrives(self) -> PostgresRedrives:
        """What people do about what was given up."""
        return self._redrives

    @property
    def retention(self) -> PostgresRetention:
        """What may be forgotten."""
        return self._retention

    async def expire_lease(self, thread_id: str) -> None:
        """As if its time had passed: the deadline is a moment ago."""
        await self._connection.execute(
            "update threads set lease_until = clock_timestamp() - interval '1 microsecond'"
            " where thread_id = $1 and lease_nonce is not null",
            thread_id,
        )

    async def publish(self, thread_id: str) -> None:
        await self._connection.execute("delete from outbox where thread_id = $1", thread_id)

    async def scan(self) -> None:
        await self._connection.execute("select scan_receipts_v1(1000000)")

    async def settle(
        self, receipt_id: str, seen_version: int, outcome: Literal["completed", "failed"], value: bytes | None
    ) -> bool:
        row = await self._connection.fetchrow(
            "select s.outcome from receipts as r cross join lateral settle_receipt_v1(r.thread_id, r.effect_key, $2,"
            " $3, $4, null, $5, null, ''::bytea, null, 'test', null) as s where r.receipt_id = $1",
            receipt_id,
            seen_version,
            "applied" if outcome == "completed" else "not_applied",
            pack(value or b"") if outcome == "completed" else None,
            random_id().hex,
        )
        assert row is not None
        return bool(row["outcome"] == "settled")

    async def head(self, thread_id: str) -> StoredHead | None:
        row = await self._connection.fetchrow(
            "select revision, next_sequence, fence, attempts, case when lease_nonce is null then 0 else"
            " greatest(extract(epoch from lease_until - clock_timestamp()), 0) end::float8 as lease_seconds"
            " from threads where thread_id = $1",
            thread_id,
        )
        return StoredHead(**dict(row)) if row else None

    async def turns(self, thread_id: str) -> tuple[StoredTurn, ...]:
        rows = await self._rows(
            "select turn_id, revision, status, request, result, first_sequence, event_count from turns"
            " where thread_id = $1 order by revision",
            thread_id,
        )
        return tuple(
            StoredTurn(**{**row, "request": unpack(row["request"]), "result": unpack(row["result"])}) for row in rows
        )

    async def journal(self, thread_id: str, turn_id: str) -> tuple[JournalEntry, ...]:
        rows = await self._rows(
            "select entry, kind, effect_key, outcome, request_digest, body from turn_journal"
            " where thread_id = $1 and turn_id = $2 order by position",
            thread_id,
            turn_id,
        )
        return tuple(JournalEntry(**{**row, "body": unpack(row["body"])}) for row in rows)

    async def receipts(self, thread_id: str) -> tuple[StoredReceipt, ...]:
        rows = await self._rows(
            "select receipt_id, effect_key, state, attempt, version, settlements, contradicted, payload, value, title,"
            " deduplicates, key_window_seconds, returned_at is not null as returned"
            " from receipts where thread_id = $1 order by effect_key",
            thread_id,
        )
        return tuple(
            StoredReceipt(**{**row, "payload": unpack(row["payload"]), "value": unpacked(row["value"])}) for row in rows
        )

    async def transitions(self, thread_id: str, effect_key: str) -> tuple[StoredTransition, ...]:
        rows = await self._rows(
            "select version, from_state, state, attempt, contradicted, settlements from receipt_transitions"
            " where thread_id = $1 and effect_key = $2 order by version",
            thread_id,
            effect_key,
        )
        return tuple(StoredTransition(**row) for row in rows)

    async def items(self, thread_id: str, effect_key: str) -> tuple[StoredItem, ...]:
        rows = await self._rows(
            "select settlement, kind, phase from reconciliation_items"
            " where thread_id = $1 and effect_key = $2 order by settlement, kind",
            thread_id,
            effect_key,
        )
        return tuple(StoredItem(**row) for row in rows)

    async def blocked_steps(self, thread_id: str) -> frozenset[tuple[str, str]]:
        rows = await self._rows("select effect_key, turn_id from blocked_steps where thread_id = $1", thread_id)
        return frozenset((row["effect_key"], row["turn_id"]) for row in rows)

    async def outbox(self, thread_id: str) -> tuple[StoredOutboxRow, ...]:
        rows = await self._rows(
            "select o.topic, o.dedupe, o.first_sequence, coalesce(t.events, o.records) as block, o.value from outbox as o"
            " left join turns as t on t.thread_id = o.thread_id and t.turn_id = o.turn_id"
            " where o.thread_id = $1 order by o.id",
            thread_id,
        )
        return tuple(
            StoredOutboxRow(row["topic"], row["dedupe"], row["first_sequence"], records_of(row)) for row in rows
        )

    async def set_aside(self, thread_id: str) -> tuple[tuple[str, Origin], ...]:
        rows = await self._rows("select * from set_aside_turns where thread_id = $1 order by revision", thread_id)
        return tuple((row["turn_id"], origin_of(row)) for row in rows)

    async def rejected(self, topic: str, partition: int) -> tuple[tuple[str, Origin], ...]:
        rows = await self._rows(
            "select * from rejected_requests where origin_topic = $1 and origin_partition = $2 order by origin_offset",
            topic,
            partition,
        )
        return tuple((row["reason"], origin_of(row)) for row in rows)

    async def audited(self, thread_id: str) -> tuple[tuple[str, str], ...]:
        rows = await self._rows(
            "select actor, action from audit_log where thread_id = $1 and action in ('redrive', 'drop') order by id",
            thread_id,
        )
        return tuple((row["actor"], row["action"]) for row in rows)

    async def _rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        return [dict(row) for row in await self._connection.fetch(sql, *parameters)]


@asynccontextmanager
async def open_boundary(database_url: str) -> AsyncIterator[PostgresHarness]:
    """A store on that database and the connection beside it, closed at the end."""
    async with PostgresStore.open(database_url) as store, open_pool(database_url, pool_size=1) as (pool, wake):
        connection = await asyncpg.connect(database_url)
        try:
            yield PostgresHarness(store, PostgresRedrives(pool, wake), PostgresRetention(pool), connection)
        finally:
            await connection.close()


def unpacked(stored: bytes | None) -> bytes | None:
    """What was packed, where anything was."""
    return None if stored is None else unpack(stored)


def records_of(row: dict[str, Any]) -> tuple[WireRecord, ...]:
    """The records of an outbox row: a packed block, or one plain value."""
    if row["block"] is None:
        return (WireRecord((), row["value"]),)
    return unpack_records(unpack(row["block"]))


def origin_of(row: dict[str, Any]) -> Origin:
    """Where a kept record came from."""
    return Origin(
        topic=row["origin_topic"],
        partition=row["origin_partition"],
        offset=row["origin_offset"],
        key=row["record_key"],
        value=row["record_value"],
        headers=unpack_headers(row["record_headers"]),
        timestamp_ms=row["record_timestamp_ms"],
    )

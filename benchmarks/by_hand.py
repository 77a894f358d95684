"""The turn of the boundary benchmarks as one would write it by hand: four transactions on a few held connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from intention_kernel.errors import IntentionKernelError
from intention_kernel.ids import random_id, receipt_id
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.pool import PINNED_PLANS

from benchmarks.payloads import EVENTS, Payload
from benchmarks.sides import AGENT, CALL_SECONDS, EFFECT, FINGERPRINT, LEASE_SECONDS, REQUESTED_AT_MS, TENANT

SQL = {file.stem: file.read_text("utf-8") for file in (Path(__file__).parent / "sql").glob("*.sql")}


class Connections:
    """A few connections that are handed from turn to turn as they are: the reset of a pool would be a round trip more."""

    def __init__(self, connections: Sequence[asyncpg.Connection]) -> None:
        self._idle: asyncio.LifoQueue[asyncpg.Connection] = asyncio.LifoQueue()
        for connection in connections:
            self._idle.put_nowait(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        """BEGIN and COMMIT, each a round trip, on the next idle connection."""
        connection = await self._idle.get()
        try:
            async with connection.transaction():
                yield connection
        finally:
            self._idle.put_nowait(connection)


@asynccontextmanager
async def held_connections(database_url: str, count: int) -> AsyncIterator[Connections]:
    """With the same pinned plans as ours: default ones become scans as the tables grow."""
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = await asyncpg.connect(database_url, server_settings=PINNED_PLANS)
            stack.push_async_callback(connection.close)
            connections.append(connection)
        yield Connections(connections)


async def create_tables(database_url: str, thread_ids: Sequence[str]) -> None:
    """In an empty database, with a head for every thread."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(SQL["schema"])
        await connection.execute(SQL["add_threads"], list(thread_ids))
    finally:
        await connection.close()


@dataclass(frozen=True, slots=True)
class HandSide:
    """See benchmarks.sides.Side. It packs what it stores as ours does, so that both write the same bytes."""

    connections: Connections
    payloads: Sequence[Payload]

    async def turn(self, thread_id: str, number: int) -> None:
        payload = self.payloads[number % len(self.payloads)]
        turn_id, effect_key, attempt_id = f"turn-{number}", f"{EFFECT}:{number}", random_id()
        revision, sequence = await self._begin(thread_id, turn_id)
        async with self.connections.transaction() as connection:
            await connection.execute(
                SQL["add_receipt"],
                thread_id,
                effect_key,
                receipt_id(thread_id, effect_key),
                EFFECT,
                turn_id,
                AGENT,
                TENANT,
                attempt_id,
                payload.digest,
                pack(payload.effect_payload),
                pack(b"{}"),
                payload.summary.title,
                CALL_SECONDS,
            )
            body = pack(payload.journal)
            await connection.execute(SQL["add_journal"], thread_id, turn_id, "model", payload.digest, body)
        async with self.connections.transaction() as connection:
            value = pack(payload.effect_value)
            await connection.execute(SQL["complete_receipt"], thread_id, effect_key, attempt_id, value)
        await self._commit(thread_id, turn_id, revision, sequence, payload)

    async def _begin(self, thread_id: str, turn_id: str) -> tuple[int, int]:
        async with self.connections.transaction() as connection:
            head = await connection.fetchrow(SQL["lock_thread"], thread_id, turn_id)
            if head is None or head["is_leased"] or head["result"] is not None:
                raise IntentionKernelError(f"{thread_id} is not free for {turn_id}: {head}")
            await connection.execute(SQL["take_lease"], thread_id, turn_id, LEASE_SECONDS)
        if head["checkpoint"] is not None:
            unpack(head["checkpoint"])
        return head["revision"], head["next_sequence"]

    async def _commit(self, thread_id: str, turn_id: str, revision: int, sequence: int, payload: Payload) -> None:
        async with self.connections.transaction() as connection:
            checkpoint = pack(payload.checkpoint)
            moved = await connection.fetchval(
                SQL["move_thread"], thread_id, revision, EVENTS, AGENT, TENANT, FINGERPRINT, 1, checkpoint
            )
            if moved is None:
                raise IntentionKernelError(f"{thread_id} moved on from revision {revision}")
            await connection.execute(
                SQL["add_turn"],
                thread_id,
                turn_id,
                moved,
                "completed",
                payload.digest,
                pack(payload.request),
                REQUESTED_AT_MS,
                pack(payload.result),
                sequence,
                EVENTS,
                pack(payload.events),
            )
            await connection.execute(SQL["add_outbox"], thread_id, sequence, EVENTS, turn_id)
            await connection.execute(SQL["delete_journal"], thread_id, turn_id)

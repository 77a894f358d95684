"""Receipts in a database of one test, put there as attempts leave them, and what can be read of them afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from intention_kernel.agent.effect import Effect, Ports, Resolver
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.receipt import Summary
from intention_kernel.durability.operations import AbandonedOperations
from intention_kernel.ids import random_id, receipt_id
from intention_kernel.ports.operator_queue import QueueItem
from intention_kernel.postgres.operator_queue import PostgresQueue, open_queue
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.reconciliation import PostgresReceipts
from intention_kernel.reconciliation.listing import Page, list_items
from intention_kernel.reconciliation.pace import Pace
from intention_kernel.reconciliation.reconciler import Reconciler
from intention_kernel.reconciliation.workbench import Workbench

AGENT = "shop"
QUICK = Pace(first_seconds=0.01, longest_seconds=0.05, lookup_seconds=1.0, again_seconds=0.05)
EFFECT_ID = "shop.charge"

_INSERT = """
insert into receipts (thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, tenant_id, state, attempt, attempt_id,
  fence, fingerprint, payload, host_context, title, provider, amount, currency, deduplicates, key_window_seconds,
  first_prepared_at, prepared_at, call_deadline, instance, boot, cause)
values ($1, $2, $3, $4, 'turn-1', $5, 'tenant', 'prepared', 1, $6, $7, 'fp', $8, $9, 'Charge 12 EUR', 'acme', 12, 'EUR', $10, $11,
  clock_timestamp() - make_interval(secs => $12), clock_timestamp() - make_interval(secs => $12),
  clock_timestamp() + make_interval(secs => $13), 'runner-1', $14, 'prepare')
"""

_WRITERS = """
select xmin::text as writer from receipts where receipt_id = $1
union all select xmin::text from reconciliation_items
union all select xmin::text from decisions
union all select xmin::text from audit_log
union all select xmin::text from outbox where topic = 'turns.requests' or dedupe like '%:decided'
"""


@dataclass(frozen=True, slots=True)
class Charge:
    """The result of the effect under test."""

    charge: str


@dataclass(slots=True)
class Ledger:
    """One test's database."""

    url: str
    connection: asyncpg.Connection
    receipts: PostgresQueue
    boot: Any = field(default_factory=random_id)

    async def thread(self, thread_id: str = "t", *, fence: int = 1, leased: bool = False) -> None:
        """A thread's head; leased for an hour, or not at all."""
        await self.connection.execute(
            "insert into threads (thread_id, agent_id, fence, turn_id, turn_digest, lease_nonce, lease_until)"
            " values ($1, $2, $3, 'turn-1', 'd', $4, case when $5 then clock_timestamp() + interval '1 hour'"
            " else '-infinity'::timestamptz end)",
            thread_id,
            AGENT,
            fence,
            random_id() if leased else None,
            leased,
        )

    async def prepared(
        self,
        thread_id: str = "t",
        key: str = f"{EFFECT_ID}:1",
        *,
        fence: int = 1,
        effect_id: str = EFFECT_ID,
        ago_seconds: float = 60.0,
        deadline_in_seconds: float = -30.0,
        window_seconds: float | None = None,
    ) -> str:
        """A receipt as a prepare leaves it; its id."""
        await self.connection.execute(
            _INSERT,
            thread_id,
            key,
            receipt_id(thread_id, key),
            effect_id,
            AGENT,
            random_id(),
            fence,
            pack(dumps({"amount": 12})),
            pack(b"{}"),
            window_seconds is not None,
            window_seconds,
            ago_seconds,
            deadline_in_seconds,
            self.boot,
        )
        return receipt_id(thread_id, key)

    async def uncertain(self, thread_id: str = "t", key: str = f"{EFFECT_ID}:1", **more: Any) -> str:
        """A receipt of a thread of its own whose attempt is over; its id."""
        returned = more.pop("returned", False)
        await self.thread(thread_id)
        made = await self.prepared(thread_id, key, **more)
        await self.connection.execute(
            "update receipts set state = 'uncertain', version = version + 1, cause = 'uncertain',"
            " returned_at = case when $2 then clock_timestamp() end where receipt_id = $1",
            made,
            returned,
        )
        return made

    async def receipt(self, receipt_id: str) -> Any:
        return await self.connection.fetchrow("select * from receipts where receipt_id = $1", receipt_id)

    async def value(self, receipt_id: str) -> JsonValue:
        stored = (await self.receipt(receipt_id))["value"]
        return None if stored is None else loads(unpack(stored))

    async def item(self, settlement: int = 1) -> Any:
        """The only item of that number."""
        return await self.connection.fetchrow(
            "select * from reconciliation_items where settlement = $1 and kind = 'effect'", settlement
        )

    async def listed(self, query: str = "", *, reader: str = "ana") -> tuple[QueueItem, ...]:
        """The first page of the queue."""
        page = await list_items(self.receipts, query, reader=reader)
        assert isinstance(page, Page), page
        return page.items

    async def all(self, table: str) -> list[Any]:
        return list(await self.connection.fetch(f"select * from {table}"))

    async def outbox(self, topic: str) -> list[JsonValue]:
        """The values of that topic's rows, oldest first."""
        rows = await self.connection.fetch("select value from outbox where topic = $1 order by id", topic)
        return [loads(row["value"]) for row in rows]

    async def writers(self, receipt_id: str) -> int:
        """How many transactions wrote the receipt as it is now and what belongs to its settlement."""
        writers = await self.connection.fetch(_WRITERS, receipt_id)
        return len({row["writer"] for row in writers})

    async def commit_continuation(self) -> str:
        """The turn row of the continuation that was asked for; its turn id."""
        turn_id: str = (await self.item())["turn_id"]
        await self.connection.execute(
            "insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result,"
            " first_sequence, event_count, events, fence)"
            " select thread_id, $1, 1, 'completed', 'd', 'r', 0, 'r', 1, 0, 'e', 1 from reconciliation_items",
            turn_id,
        )
        return turn_id

    async def due_now(self) -> None:
        """Whatever waits for its next look is due."""
        await self.connection.execute(
            "update reconciliation_items set next_look_at = clock_timestamp() where isfinite(next_look_at)"
        )


@asynccontextmanager
async def ledger(url: str) -> AsyncIterator[Ledger]:
    """The database, with a connection of the test's own."""
    connection = await asyncpg.connect(url)
    try:
        async with open_queue(url, pool_size=2) as receipts:
            yield Ledger(url, connection, receipts)
    finally:
        await connection.close()


def effect(resolver: Resolver, effect_id: str = EFFECT_ID, **more: Any) -> Effect:
    """The effect under test."""
    return Effect(id=effect_id, result=Charge, describe=lambda _: Summary("Charge"), resolver=resolver, **more)


def reconciler(
    receipts: PostgresReceipts, *effects: Effect, ports: Ports | None = None, pace: Pace = QUICK
) -> Reconciler:
    """A reconciler of an application with these effects."""
    known = {one.id: one for one in effects}

    def effect_of(agent_id: str, effect_id: str) -> Effect | None:
        return known.get(effect_id) if agent_id == AGENT else None

    return Reconciler(Workbench(receipts, effect_of, ports or {}, pace, SystemClock(), AbandonedOperations()))


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 20.0) -> None:
    """Return as soon as the awaited condition is true."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not (last := await condition()):
        assert loop.time() < deadline, f"still {last!r} after {seconds} s"
        await asyncio.sleep(0.02)


def phases(notices: Sequence[JsonValue]) -> list[object]:
    """The phases that notices tell, in order."""
    return [notice["phase"] for notice in notices if isinstance(notice, dict)]

"""FAN-7's compiled agent over a real database, in this process, and everything that people read and do beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import asyncpg
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.effect import NamedPorts
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.contracts.turn_request import decode_turn_request
from intention_kernel.durability.durability import Durability, TurnLimits
from intention_kernel.durability.outcome import TurnCommitted
from intention_kernel.durability.process import ProcessIdentity
from intention_kernel.ids import random_id
from intention_kernel.ports.conversations import Document
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.turn_body import Delivery
from intention_kernel.ports.turn_store import Origin
from intention_kernel.postgres.conversations import PostgresConversations
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.operator_queue import IN_ORDER
from intention_kernel.postgres.redrives import PostgresRedrives
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.runtime.agent_body import AgentBody
from intention_kernel.runtime.events import Observers
from intention_kernel.testing.collecting import KeptTraces

from examples.fan7.compiled import fan7_agent
from examples.fan7.model import Fan7Model
from tests.fan7.talking import FakeInventory

EVERYTHING = Scope()
RESERVE = "reserve 2 FILTER-A for FAN-7"


@dataclass(slots=True)
class Bench:
    """A thread's turns are run by `say`; nobody delivers continuations."""

    store: PostgresStore
    conversations: PostgresConversations
    redrives: PostgresRedrives
    connection: asyncpg.Connection
    inventory: FakeInventory = field(default_factory=FakeInventory)
    agent: CompiledAgent = field(default_factory=fan7_agent)
    offset: int = 0

    async def say(self, turn_id: str, text: str, thread_id: str = "t", tenant_id: str | None = "acme") -> None:
        """Run one turn to its commit."""
        document = {"schemaVersion": 1, "threadId": thread_id, "turnId": turn_id, "agentId": self.agent.id}
        value = dumps({**document, "input": {"text": text}, **({"tenantId": tenant_id} if tenant_id else {})})
        self.offset += 1
        origin = Origin("turns.requests", 0, self.offset, thread_id.encode(), value, (), 1_767_225_600_000)
        delivery = Delivery(decode_turn_request(origin.key, value), origin, random_id())
        clock = SystemClock()
        durability = Durability(self.store, clock, TurnLimits(30.0, 1), ProcessIdentity("bench", random_id()))
        ports = NamedPorts({"inventory": self.inventory})
        body = AgentBody(self.agent, Fan7Model(), ports, Observers(KeptTraces(), (), None), clock, 60.0)
        outcome = await durability.with_turn(delivery, body)
        assert isinstance(outcome, TurnCommitted), outcome

    async def lose_a_reservation(self, thread_id: str = "t", tenant_id: str | None = "acme") -> str:
        """Reserve, confirmed, and lose the answer: the receipt's id, which is uncertain."""
        self.inventory.loses = True
        await self.say("ask", RESERVE, thread_id, tenant_id)
        await self.say("yes", "yes", thread_id, tenant_id)
        found = await self.connection.fetchval("select receipt_id from receipts where thread_id = $1", thread_id)
        return cast("str", found)

    async def thread(self, thread_id: str = "t", scope: Scope = EVERYTHING, before: int | None = None) -> Document:
        found = await self.conversations.thread(thread_id, scope, before=before)
        assert found is not None
        return found

    async def turn(self, turn_id: str, thread_id: str = "t", scope: Scope = EVERYTHING) -> Document:
        found = await self.conversations.turn(thread_id, turn_id, scope)
        assert found is not None
        return found

    async def audit(self) -> list[tuple[str, str]]:
        """Who did what, the oldest first."""
        rows = await self.connection.fetch("select actor, action from audit_log order by id")
        return [(row["actor"], row["action"]) for row in rows]


@asynccontextmanager
async def conversing(url: str) -> AsyncIterator[Bench]:
    """A bench over a database of its own; the pool is as the queue's."""
    connection = await asyncpg.connect(url)
    try:
        async with PostgresStore.open(url) as store, open_pool(url, pool_size=1, settings=IN_ORDER) as (pool, wake):
            yield Bench(store, PostgresConversations(pool), PostgresRedrives(pool, wake), connection)
    finally:
        await connection.close()

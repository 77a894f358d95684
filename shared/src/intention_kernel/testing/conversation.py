"""An agent over any store, in this process: requests in, outcomes out, no Kafka. For contract suites and applications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.compiled import AnyAgent
from intention_kernel.clock import Clock, SystemClock
from intention_kernel.contracts.checkpoint import Checkpoint, decode_checkpoint
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.turn_request import TurnRequest, decode_turn_request
from intention_kernel.durability.durability import Durability, TurnLimits
from intention_kernel.durability.outcome import BeginAgain, Outcome
from intention_kernel.durability.process import DurableStore, ProcessIdentity
from intention_kernel.ids import random_id
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.ports.turn_body import Delivery, TurnBody
from intention_kernel.ports.turn_store import Begin, Begun, Origin
from intention_kernel.runtime.agent_body import AgentBody
from intention_kernel.runtime.events import EventSink, Observers
from intention_kernel.runtime.program_body import ProgramBody
from intention_kernel.testing.boundary_harness import BoundaryHarness
from intention_kernel.testing.collecting import KeptTraces

REQUESTED_AT_MS = 1_767_225_600_000


@dataclass(slots=True)
class Conversation:
    """One thread of one agent. Every `send` is one delivery of one request."""

    boundary: BoundaryHarness
    agent: AnyAgent
    thread_id: str = field(default_factory=lambda: f"thread-{random_id().hex}")
    tenant_id: str | None = None
    ports: Mapping[str, object] = field(default_factory=dict)
    redact: Callable[[JsonValue], JsonValue] | None = None
    sinks: tuple[EventSink, ...] = ()
    limits: TurnLimits = field(default_factory=lambda: TurnLimits(lease_seconds=10.0, attempts=3))
    timeout_seconds: float = 20.0
    clock: Clock = field(default_factory=SystemClock)
    traces: KeptTraces = field(default_factory=KeptTraces)
    process: ProcessIdentity = field(default_factory=lambda: ProcessIdentity("here", random_id()))
    store: DurableStore | None = None
    gateway: ModelGateway | None = None
    _offset: int = 0
    _delivered: set[str] = field(default_factory=set)

    async def send(
        self,
        text: str,
        turn_id: str,
        *,
        agent_id: str | None = None,
        alone: bool = False,
        held_too_long: str | None = None,
        deadline_seconds: float | None = None,
        at_ms: int = REQUESTED_AT_MS,
        host_context: dict[str, JsonValue] | None = None,
    ) -> Outcome | BeginAgain:
        """Deliver a user's request once."""
        delivery = self.delivery_of(
            text,
            turn_id,
            agent_id=agent_id,
            deadline_seconds=deadline_seconds,
            at_ms=at_ms,
            host_context=host_context,
        )
        return await self.deliver(replace(delivery, alone=alone, held_too_long=held_too_long))

    def delivery_of(
        self,
        text: str,
        turn_id: str,
        *,
        agent_id: str | None = None,
        deadline_seconds: float | None = None,
        at_ms: int = REQUESTED_AT_MS,
        host_context: dict[str, JsonValue] | None = None,
    ) -> Delivery:
        """A user's request as Kafka would deliver it."""
        document: dict[str, JsonValue] = {
            "schemaVersion": 1,
            "threadId": self.thread_id,
            "turnId": turn_id,
            "agentId": agent_id or self.agent.id,
            "input": {"text": text},
        }
        if self.tenant_id is not None:
            document["tenantId"] = self.tenant_id
        if deadline_seconds is not None:
            document["deadlineSeconds"] = deadline_seconds
        if host_context is not None:
            document["hostContext"] = host_context
        return self.delivery(dumps(document), at_ms)

    async def deliver(self, delivery: Delivery) -> Outcome | BeginAgain:
        """One delivery of a request that was built elsewhere."""
        known = delivery.request.agent_id == self.agent.id
        return await self.durability().with_turn(delivery, self.body() if known else None)

    async def deliver_continuations(self, *, at_ms: int = REQUESTED_AT_MS + 60_000) -> list[Outcome | BeginAgain]:
        """Deliver every request that the outbox holds for this thread and that was not delivered yet."""
        outcomes = []
        for row in await self.boundary.outbox(self.thread_id):
            if row.topic == "turns.requests" and row.dedupe not in self._delivered:
                self._delivered.add(row.dedupe)
                outcomes.append(await self.deliver(self.delivery(row.records[0].value or b"", at_ms)))
        return outcomes

    def durability(self) -> Durability:
        """The spine over the store under test."""
        return Durability(self.store or self.boundary.store, self.clock, self.limits, self.process)

    def body(self) -> TurnBody:
        """The agent as this build runs it."""
        observers = Observers(self.traces, self.sinks, self.redact)
        agent, ports, clock, seconds = self.agent, self.ports, self.clock, self.timeout_seconds
        if isinstance(agent, Agent):
            return ProgramBody(agent, agent.fingerprint, ports, observers, clock, seconds)
        assert self.gateway is not None, "a compiled agent asks models"
        return AgentBody(agent, self.gateway, ports, observers, clock, seconds)

    async def events(self) -> list[dict[str, JsonValue]]:
        """Every durable event of the thread, as the topic would show it, in order."""
        found = []
        for row in await self.boundary.outbox(self.thread_id):
            if row.topic == "turns.events":
                for record in row.records:
                    document = loads(record.value or b"null")
                    assert isinstance(document, dict)
                    found.append(document)
        return found

    async def checkpoint(self) -> Checkpoint:
        """The thread's memory, read as a turn reads it; the thread is let go again."""
        store, request = self.boundary.store, _peek(self.thread_id, self.agent.id, self.tenant_id)
        begun = await store.begin(request)
        assert isinstance(begun, Begun), begun
        await store.release(self.thread_id, begun.fence, count_attempt=False)
        assert begun.checkpoint is not None
        return decode_checkpoint(begun.checkpoint)

    def delivery(self, value: bytes, at_ms: int = REQUESTED_AT_MS) -> Delivery:
        """These bytes as a record of the request topic. Raises RejectedError."""
        self._offset += 1
        key = self.thread_id.encode()
        request: TurnRequest = decode_turn_request(key, value)
        origin = Origin("turns.requests", 0, self._offset, key, value, (), at_ms)
        return Delivery(request, origin, random_id())


def _peek(thread_id: str, agent_id: str, tenant_id: str | None) -> Begin:
    return Begin(
        thread_id=thread_id,
        turn_id="peek",
        digest=b"peek",
        nonce=random_id(),
        agent_id=agent_id,
        tenant_id=tenant_id,
        accepts=None,
        schema_revision=1,
        attempts_limit=1_000,
        lease_seconds=1.0,
    )

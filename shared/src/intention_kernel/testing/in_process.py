"""Turns in this process, with the code that a turn-runner runs: the durability that `CompiledAgent.run` takes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, cast

from intention_kernel.agent.compiled import CompiledAgent, RunTurnInput, RunTurnResult
from intention_kernel.agent.effect import NamedPorts
from intention_kernel.clock import ManualClock
from intention_kernel.contracts.checkpoint import Checkpoint, decode_checkpoint
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.receipt import Receipt
from intention_kernel.contracts.turn_request import decode_turn_request
from intention_kernel.durability.durability import Durability, TurnLimits
from intention_kernel.durability.outcome import (
    BeginAgain,
    Outcome,
    TurnCommitted,
    TurnConflict,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.durability.process import ProcessIdentity
from intention_kernel.errors import TurnNotCommittedError
from intention_kernel.ids import random_id
from intention_kernel.memory.rows import ReceiptRow
from intention_kernel.memory.store import MemoryStore
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.ports.turn_body import Delivery
from intention_kernel.ports.turn_store import Origin
from intention_kernel.runtime.agent_body import AgentBody
from intention_kernel.runtime.events import EventSink, Observers, Redact
from intention_kernel.testing.collecting import KeptTraces
from intention_kernel.testing.watched_body import LostReplies, WatchedBody

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
"""Where the clock of a memory durability stands; it moves only by `advance`."""

LEASE_SECONDS = 30.0
"""Of a thread, on the clock that stands still: a turn that is under way keeps it until it ends."""


class MemoryDurability:
    """A durable boundary over memory, one process, with a clock that stands still: for tests, evaluations and examples.

    Threads are served one turn at a time. `ports` are what capabilities find in `context.ports`, as they are (an
    Application has factories instead). `attempts` is after how many failed attempts a turn is given up, `timeout_seconds` a
    turn's limit in real time. `clock` moves time; `store` and `traces` are for a look behind. Ids derive from thread, turn
    and step, so that the same turns leave the same bytes. Nothing survives the process; everything else is as in
    production, journal, receipts and continuations among it.
    """

    def __init__(
        self,
        gateway: ModelGateway,
        *,
        ports: Mapping[str, object] | None = None,
        redact: Redact | None = None,
        event_sinks: Sequence[EventSink] = (),
        attempts: int = 1,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.clock = ManualClock(START)
        self.store = MemoryStore(self.clock)
        self.traces = KeptTraces()
        self._gateway = gateway
        self._ports = NamedPorts(ports or {})
        self._observers = Observers(self.traces, tuple(event_sinks), redact)
        self._timeout_seconds = timeout_seconds
        process = ProcessIdentity("in-process", random_id())
        self._durability = Durability(self.store, self.clock, TurnLimits(LEASE_SECONDS, attempts), process)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._offset = 0
        self._delivered: set[str] = set()
        self._lost_replies = LostReplies()
        self._effect_errors: defaultdict[str, dict[str, str]] = defaultdict(dict)

    async def run_turn(self, agent: CompiledAgent, turn: RunTurnInput) -> RunTurnResult:
        """Run one turn to its commit, or replay it; the checkpoint of a replay is the thread's newest.

        Raises what failed the attempt where it was the last one, and TurnNotCommittedError for every other ending.
        """
        return await self._run(agent, turn.thread_id, _wire(agent, turn))

    def lose_reply(self, effect_id: str, times: int = 1) -> None:
        """Let the next operation of that effect do its work, and its reply get lost: nobody knows that it went through."""
        self._lost_replies[effect_id] += times

    async def settle(
        self, receipt_id: str, outcome: Literal["applied", "not_applied"], value: JsonValue = None
    ) -> None:
        """Say what became of an effect whose outcome is unknown, as a resolver or an operator would.

        Raises KeyError where no receipt has that id, TurnNotCommittedError where nothing about it is open.
        """
        await self.store.scan()
        row = next((r for r in self.store.tables.receipts.values() if r.receipt_id == receipt_id), None)
        if row is None:
            raise KeyError(receipt_id)
        state: Literal["completed", "failed"] = "completed" if outcome == "applied" else "failed"
        if not await self.store.settle(receipt_id, row.version, state, dumps(value) if outcome == "applied" else None):
            raise TurnNotCommittedError("not_settled", f"receipt {receipt_id} is {row.state}: nothing about it is open")

    async def run_continuations(self, agent: CompiledAgent, thread_id: str) -> list[RunTurnResult]:
        """Run every continuation turn that settlements and commits have asked for, in order."""
        results = []
        while (row := self._next_request(thread_id)) is not None:
            self._delivered.add(row[0])
            results.append(await self._run(agent, thread_id, row[1]))
        return results

    def events(self, thread_id: str) -> list[dict[str, JsonValue]]:
        """Every committed event of the thread as the topic would show it, in order."""
        rows = [row for row in self.store.tables.outbox if row.thread_id == thread_id and row.topic == "turns.events"]
        return [cast("dict[str, JsonValue]", loads(record.value or b"null")) for row in rows for record in row.records]

    def receipts(self, thread_id: str) -> dict[str, Receipt]:
        """Every effect of the thread by its key, as the stores have it now."""
        rows = self.store.tables.receipts_of(thread_id)
        return {row.effect_key: _receipt(row) for row in sorted(rows, key=lambda row: row.first_prepared_at)}

    def effect_errors(self, thread_id: str) -> dict[str, str]:
        """By effect key: why the last `run_effect` of it brought no value, such as a mistake in the operation."""
        return dict(self._effect_errors[thread_id])

    def checkpoint(self, thread_id: str) -> Checkpoint | None:
        """The thread's memory; None before its first turn."""
        head = self.store.tables.heads.get(thread_id)
        return decode_checkpoint(head.checkpoint) if head is not None and head.checkpoint is not None else None

    def _next_request(self, thread_id: str) -> tuple[str, bytes] | None:
        for row in self.store.tables.outbox:
            if row.thread_id == thread_id and row.topic == "turns.requests" and row.dedupe not in self._delivered:
                return row.dedupe, row.records[0].value or b""
        return None

    async def _run(self, agent: CompiledAgent, thread_id: str, value: bytes) -> RunTurnResult:
        async with self._locks[thread_id]:
            self._offset += 1
            key, at_ms = thread_id.encode(), round(self.clock.now().timestamp() * 1000)
            request = decode_turn_request(key, value)
            origin = Origin("turns.requests", 0, self._offset, key, value, (), at_ms)
            body = WatchedBody(self._body(agent), self._lost_replies, self._effect_errors[thread_id])
            while True:
                outcome = await self._durability.with_turn(Delivery(request, origin, random_id()), body)
                if isinstance(outcome, BeginAgain) and outcome.why == "attempt_failed":
                    continue
                return self._result(thread_id, request.turn_id, outcome, body.raised)

    def _body(self, agent: CompiledAgent) -> AgentBody:
        return AgentBody(agent, self._gateway, self._ports, self._observers, self.clock, self._timeout_seconds)

    def _result(
        self, thread_id: str, turn_id: str, outcome: Outcome | BeginAgain, raised: Exception | None
    ) -> RunTurnResult:
        match outcome:
            case TurnCommitted(result=result) | TurnReplayed(result=result):
                stored = cast("dict[str, JsonValue]", loads(result))
                checkpoint = self.checkpoint(thread_id)
                assert checkpoint is not None
                return RunTurnResult(
                    thread_id=thread_id,
                    turn_id=turn_id,
                    status=cast("str", stored["status"]),
                    response=cast("dict[str, JsonValue] | None", stored["response"]),
                    blocked_on=tuple(cast("list[str]", stored["blockedOn"])),
                    checkpoint=checkpoint,
                    replayed=isinstance(outcome, TurnReplayed),
                )
            case TurnFailed(reason=reason, detail=detail):
                raise raised or TurnNotCommittedError(reason, detail)
            case TurnRejected(reason=reason, detail=detail) | BeginAgain(why=reason, detail=detail):
                raise TurnNotCommittedError(reason, detail)
            case TurnConflict():
                raise TurnNotCommittedError("conflict", f"turn {turn_id} has other content on this thread")


def _wire(agent: CompiledAgent, turn: RunTurnInput) -> bytes:
    """The turn as the record that a producer would send."""
    turn_input: dict[str, JsonValue] = {"text": turn.text}
    if turn.selection is not None:
        turn_input["interactionSelection"] = turn.selection.to_json()
    if turn.summary is not None:
        turn_input["summary"] = turn.summary
    document: dict[str, JsonValue] = {
        "schemaVersion": 1,
        "threadId": turn.thread_id,
        "turnId": turn.turn_id,
        "agentId": agent.id,
        "input": turn_input,
    }
    if turn.tenant_id is not None:
        document["tenantId"] = turn.tenant_id
    if turn.host_context is not None:
        document["hostContext"] = dict(turn.host_context)
    return dumps(document)


def _receipt(row: ReceiptRow) -> Receipt:
    return Receipt(
        receipt_id=row.receipt_id,
        thread_id=row.thread_id,
        effect_key=row.effect_key,
        effect_id=row.effect_id,
        turn_id=row.turn_id,
        agent_id=row.agent_id,
        tenant_id=row.tenant_id,
        state=row.state,
        attempt=row.attempt,
        version=row.version,
        settlements=row.settlements,
        contradicted=row.contradicted,
        summary=row.summary,
        payload=loads(row.payload),
        value=loads(row.value) if row.value is not None else None,
        reference=row.reference,
        prepared_at=row.prepared_at,
        call_deadline=row.call_deadline,
    )

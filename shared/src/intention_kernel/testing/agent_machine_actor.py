"""What happens to one thread, as operations that can be done again on another store: messages, crashes, deploys, settlements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, cast

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.durability.outcome import BeginAgain, Outcome, TurnCommitted, TurnReplayed
from intention_kernel.durability.process import ProcessIdentity
from intention_kernel.errors import InfrastructureError, ModelGatewayError
from intention_kernel.ids import random_id
from intention_kernel.models.script import ConversationScript
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult
from intention_kernel.ports.turn_store import Commit, CommitAnswer, Contended
from intention_kernel.testing.agent_machine_model import Message
from intention_kernel.testing.agent_machine_world import HOST, Fate, Ledger, machine_agent
from intention_kernel.testing.boundary_harness import BoundaryHarness, BoundaryStore, receipt_of
from intention_kernel.testing.collecting import EventCollector
from intention_kernel.testing.conversation import Conversation

Fault = Literal["none", "models_away", "dies_after_call", "dies_before_commit", "loses_commit_reply"]
FAULTS: tuple[Fault, ...] = ("none", "models_away", "dies_after_call", "dies_before_commit", "loses_commit_reply")

Click = dict[str, JsonValue]

_UNDERSTANDING = ("capability.select", "turn.interpret")


@dataclass(slots=True)
class Gateway:
    """The script, and what it was asked; `away` lets the next request of understanding fail."""

    script: ConversationScript = field(default_factory=ConversationScript)
    away: bool = False
    known: set[str] = field(default_factory=set)

    @property
    def requests(self) -> list[ModelRequest]:
        return self.script.requests

    def learn(self, text: str, message: Message) -> None:
        """What the message means, whenever it is said."""
        if text in self.known:
            return
        self.known.add(text)
        line = self.script.when(text)
        if message.answer is not None:
            line.answers(message.answer == "yes")
        for capability_id, name in message.asks:
            line.proposes(capability_id, {"name": name}, objective=f"{capability_id} {name}")
        if message.cancels is not None:
            line.cancels(message.cancels)

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """The script's answer."""
        if self.away and request.task in _UNDERSTANDING:
            self.away = False
            raise ModelGatewayError("MODEL_UNAVAILABLE", "the provider is away", retryable=True)
        return await self.script.invoke(request)


class CutStore:
    """A store whose process dies at a place: nothing more of the attempt arrives, or its commit's reply does not."""

    def __init__(self, store: BoundaryStore, fault: Fault) -> None:
        self._store = store
        self._fault = fault

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        if self._fault == "dies_after_call":
            raise InfrastructureError("the process is gone")
        return await self._store.end(end)

    async def commit(self, commit: Commit) -> CommitAnswer:
        if self._fault == "dies_before_commit":
            raise InfrastructureError("the process is gone")
        answer = await self._store.commit(commit)
        if self._fault == "loses_commit_reply":
            raise InfrastructureError("the reply is lost")
        return answer

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        raise InfrastructureError("the process is gone")


class Actor:
    """One thread on one store. Two actors that do the same operations leave the same bytes."""

    def __init__(self, boundary: BoundaryHarness, thread_id: str) -> None:
        self.boundary = boundary
        self.ledger = Ledger()
        self.gateway = Gateway()
        self.sink = EventCollector()
        self.results: dict[str, bytes] = {}
        self.requests: dict[str, bytes] = {}
        self.conversation = Conversation(
            boundary,
            machine_agent(1),
            thread_id=thread_id,
            ports={"ledger": self.ledger},
            sinks=(self.sink,),
            gateway=self.gateway,
        )

    async def say(
        self,
        turn_id: str,
        message: Message,
        text: str,
        click: Click | None,
        at_ms: int,
        fault: Fault,
        fates: list[Fate],
    ) -> bytes:
        """A message or a click, delivered until it is committed. Returns the result's bytes."""
        self.gateway.learn(text, message)
        document: dict[str, JsonValue] = {
            "schemaVersion": 1,
            "threadId": self.conversation.thread_id,
            "turnId": turn_id,
            "agentId": "shop",
            "input": {"text": text, **({"interactionSelection": click} if click is not None else {})},
            "hostContext": {"token": HOST},
        }
        self.requests[turn_id] = dumps(document)
        self.ledger.fates = list(fates)
        result = await self._until_committed(lambda: self._deliver(self.requests[turn_id], at_ms), fault)
        self.ledger.fates = []
        self.results[turn_id] = result
        return result

    async def redeliver(self, turn_id: str, at_ms: int) -> Outcome | BeginAgain:
        """A request that has its outcome already."""
        return await self._deliver(self.requests[turn_id], at_ms)

    async def deploy(self, version: int) -> None:
        """A new process, of this build or the other one."""
        self.conversation.agent = machine_agent(version)
        self.conversation.process = ProcessIdentity("here", random_id())

    async def settle(self, key: str) -> bool:
        """On true evidence. Returns whether it was applied."""
        await self.boundary.scan()
        receipt = await receipt_of(self.boundary, self.conversation.thread_id, key)
        applied = self.ledger.applied(key) > 0
        value = dumps({"reference": key}) if applied else None
        outcome: Literal["completed", "failed"] = "completed" if applied else "failed"
        assert await self.boundary.settle(receipt.receipt_id, receipt.version, outcome, value)
        return applied

    async def go_on(self, at_ms: int, fates: list[Fate]) -> list[str]:
        """Every continuation that was asked for, until none is left that this build takes. Returns their turn ids."""
        self.ledger.fates, done = list(fates), []
        held: set[str] = set()
        while (found := await self._next_continuation(held)) is not None:
            turn_id, value = found
            outcome = await self._deliver(value, at_ms)
            if isinstance(outcome, BeginAgain):
                assert outcome.why == "held", outcome
                held.add(turn_id)
                continue
            assert isinstance(outcome, TurnCommitted), outcome
            self.results[turn_id], self.requests[turn_id] = outcome.result, value
            done.append(turn_id)
        self.ledger.fates = []
        return done

    async def events_after(self, sequence: int) -> list[dict[str, JsonValue]]:
        """The durable events behind that one, in order."""
        found = []
        for row in await self.boundary.outbox(self.conversation.thread_id):
            if row.topic == "turns.events" and (row.first_sequence or 0) > sequence:
                found += [cast("dict[str, JsonValue]", loads(record.value or b"null")) for record in row.records]
        return found

    async def _next_continuation(self, held: set[str]) -> tuple[str, bytes] | None:
        for row in await self.boundary.outbox(self.conversation.thread_id):
            if row.topic == "turns.requests" and row.dedupe not in self.results and row.dedupe not in held:
                return row.dedupe, row.records[0].value or b""
        return None

    async def _deliver(self, value: bytes, at_ms: int) -> Outcome | BeginAgain:
        return await self.conversation.deliver(self.conversation.delivery(value, at_ms))

    async def _until_committed(self, deliver: Callable[[], Awaitable[Outcome | BeginAgain]], fault: Fault) -> bytes:
        self.gateway.away = fault == "models_away"
        if fault in ("dies_after_call", "dies_before_commit", "loses_commit_reply"):
            self.conversation.store = CutStore(self.boundary.store, fault)  # type: ignore[assignment]  # delegates
        try:
            outcome = await deliver()
        except InfrastructureError:
            await self.boundary.expire_lease(self.conversation.thread_id)
            outcome = BeginAgain("attempt_failed")
        finally:
            self.gateway.away, self.conversation.store = False, None
        if isinstance(outcome, BeginAgain):
            assert outcome.why == "attempt_failed", outcome
            outcome = await deliver()
        assert isinstance(outcome, TurnCommitted | TurnReplayed), outcome
        return outcome.result

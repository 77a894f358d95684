"""The turn as its program sees it (interface 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.context import EffectResult, EventEmitter, Operation, Trigger
from intention_kernel.agent.effect import Ports
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput
from intention_kernel.errors import EffectConflictError, EffectError, EffectNotAppliedError, EffectUncertainError
from intention_kernel.ids import derived_id, receipt_id
from intention_kernel.ports.turn_body import TurnScope

_OUTCOMES = {EffectUncertainError: "uncertain", EffectConflictError: "conflict", EffectNotAppliedError: "failed"}


@dataclass(slots=True)
class ProgramContext:
    """A TurnContext over a scope. `clock_turn_id` is the turn whose clock and ids this one repeats (protocol R17)."""

    agent: Agent
    scope: TurnScope
    input: TurnInput
    host_context: Mapping[str, JsonValue]
    trigger: Trigger
    checkpoint: Checkpoint
    ports: Ports
    events: EventEmitter
    deadline: datetime
    correlation_id: str
    clock_turn_id: str
    _ids: Counter[str] = field(default_factory=Counter)

    @property
    def thread_id(self) -> str:
        return self.scope.attempt.thread_id

    @property
    def turn_id(self) -> str:
        return self.scope.attempt.turn_id

    @property
    def agent_id(self) -> str:
        return self.scope.attempt.agent_id

    @property
    def tenant_id(self) -> str | None:
        return self.scope.attempt.tenant_id

    @property
    def attempt(self) -> int:
        return self.scope.attempt.number

    def now(self) -> datetime:
        return time_of(self.scope.attempt.requested_at_ms)

    def new_id(self, kind: str) -> str:
        self._ids[kind] += 1
        return derived_id("id", self.thread_id, self.clock_turn_id, kind, str(self._ids[kind]))

    async def run_effect(self, key: str, operation: Operation, *, payload: JsonValue, effect: str) -> EffectResult:
        declared = self.agent.effect(effect)
        try:
            result = await self.scope.run_effect(declared, key, operation, payload)
        except EffectError as error:
            outcome = _OUTCOMES.get(type(error))
            if outcome is not None:
                await self._tell(outcome, f"{effect}:{key}")
            raise
        await self._tell("completed", f"{effect}:{key}")
        return result

    async def recorded(self, name: str, request: JsonValue, operation: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        return await self.scope.recorded(name, request, operation)

    async def _tell(self, outcome: str, effect_key: str) -> None:
        data: JsonValue = {"effectKey": effect_key, "receiptId": receipt_id(self.thread_id, effect_key)}
        await self.events.emit(f"effect.{outcome}", data, "audit")


def time_of(milliseconds: int) -> datetime:
    """A Kafka timestamp as aware UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

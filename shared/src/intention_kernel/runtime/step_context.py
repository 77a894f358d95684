"""What a capability is given when it runs (agent.capability.CapabilityExecutionContext)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from intention_kernel.agent.capability import STEP_INPUT, CapabilityTurn, Execution, StepInput
from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.context import EffectResult, Operation
from intention_kernel.agent.effect import Ports
from intention_kernel.contracts.event import EventCategory
from intention_kernel.contracts.facts import Facts
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import (
    CapabilityContractError,
    EffectClosedError,
    EffectConflictError,
    EffectError,
    EffectNotAppliedError,
    EffectUncertainError,
)
from intention_kernel.ids import derived_id, receipt_id
from intention_kernel.ports.turn_body import TurnScope
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.stages.handed_out import own_json
from intention_kernel.runtime.step_record import EmittedEvent

_EVENT_NAME = re.compile(r"[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*")
_STATES = {EffectUncertainError: "uncertain", EffectConflictError: "conflict", EffectNotAppliedError: "failed"}
_CATEGORIES = ("trace", "audit", "integration")


@dataclass(slots=True)
class StepEvents:
    """The step's own line of events; `emitted` keeps them for the journal."""

    capability_id: str
    chain: EventChain
    emitted: list[EmittedEvent] = field(default_factory=list)
    closed: bool = False

    async def emit(self, name: str, data: JsonValue, category: EventCategory = "trace") -> None:
        if not _EVENT_NAME.fullmatch(name) or category not in _CATEGORIES:
            detail = f"event {name!r} of category {category!r}: a name is like graph.node-done"
            raise CapabilityContractError("INVALID_CAPABILITY_EVENT_NAME", self.capability_id, detail)
        if self.closed:
            raise EffectClosedError("the step is over")
        kept = loads(dumps(data))
        self.emitted.append(EmittedEvent(name, kept, category))
        await self.tell(EmittedEvent(name, kept, category))

    async def tell(self, event: EmittedEvent) -> None:
        """Publish an event under the step."""
        data: JsonValue = {"capabilityId": self.capability_id, "name": event.name, "data": event.data}
        await self.chain.emit("capability.event", data, event.category, bounded=False)


@dataclass(slots=True)
class StepContext:
    """One run of one step. `completed_effects` counts effects that returned a value; `asked` are the keys of all that it asked
    for, in order."""

    capability: Capability
    intention: IntentionRequest
    execution: Execution
    turn: CapabilityTurn
    tenant_id: str | None
    facts: Facts
    ports: Ports
    events: StepEvents
    deadline: datetime
    at: datetime
    scope: TurnScope
    input_document: JsonValue
    completed_effects: int = 0
    asked: dict[str, None] = field(default_factory=dict)
    _ids: Counter[str] = field(default_factory=Counter)

    def now(self) -> datetime:
        return self.at

    def new_id(self, kind: str) -> str:
        self._ids[kind] += 1
        step = self.execution
        return derived_id("id", step.thread_id, step.step_id, kind, str(self._ids[kind]))

    async def run_effect(
        self, key: str, operation: Operation, *, payload: JsonValue | StepInput = STEP_INPUT
    ) -> EffectResult:
        capability = self.capability
        if capability.effect is None:
            detail = f"its effect is {capability.definition.effect!r}, and only a write may call run_effect"
            raise CapabilityContractError("EFFECT_NOT_ALLOWED", capability.id, detail)
        if self.events.closed:
            raise EffectClosedError("the step is over")
        content = own_json(self.input_document if payload is STEP_INPUT else payload)
        self.asked[f"{capability.id}:{key}"] = None
        try:
            result = await self.scope.run_effect(capability.effect, key, operation, content)
        except EffectError as error:
            state = _STATES.get(type(error))
            if state is not None:
                await self._tell(key, state)
            raise
        self.completed_effects += 1
        await self._tell(key, "completed")
        return result

    def close(self) -> None:
        """The capability has returned: its tasks that go on can neither start an effect nor tell anything."""
        self.events.closed = True

    async def _tell(self, key: str, status: str) -> None:
        effect_key = f"{self.capability.id}:{key}"
        data: JsonValue = {
            "effectId": receipt_id(self.execution.thread_id, effect_key),
            "capabilityId": self.capability.id,
            "status": status,
            "idempotencyKey": effect_key,
        }
        await self.events.chain.emit("effect.recorded", data, "audit")

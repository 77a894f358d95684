"""Models behind the real boundary: a scripted gateway, a journal in memory, and the events that a turn tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from intention_kernel.agent.context import EffectResult, Operation, ReceiptReference
from intention_kernel.agent.effect import Effect
from intention_kernel.clock import Clock, ManualClock
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.event import KernelEvent
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import TurnHeldError
from intention_kernel.ports.model_gateway import ModelGateway, ModelRequest, ModelResult, ModelUsage
from intention_kernel.ports.turn_body import TurnAttempt, UncertainStep
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.events import EventIdentity, EventRecorder, Observers
from intention_kernel.runtime.models import TurnModels
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

from tests.support.kernel import AT

TURN_SECONDS = 60.0


@dataclass(slots=True)
class Gateway:
    """Answers each task with the next of its list: JSON, or an exception to raise. Keeps the requests."""

    answers: Mapping[str, list[JsonValue | BaseException]]
    requests: list[ModelRequest] = field(default_factory=list)
    clock: ManualClock | None = None
    """Moves on by a quarter of a second for each call."""

    async def invoke(self, request: ModelRequest) -> ModelResult:
        self.requests.append(request)
        if self.clock is not None:
            self.clock.advance(0.25)
        answer = self.answers[request.task].pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return ModelResult(answer, "scripted", request.model or "any", ModelUsage(input_tokens=12, output_tokens=3))


@dataclass(slots=True)
class Journal:
    """What attempts recorded, as the durable boundary keeps it: by name and ordinal, with the digest of the request."""

    entries: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)


@dataclass(slots=True)
class JournalScope:
    """A TurnScope of one attempt that has no effects."""

    attempt: TurnAttempt
    journal: Journal
    uncertain: Mapping[str, UncertainStep] = field(default_factory=dict)
    receipts: Mapping[str, ReceiptReference] = field(default_factory=dict)
    ordinals: Counter[str] = field(default_factory=Counter)

    async def run_effect(self, effect: Effect, key: str, operation: Operation, payload: JsonValue) -> EffectResult:
        raise AssertionError("no effects here")

    async def recorded(self, name: str, request: JsonValue, operation: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        self.ordinals[name] += 1
        entry = f"{name}:{self.ordinals[name]}"
        if entry not in self.journal.entries:
            self.journal.entries[entry] = (digest(request), dumps(await operation()))
        known_by, body = self.journal.entries[entry]
        assert known_by == digest(request), f"another request under {entry}"
        return loads(body)

    async def finish(self, effect_keys: Iterable[str]) -> None:
        raise AssertionError("models need no effects")

    def hold(self, why: TurnHeldError) -> NoReturn:
        raise why

    async def close(self) -> None:
        return


@dataclass(slots=True)
class Sink:
    """Keeps every event."""

    events: list[KernelEvent] = field(default_factory=list)

    async def emit(self, event: KernelEvent) -> None:
        self.events.append(event)


class _NoTraces:
    def publish(self, thread_id: str, headers: tuple[tuple[str, bytes], ...], value: bytes) -> None:
        return


def new_chain(sink: Sink, clock: Clock) -> EventChain:
    """The first chain of an attempt, before any event."""
    identity = EventIdentity("thread", "turn", "agent", "correlation")
    return EventChain(EventRecorder(identity, 1, Observers(_NoTraces(), (sink,)), clock))


def turn_models(
    gateway: ModelGateway,
    snapshot: ContextSnapshot,
    *,
    clock: Clock | None = None,
    journal: Journal | None = None,
    seconds: float = TURN_SECONDS,
    chain: EventChain | None = None,
) -> tuple[TurnModels, Sink]:
    """The models of one attempt that has so many seconds, and the sink of its events where no chain is given."""
    clock, sink = clock or ManualClock(AT), Sink()
    attempt = TurnAttempt("thread", "turn", "agent", None, 1, 1, b"{}", 0, 30.0, clock.monotonic_seconds() + seconds)
    scope = JournalScope(attempt, journal or Journal())
    return TurnModels(gateway, scope, chain or new_chain(sink, clock), clock, snapshot), sink

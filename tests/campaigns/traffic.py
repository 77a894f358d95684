"""What clients send: turns of many threads, some of them twice, some changed under their id, some no requests at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from intention_kernel.contracts.topics import Topics
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest, encode_turn_request
from intention_kernel.errors import InfrastructureError
from intention_kernel.history.values import Sent
from intention_kernel.testing.broker import Broker, Headers
from intention_kernel.testing.draws import Draws
from intention_kernel.verification.bank.steps import Ask, Charge, Emit, Notify, Pause, Reserve, Step, turn_text

AGENT = "payer"
_AGAIN_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Shape:
    """How much there is of what: shares of all turns, at least 0, together at most 1; what is left has one effect.

    `pause_seconds` is what a turn that thinks takes, `per_second` how many records go out while faults happen; nothing
    goes out while `most_waiting` turns have no outcome, for a slow machine has to come to rest, too.
    """

    threads: int = 40
    most_waiting: int = 200
    per_second: float = 30.0
    two_effects: float = 0.15
    no_effect: float = 0.25
    repeats: float = 0.05
    conflicts: float = 0.02
    malformed: float = 0.02
    pause_seconds: float = 0.2


@dataclass(slots=True)
class Traffic:
    """`sent` is everything that was sent, `requests` the turns among it. Made for one seed; records are numbered.

    `ended` is how many turns had an outcome when somebody last looked.
    """

    broker: Broker
    topics: Topics
    draws: Draws
    shape: Shape = field(default_factory=Shape)
    sent: list[Sent] = field(default_factory=list)
    requests: list[TurnRequest] = field(default_factory=list)
    ended: int = 0
    _number: int = 0

    async def run(self, until: asyncio.Event) -> None:
        """Send at the shape's pace until the event is set."""
        while not until.is_set():
            if len(self.requests) - self.ended < self.shape.most_waiting:
                await self.send_next()
            await asyncio.sleep(1.0 / self.shape.per_second)

    async def send(self, count: int) -> None:
        """Send so many records as fast as the broker takes them."""
        for _ in range(count):
            await self.send_next()

    async def send_next(self) -> None:
        """One record, as the seed draws it; returns once the broker has it."""
        self._number += 1
        draw = self.draws.fraction("kind", str(self._number))
        if draw < self.shape.malformed:
            await self.send_bytes(self._thread().encode(), f'{{"schemaVersion": 1, "n": {self._number}'.encode())
            return
        draw -= self.shape.malformed
        if self.requests and draw < self.shape.repeats:
            await self.send_turn(self._earlier())
        elif self.requests and draw < self.shape.repeats + self.shape.conflicts:
            await self._send_conflict(self._earlier())
        else:
            await self.say(self._thread(), self._steps())

    async def say(self, thread_id: str, steps: Sequence[Step], turn_id: str = "") -> TurnRequest:
        """A new turn."""
        request = TurnRequest(
            schema_version=1,
            thread_id=thread_id,
            turn_id=turn_id or f"turn-{len(self.requests) + 1}",
            agent_id=AGENT,
            input=TurnInput(text=turn_text(steps)),
        )
        self.requests.append(request)
        await self.send_turn(request)
        return request

    async def send_turn(self, request: TurnRequest) -> None:
        """This turn, whether it was sent before or not."""
        await self.send_bytes(request.thread_id.encode(), encode_turn_request(request))

    async def send_bytes(
        self, key: bytes | None, value: bytes | None, *, good: bool | None = None, headers: Headers = ()
    ) -> None:
        """A record, again until the broker has acknowledged one; every try is on record. Raises nothing."""
        is_good = good if good is not None else value is not None and value.endswith(b"}")
        while True:
            try:
                place = await self.broker.send(self.topics.requests, key, value, headers=headers)
            except InfrastructureError:
                self.sent.append(Sent(key, value, None, is_good))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                self.sent.append(Sent(key, value, (place.partition, place.offset), is_good))
                return

    async def _send_conflict(self, request: TurnRequest) -> None:
        changed = TurnInput(text=turn_text([Ask(name=f"changed-{self._number}")]))
        await self.send_turn(request.model_copy(update={"input": changed}))

    def _thread(self) -> str:
        return f"thread-{self.draws.number(self.shape.threads, 'thread', str(self._number))}"

    def _earlier(self) -> TurnRequest:
        return self.requests[self.draws.number(len(self.requests), "earlier", str(self._number))]

    def _steps(self) -> list[Step]:
        """What the next turn does: an effect or two or none, a question to a model, events."""
        number, steps = str(self._number), list[Step]()
        draw = self.draws.fraction("steps", number)
        if draw < self.shape.no_effect:
            steps.append(Ask(name="plan"))
            steps.append(Pause(seconds=self.shape.pause_seconds * self.draws.fraction("pause", number)))
        else:
            steps.append(self._effect(f"{number}-1"))
            if draw < self.shape.no_effect + self.shape.two_effects:
                steps += [Ask(name="next"), self._effect(f"{number}-2")]
        return [*steps, Emit(count=1 + self.draws.number(3, "emit", number))]

    def _effect(self, key: str) -> Step:
        amount = 1 + self.draws.number(1_000_000, "amount", key)
        match self.draws.number(3, "effect", key):
            case 0:
                return Charge(key=key, amount=amount)
            case 1:
                return Reserve(key=key, amount=amount)
        return Notify(key=key, text=f"paid {amount}")

"""One thread under the state machine of conversations: every turn is compared with the model, and all of it is done again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from intention_kernel.contracts.checkpoint import Checkpoint, encode_checkpoint
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.testing.agent_machine_actor import Actor, Click, Fault
from intention_kernel.testing.agent_machine_checks import (
    Event,
    EventCheck,
    check_agenda,
    check_bounds,
    check_ledger,
    check_left,
    check_requests,
    check_secrets_of,
)
from intention_kernel.testing.agent_machine_model import Ended, Message, Model
from intention_kernel.testing.agent_machine_world import Fate
from intention_kernel.testing.boundary_calls import new_thread
from intention_kernel.testing.boundary_harness import BoundaryHarness
from intention_kernel.testing.conversation import REQUESTED_AT_MS
from intention_kernel.testing.memory_harness import MemoryHarness

Result = TypeVar("Result")


class ThreadUnderTest(RuleBasedStateMachine):
    """One thread. `history` is what was done, to be done again on another store at the end, if all of it was `whole`."""

    def __init__(self, boundary: BoundaryHarness, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop
        self.actor = Actor(boundary, new_thread())
        self.model = Model()
        self.at_ms = REQUESTED_AT_MS
        self.turns = 0
        self.whole = True
        self.checked_requests = 0
        self.checkpoint: Checkpoint | None = None
        self.events = EventCheck()
        self.users: dict[str, bytes] = {}
        self.closed: list[str] = []
        self.history: list[Callable[[Actor], Coroutine[object, object, object]]] = []

    def run(self, coroutine: Coroutine[object, object, Result]) -> Result:
        """One operation, to its end."""
        return self.loop.run_until_complete(coroutine)

    def do(self, operation: Callable[[Actor], Coroutine[object, object, Result]]) -> Result:
        """Something that leaves a trace, to be repeated at the end."""
        self.history.append(operation)
        self.whole = False
        return self.run(operation(self.actor))

    def click(self, option_id: str) -> Click:
        """On the open question."""
        assert self.checkpoint is not None
        asked = self.checkpoint.interaction
        assert isinstance(asked, dict)
        return {"interactionId": asked["id"], "optionId": option_id}

    def next_turn(self) -> str:
        self.turns += 1
        return f"turn-{self.turns}"

    def say(
        self,
        message: Message,
        fault: Fault,
        *,
        text: str | None = None,
        click: Click | None = None,
        fates: list[Fate] | None = None,
    ) -> None:
        """One message, and what the model expects of it."""
        calls_before = len(self.actor.ledger.calls)
        said = message.text if text is None else text
        self.deliver(self.next_turn(), message, said, click, fault, fates or [])
        calls = self.actor.ledger.calls[calls_before:]
        ended = self.model.hear(message, self.at_ms, calls, unanswered=fault == "dies_after_call")
        self.look(ended)

    def deliver(
        self, turn_id: str, message: Message, text: str, click: Click | None, fault: Fault, fates: list[Fate]
    ) -> None:
        at_ms = self.at_ms
        self.users[turn_id] = self.do(lambda actor: actor.say(turn_id, message, text, click, at_ms, fault, fates))

    def look(self, ended: list[Ended]) -> None:
        """Everything that must hold after a turn."""
        before = self.checkpoint
        check_ledger(self.actor.ledger, self.model)
        self.checkpoint = after = self.run(self.actor.conversation.checkpoint())
        new = self.run(self.actor.events_after(len(self.events.earlier)))
        self.events.check(new)
        check_left(before, after, new, ended)
        check_agenda(after, self.model)
        check_bounds(after, encode_checkpoint(after))
        check_requests(self.actor.gateway.requests[self.checked_requests :])
        self.checked_requests = len(self.actor.gateway.requests)
        for event in self.actor.sink.events:
            check_secrets_of({"type": event.type, "data": event.data})
        self.actor.sink.events.clear()
        self._remember_closed(before, after)
        self.whole = True

    def _remember_closed(self, before: Checkpoint | None, after: Checkpoint) -> None:
        asked = before.interaction if before is not None else None
        waiting = [question["id"] for item in after.agenda if isinstance(question := item.get("interaction"), dict)]
        if isinstance(asked, dict) and asked["id"] not in waiting:
            self.closed.append(str(asked["id"]))

    def teardown(self) -> None:
        """The same history on a fresh store leaves the same bytes."""
        if self.checkpoint is None or not self.whole:
            return
        other = Actor(MemoryHarness(), self.actor.conversation.thread_id)
        for operation in self.history:
            self.run(operation(other))
        assert other.results == self.actor.results
        assert encode_checkpoint(self.run(other.conversation.checkpoint())) == encode_checkpoint(self.checkpoint)
        told = self.run(other.events_after(0))
        assert [_lasting(event) for event in told] == [_lasting(event) for event in self.events.earlier.values()]


def _lasting(event: Event) -> dict[str, JsonValue]:
    """Without what the clock says."""
    shown = {name: value for name, value in event.items() if name != "occurredAt"}
    data = shown["data"]
    if isinstance(data, dict):
        shown["data"] = {name: value for name, value in data.items() if name != "durationMs"}
    return shown

"""Events of a compiled agent's turn: each says which one caused it, and parallel steps keep branches of their own."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.contracts.event import EventCategory
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.events import EventRecorder


@dataclass(slots=True)
class EventChain:
    """A line of events; every one is caused by the one before it. `last_id` is None before the first."""

    recorder: EventRecorder
    last_id: str | None = None
    step_id: str | None = None

    async def emit(self, name: str, data: JsonValue, category: EventCategory = "trace", *, bounded: bool = True) -> str:
        """The next event of the line; returns its id. Errors as `EventRecorder.record`.

        The kernel's own events are `bounded`: what a capability returned must not make its turn fail, once it is done.
        """
        self.last_id = await self.recorder.record(
            name, data, category, step_id=self.step_id, causation_id=self.last_id, bounded=bounded
        )
        return self.last_id

    def branch(self, step_id: str) -> EventChain:
        """A line of its own for a step, which begins behind the last event of this one."""
        return EventChain(self.recorder, self.last_id, step_id)

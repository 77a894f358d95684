"""What a test may look at while turns run: event sinks and traces that keep what they are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from intention_kernel.contracts.event import KernelEvent
from intention_kernel.contracts.json_codec import JsonValue, loads


@dataclass(slots=True)
class EventCollector:
    """An EventSink that keeps every event, in the order in which turns emitted them; those of failed attempts too."""

    events: list[KernelEvent] = field(default_factory=list)

    async def emit(self, event: KernelEvent) -> None:
        """Keep it."""
        self.events.append(event)


@dataclass(slots=True)
class KeptTraces:
    """The Traces port that keeps what it is given."""

    published: list[dict[str, JsonValue]] = field(default_factory=list)

    def publish(self, thread_id: str, headers: tuple[tuple[str, bytes], ...], value: bytes) -> None:
        """Keep the value."""
        self.published.append(cast("dict[str, JsonValue]", loads(value)))

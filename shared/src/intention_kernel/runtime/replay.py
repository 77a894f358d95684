"""What the live feed says of a turn that was committed already: its stored result, `replayed` (interface 3)."""

from __future__ import annotations

from typing import cast

from intention_kernel.clock import Clock
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.runtime.events import EventIdentity, Observers, publish_trace


def publish_replayed(request: TurnRequest, result: bytes, observers: Observers, clock: Clock) -> None:
    """Best effort. Raises what the application's `redact` raises."""
    stored = cast("dict[str, JsonValue]", loads(result))
    shown = observers.redacted({**stored, "replayed": True})
    identity = EventIdentity(request.thread_id, request.turn_id, request.agent_id, request.correlation())
    event = identity.event(-1, "turn.replayed", "trace", shown, clock.now())
    publish_trace(observers.traces, event, attempt=0)

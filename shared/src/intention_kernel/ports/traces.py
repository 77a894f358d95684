"""The live feed: best effort, for spinners and debugging; the durable truth is the outbox (design 6)."""

from __future__ import annotations

from typing import Protocol


class Traces(Protocol):
    """Takes a record for `turns.traces` and returns at once; a full buffer or an absent broker drops it."""

    def publish(self, thread_id: str, headers: tuple[tuple[str, bytes], ...], value: bytes) -> None: ...

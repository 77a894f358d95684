"""What the broker has not acknowledged, and who may publish it (design 6, protocol R35, R36, R37)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

OutboxRecord = tuple[tuple[tuple[str, bytes], ...], bytes | None]
"""Headers in order and the value: final bytes, which nobody downstream encodes again."""

Stream = tuple[str, str]
"""Thread id and topic (without prefix): what is published in order, and what a failure stops."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One turn's events, or one request, notice or rejected record; identity is (thread, topic, dedupe) (R35).

    `first_sequence` is that of the first record of a turn, None for anything that is not numbered. `size_bytes` is
    what the records weigh, near enough for bounds. `unreadable` says why the records cannot be had; then there are none.
    """

    shard: int
    id: int
    thread_id: str
    topic: str
    dedupe: str
    first_sequence: int | None
    records: tuple[OutboxRecord, ...]
    size_bytes: int
    unreadable: str | None = None

    @property
    def stream(self) -> Stream:
        """The thread's rows of this topic."""
        return self.thread_id, self.topic


class Outbox(Protocol):
    """Every call raises InfrastructureError where the store cannot answer; each may be repeated."""

    async def fetch(
        self, shards: Collection[int], *, rows_per_shard: int, max_bytes: int, held: Collection[Stream]
    ) -> Sequence[OutboxRow]:
        """The oldest rows of each shard, by shard and id, without those of `held` streams and of refused ones.

        One query that leaves no transaction open. Rows are left for the next fetch once `max_bytes` (as stored) are
        reached; the first row always comes.
        """
        ...

    async def delete(self, rows: Sequence[OutboxRow]) -> None:
        """Forget what the broker acknowledged; right even for a relay that lost its lease, since it is published."""
        ...

    async def refuse(self, row: OutboxRow, reason: str) -> None:
        """Take a row that the broker will never accept out of the fetch window, and stop its stream (R37)."""
        ...


@dataclass(frozen=True, slots=True)
class Beat:
    """What a relay learns from a heartbeat.

    `renewed` are the shards still its own: one that is missing is lost. `live_relays` counts itself.
    `next_expiry_seconds` is when the first lease of somebody else runs out (0: one can be taken now), None where all are its own.
    """

    renewed: frozenset[int]
    live_relays: int
    shard_count: int
    next_expiry_seconds: float | None


class RelayLeases(Protocol):
    """Which relay owns which shard, on the store's clock; an epoch is handed out once (protocol R35, R37).

    Every call raises InfrastructureError where the store cannot answer. Deadlines are the caller's: it starts its own
    monotonic clock before the call.
    """

    async def beat(self, owner: str, epochs: Mapping[int, int], lease_seconds: float) -> Beat:
        """Say that `owner` lives, and renew the leases that it holds, shard to epoch."""
        ...

    async def take(
        self, owner: str, limit: int, lease_seconds: float, *, held: Collection[int] = ()
    ) -> Mapping[int, int]:
        """At most `limit` shards that nobody holds: shard to its new epoch.

        Those that `owner` has without being among the `held` that it knows of count as free: an answer was lost.
        """
        ...

    async def release(self, owner: str, epochs: Mapping[int, int]) -> None:
        """Give these shards back, as far as they are still held with these epochs."""
        ...

    async def leave(self, owner: str) -> None:
        """Stop counting as a live relay."""
        ...

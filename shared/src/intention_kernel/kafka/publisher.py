"""Outbox rows to topics: one ordered lane per partition, a batch at a time, so that a refusal stops exactly one stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.idempotent_producer import IdempotentProducer
from intention_kernel.kafka.partitioner import Partitioner
from intention_kernel.kafka.publisher_lane import Lane
from intention_kernel.ports.outbox import OutboxRow
from intention_kernel.ports.publisher import PublishOutcome, Unsent


@dataclass(frozen=True, slots=True)
class _Routed:
    topic: str
    partition: int
    positions: list[int]


class KafkaPublisher:
    """The Publisher port over one idempotent producer (protocol R37).

    The topic is `prefix` and the row's topic, the key the thread id as UTF-8, the partition Java's murmur2 of the key.
    A turn's records share a batch where they fit, so that readers see all of them or none.
    """

    def __init__(self, bootstrap: str, prefix: str, clock: Clock) -> None:
        """Raises ConfigurationError for a bootstrap list that is none."""
        self._prefix = prefix
        self._producer = IdempotentProducer(bootstrap, clock)
        self._partitioners: dict[int, Partitioner] = {}

    async def start(self) -> None:
        """Reach the broker, or raise InfrastructureError; may be called again."""
        await self._producer.start()

    async def stop(self) -> None:
        """Close the connections; nothing may be under way."""
        await self._producer.stop()

    @property
    def unanswered_seconds(self) -> float:
        """How long the broker has left everything unanswered that it was asked."""
        return self._producer.unanswered_seconds

    async def publish(self, rows: Sequence[OutboxRow], may_send: Callable[[], bool]) -> Sequence[PublishOutcome]:
        """See the port. The lanes of different partitions go side by side."""
        outcomes: list[PublishOutcome] = [Unsent("not tried")] * len(rows)
        lanes: dict[tuple[str, int], list[int]] = {}
        for topic, positions in _by_topic(rows).items():
            try:
                partitioner = await self._partitioner(self._prefix + topic)
            except InfrastructureError as error:
                for position in positions:
                    outcomes[position] = Unsent(str(error))
                continue
            for position in positions:
                partition = partitioner.partition(rows[position].thread_id.encode())
                lanes.setdefault((topic, partition), []).append(position)
        async with asyncio.TaskGroup() as group:
            for (topic, partition), positions in lanes.items():
                lane = Lane(self._producer, self._prefix + topic, partition, [rows[each] for each in positions])
                group.create_task(_run(lane, positions, outcomes, may_send))
        return outcomes

    async def _partitioner(self, topic: str) -> Partitioner:
        count = await self._producer.partition_count(topic)
        if count not in self._partitioners:
            self._partitioners[count] = Partitioner(count)
        return self._partitioners[count]


async def _run(
    lane: Lane, positions: Sequence[int], outcomes: list[PublishOutcome], may_send: Callable[[], bool]
) -> None:
    for position, outcome in zip(positions, await lane.run(may_send), strict=True):
        outcomes[position] = outcome


def _by_topic(rows: Iterable[OutboxRow]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        positions.setdefault(row.topic, []).append(position)
    return positions

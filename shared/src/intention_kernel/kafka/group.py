"""One member of a consumer group on one topic: the driver behind a typed face, with what it leaves out.

What callers may rely on: offsets are committed only when told to, and only those told; a poll never touches the
buffers of partitions that were not asked for; the rebalance callbacks are awaited before the group goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import CommitFailedError, ConsumerStoppedError, IllegalStateError

from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers
from intention_kernel.kafka.record import Record
from intention_kernel.kafka.unreadable import UNREADABLE, fetch_unreadable

_logger = logging.getLogger(__name__)

# Polling no partition at all means all of them to the driver; polling this one keeps the membership and reads nothing.
_NOTHING = TopicPartition("__none__", 0)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Where and as whom to consume; times are seconds."""

    bootstrap_servers: str
    topic: str
    group: str
    client_id: str
    session_timeout_seconds: float
    heartbeat_seconds: float
    rebalance_timeout_seconds: float
    request_timeout_seconds: float
    fetch_wait_seconds: float


RebalanceCallback = Callable[[tuple[int, ...]], Awaitable[None]]


class GroupMember:
    """Join, poll, commit, leave. Rebalances are eager: every one revokes all partitions first."""

    def __init__(self, settings: GroupSettings, revoked: RebalanceCallback, assigned: RebalanceCallback) -> None:
        self._settings = settings
        self._listener = _Listener(revoked, assigned)
        self._consumer: Any = None
        self._revocations_at_poll = 0
        # Partitions with a record among the next so many that the driver cannot read.
        self._suspects: dict[TopicPartition, int] = {}

    async def join(self) -> int:
        """Connect and join the group; returns the topic's partition count.

        Waits for as long as the group takes (a dead member's session has to end first). Raises InfrastructureError,
        and leaves nothing behind when it fails or is cancelled.
        """
        self._consumer = _consumer(self._settings)
        self._consumer.subscribe([self._settings.topic], listener=self._listener)
        try:
            with broker_errors(f"joining group {self._settings.group} of {self._settings.topic}"):
                await self._consumer.start()
        except BaseException:
            await self.leave(self._settings.request_timeout_seconds)
            raise
        return len(self._consumer.partitions_for_topic(self._settings.topic) or ())

    async def poll(self, partitions: Collection[int], max_records: int, seconds: float) -> dict[int, list[Record]]:
        """Records of these partitions in log order; empty after `seconds` without one.

        Blocks without limit while the group rebalances, and then returns nothing: what the next assignment reads first was not
        asked for, and comes with the next poll. Must not be cancelled before `leave`: the driver would never
        again notice that polling stopped. Raises InfrastructureError, and then has returned nothing and lost nothing.
        """
        wanted = [TopicPartition(self._settings.topic, partition) for partition in partitions]
        self._revocations_at_poll = self._listener.revocations
        with broker_errors(f"polling {self._settings.topic}"):
            try:
                polled = await self._poll(wanted, max_records, seconds)
            except ConsumerStoppedError:
                return {}
        return {} if self._is_overtaken else polled

    @property
    def _is_overtaken(self) -> bool:
        """Partitions were given back since the poll began: what it asked for is over, what it took before is read again."""
        return self._listener.revocations != self._revocations_at_poll

    async def _poll(self, wanted: list[TopicPartition], max_records: int, seconds: float) -> dict[int, list[Record]]:
        suspect = next((one for one in self._suspects if one in wanted), None)
        if suspect is not None:
            return await self._poll_suspect(suspect, seconds)
        polled = await self._drain(wanted, max_records)
        if polled or not seconds or self._suspects or self._is_overtaken:
            return polled
        return await self._wait(wanted, max_records, seconds)

    async def _take(self, wanted: list[TopicPartition], most: int, seconds: float) -> dict[TopicPartition, list[Any]]:
        """What the driver has. It goes on across a rebalance and then takes of the next assignment, whose consumer may not
        start anything yet: that is put back, or the offset would pass records that nobody handled."""
        raws: dict[TopicPartition, list[Any]] = await self._consumer.getmany(
            *(wanted or [_NOTHING]), timeout_ms=int(seconds * 1000), max_records=most
        )
        if not self._is_overtaken:
            return raws
        for assigned, records in raws.items():
            self._consumer.seek(assigned, records[0].offset)
        return {}

    async def _drain(self, wanted: list[TopicPartition], max_records: int) -> dict[int, list[Record]]:
        # One partition a call: the driver loses what it took from the others of a call when it cannot read a record.
        polled: dict[int, list[Record]] = {}
        for assigned in wanted or [_NOTHING]:
            try:
                raws = await self._take([assigned], max_records, 0.0)
            except UNREADABLE:
                self._suspects[assigned] = max_records
                continue
            if self._is_overtaken:
                return {}
            polled |= _by_partition(raws)
            max_records -= sum(map(len, raws.values()))
            if max_records <= 0:
                break
        return polled

    async def _wait(self, wanted: list[TopicPartition], max_records: int, seconds: float) -> dict[int, list[Record]]:
        try:
            first = await self._take(wanted, 1, seconds)
        except UNREADABLE:
            self._suspects.update(dict.fromkeys(wanted, max_records))
            return {}
        polled = _by_partition(first)
        if polled and max_records > 1:
            for partition, records in (await self._drain(wanted, max_records - 1)).items():
                polled.setdefault(partition, []).extend(records)
        return polled

    async def _poll_suspect(self, suspect: TopicPartition, seconds: float) -> dict[int, list[Record]]:
        """One record at a time, until the one that cannot be read comes first or is not among those suspected."""
        left = self._suspects.pop(suspect)
        try:
            raws = await self._take([suspect], 1, seconds)
        except UNREADABLE as error:
            return await self._read_around(suspect, error)
        if raws and left > 1:
            self._suspects[suspect] = left - 1
        return _by_partition(raws)

    async def _read_around(self, suspect: TopicPartition, error: Exception) -> dict[int, list[Record]]:
        position = await self._consumer.position(suspect)
        raws, end = await fetch_unreadable(self._consumer._client, suspect, position)
        if self._is_overtaken:
            return {}
        _logger.warning("%s offsets %s to %s were read without the driver: %s", suspect, position, end - 1, error)
        self._consumer.seek(suspect, end)
        return _by_partition({suspect: raws})

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """Commit exactly these offsets. False: the membership changed, they are no longer ours to commit.

        Raises InfrastructureError when it did not get through (it may have taken effect).
        """
        named = {TopicPartition(self._settings.topic, partition): offset for partition, offset in offsets.items()}
        with broker_errors(f"committing offsets of {self._settings.topic}"):
            try:
                async with asyncio.timeout(self._settings.request_timeout_seconds):
                    await self._consumer.commit(named)
            except (CommitFailedError, IllegalStateError) as error:
                _logger.info("offsets not committed, the group has moved on: %s", error)
                return False
        return True

    async def committed(self) -> dict[int, int]:
        """What the group has committed of each partition of the topic, whoever has it; one never committed is left out.

        Raises InfrastructureError.
        """
        partitions = self._consumer.partitions_for_topic(self._settings.topic)
        if not partitions:
            raise InfrastructureError(f"the broker has not told the partitions of {self._settings.topic}")
        named = [TopicPartition(self._settings.topic, partition) for partition in sorted(partitions)]
        with broker_errors(f"asking for the offsets of {self._settings.topic}"):
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                offsets = await asyncio.gather(*(self._consumer.committed(one) for one in named))
        return {one.partition: offset for one, offset in zip(named, offsets, strict=True) if offset is not None}

    async def leave(self, seconds: float) -> None:
        """Leave the group and close, within `seconds` even when no broker answers. Calls no callback, never raises."""
        if self._consumer is not None and not await completes(self._consumer.stop(), seconds):
            # Without a broker the driver's stop hangs, or ends in its own CancelledError before it closed its sockets.
            await completes(self._consumer._client.close(), 1.0)

    @property
    def rejoin_wanted(self) -> bool:
        """The member has to join again and has not yet. (The driver has no public word for it.)"""
        return self._joined and bool(self._consumer._coordinator._rejoin_needed_fut.done())

    @property
    def broken(self) -> bool:
        """The driver's coordination has ended; nothing but a new member will consume again."""
        return self._joined and bool(self._consumer._coordinator._coordination_task.done())

    @property
    def _joined(self) -> bool:
        return self._consumer is not None and self._consumer._coordinator is not None


class _Listener(ConsumerRebalanceListener):
    def __init__(self, revoked: RebalanceCallback, assigned: RebalanceCallback) -> None:
        self._revoked = revoked
        self._assigned = assigned
        self.revocations = 0

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self.revocations += 1
        await self._revoked(tuple(sorted(one.partition for one in revoked)))

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        await self._assigned(tuple(sorted(one.partition for one in assigned)))


def _consumer(settings: GroupSettings) -> AIOKafkaConsumer:
    # The driver keeps an assignor's memory on the class: a class for each member, or members of one process mix theirs.
    assignor = type("StickyPartitionAssignor", (StickyPartitionAssignor,), {})
    return AIOKafkaConsumer(  # type: ignore[no-untyped-call]  # the driver is half typed
        bootstrap_servers=list(parse_bootstrap_servers(settings.bootstrap_servers)),
        client_id=settings.client_id,
        group_id=settings.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=int(settings.fetch_wait_seconds * 1000),
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
        session_timeout_ms=int(settings.session_timeout_seconds * 1000),
        heartbeat_interval_ms=max(1, int(settings.heartbeat_seconds * 1000)),
        rebalance_timeout_ms=int(settings.rebalance_timeout_seconds * 1000),
        partition_assignment_strategy=(assignor,),
    )


async def completes(step: Coroutine[Any, Any, object], seconds: float) -> bool:
    """Whether the step ended well within `seconds`; it is cancelled where it did not."""
    task = asyncio.create_task(step)
    await asyncio.wait([task], timeout=seconds)
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=1.0)
    return task.done() and not task.cancelled() and task.exception() is None


def _by_partition(polled: Mapping[TopicPartition, list[Any]]) -> dict[int, list[Record]]:
    return {assigned.partition: [record_of(assigned, raw) for raw in raws] for assigned, raws in polled.items()}


def record_of(assigned: TopicPartition, raw: Any) -> Record:  # noqa: ANN401
    """What the driver read."""
    headers: tuple[tuple[str, bytes | None], ...] = tuple(raw.headers)
    size = len(raw.key or b"") + len(raw.value or b"")
    for name, value in headers:
        size += len(name) + len(value or b"")
    return Record(*assigned, raw.offset, raw.key, raw.value, headers, raw.timestamp, size)

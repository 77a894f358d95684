"""The driver's consumer for whoever takes one record at a time, such as FastStream's: none stops those behind it."""

from __future__ import annotations

from collections import deque
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from intention_kernel.kafka.group import record_of
from intention_kernel.kafka.record import Record
from intention_kernel.kafka.unreadable import UNREADABLE, fetch_unreadable

_LOOK_AGAIN_MS = 200

_Driver: Any = AIOKafkaConsumer  # it is half typed


class SingleConsumer(_Driver):  # type: ignore[misc]
    """`getone` returns our Record, and reads around what the driver cannot. Commit offsets by their number: a partition's
    position may be beyond records that are still to come."""

    def __init__(self, *topics: str, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*topics, **settings)
        self._around: deque[tuple[object, Record]] = deque()
        self._wait_ms = 0

    async def getone(self, *partitions: TopicPartition) -> Record:
        """The next record of any partition that is this member's; waits for one. Raises what the driver raises."""
        while True:
            found = self._read_around() or await self._one_of_each(partitions or tuple(self.assignment()))
            if found is None and not self._around:
                found = await self._one_of_any(partitions)
            if found is not None:
                return found

    @property
    def coordination_ended(self) -> bool:
        """Nothing but a new member will consume again. (The driver has no public word for it.)"""
        return self._coordinator is not None and bool(self._coordinator._coordination_task.done())

    async def close_sockets(self) -> None:
        """For a `stop` that did not end: without a broker the driver's hangs before it closes them."""
        await self._client.close()

    def _read_around(self) -> Record | None:
        """What was read without the driver, unless the group has moved on since: then it comes again."""
        while self._around:
            assignment, record = self._around.popleft()
            if assignment is self._assignment_now():
                return record
        return None

    async def _one_of_each(self, partitions: tuple[TopicPartition, ...]) -> Record | None:
        # One partition a call, so that it is known of which one the driver cannot read a record.
        for assigned in partitions:
            try:
                found = await self.getmany(assigned, timeout_ms=self._wait_ms, max_records=1)
            except UNREADABLE:
                await self._fetch_around(assigned)
                return None
            for raws in found.values():
                return record_of(TopicPartition(raws[0].topic, raws[0].partition), raws[0])
        self._wait_ms = 0
        return None

    async def _one_of_any(self, partitions: tuple[TopicPartition, ...]) -> Record | None:
        try:
            found = await self.getmany(*partitions, timeout_ms=_LOOK_AGAIN_MS, max_records=1)
        except UNREADABLE:
            # The driver has forgotten of which one: it says so again where that one is waited for by itself.
            self._wait_ms = _LOOK_AGAIN_MS
            return None
        for raws in found.values():
            return record_of(TopicPartition(raws[0].topic, raws[0].partition), raws[0])
        return None

    async def _fetch_around(self, assigned: TopicPartition) -> None:
        assignment = self._assignment_now()
        raws, end = await fetch_unreadable(self._client, assigned, await self.position(assigned))
        if assignment is self._assignment_now():
            self.seek(assigned, end)
            self._around.extend((assignment, record_of(assigned, raw)) for raw in raws)

    def _assignment_now(self) -> object:
        subscription = self._subscription.subscription
        return None if subscription is None else subscription.assignment

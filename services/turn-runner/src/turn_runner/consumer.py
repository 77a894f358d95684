"""Everything between Kafka and a handler: per-thread order, bounded work, offsets that never pass unfinished records.

`KeyOrderedConsumer` keeps these promises: records of one lane are handled one at a time in delivery order, and lanes
do not wait for each other; the committed offset of a partition is the end of its contiguous finished prefix, where
only `Done` finishes a record (protocol R4); nothing is skipped, whatever a handler raises; an offset is in the database before it
is the group's, and where the database knows less of any partition than the group, all are refused (protocol R39).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds
from intention_kernel.kafka.group import GroupMember, GroupSettings
from intention_kernel.kafka.partitioner import Partitioner
from intention_kernel.kafka.record import Record
from intention_kernel.ports.partition_progress import ProgressStore

from turn_runner.committer import Committer
from turn_runner.dispatch import Dispatcher
from turn_runner.lanes import Item
from turn_runner.limits import ConsumerCounters, ConsumerLimits, ConsumerState
from turn_runner.offsets import Epoch
from turn_runner.outcomes import Handler, LaneOf, lane_of
from turn_runner.progress import Admission, RecordedOffsets
from turn_runner.watchdog import Watchdog

_logger = logging.getLogger(__name__)

_UNWIND_SECONDS = 2.0
"""What a cancelled handler gets to let go of its connections."""

_LAST_COMMIT_SECONDS = 2.0
"""What the last commit of a revoked partition may take; `ConsumerLimits.revoke_seconds` leaves it room."""


class KeyOrderedConsumer:
    """One topic of one group. `start` and `stop` once each; state and counters may be read at any time."""

    def __init__(
        self,
        handler: Handler,
        *,
        bootstrap_servers: str,
        topic: str,
        group: str,
        clock: Clock,
        progress: ProgressStore,
        limits: ConsumerLimits | None = None,
        client_id: str = "turn-runner",
        lane: LaneOf = lane_of,
    ) -> None:
        self._limits = limits = limits or ConsumerLimits()
        self._lane = lane
        self._epochs: dict[int, Epoch] = {}
        self._partitioner = Partitioner(1)
        self._watchdog = Watchdog(clock, limits.stuck_seconds)
        self._room = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._stopping = False
        self.counters = ConsumerCounters()
        self._member = GroupMember(
            _group_settings(limits, bootstrap_servers, topic, group, client_id), self._revoked, self._assigned
        )
        self._dispatcher = Dispatcher(handler, limits, self.counters, clock, self._settled)
        offsets = RecordedOffsets(progress, self._member, topic)
        self._committer = Committer(offsets, limits, self.counters, self._give_up)
        self._admission = Admission(progress, self._member, topic, limits, self._room.set)

    async def start(self) -> None:
        """Join the group and consume. Takes until the group has assigned partitions; raises InfrastructureError."""
        self._partitioner = Partitioner(await self._member.join())
        self._watchdog.polled()
        self._polling = asyncio.create_task(self._poll_until_stopped())
        self._committing = asyncio.create_task(self._committer.run(self._live))

    async def stop(self, grace_seconds: float) -> None:
        """Start nothing more, give running handlers `grace_seconds`, commit the prefix, leave.

        Ends within the grace plus a few seconds, even when no broker answers. What did not finish is delivered again.
        """
        self._stopping = True
        self._room.set()
        await self._admission.stop()
        await self._dispatcher.stop(grace_seconds, _UNWIND_SECONDS)
        await _ended(self._committing, 0.0)
        await self._commit_last(self._live(), self._limits.leave_seconds)
        await self._member.leave(self._limits.leave_seconds)
        await _ended(self._polling, self._limits.poll_seconds)

    @property
    def healthy(self) -> bool:
        """False when only a new process will consume again: liveness should fail."""
        if self._stopping or self._polling is None or self._committing is None:
            return True
        if self._polling.done() or self._committing.done() or self._member.broken:
            return False
        incomplete = any(epoch.ended for epoch in self._epochs.values())
        return not self._watchdog.stuck(rejoin_wanted=incomplete or self._member.rejoin_wanted)

    @property
    def state(self) -> ConsumerState:
        """For readiness and for people."""
        lanes = self._dispatcher.lanes
        return ConsumerState(
            joined=self._polling is not None,
            healthy=self.healthy,
            away=self._dispatcher.away,
            partitions=tuple(sorted(epoch.partition for epoch in self._live())),
            undecided=tuple(sorted(epoch.partition for epoch in self._live() if epoch.undecided)),
            refused=tuple(epoch.refused for epoch in self._live() if epoch.refused is not None),
            in_flight=lanes.running,
            lanes=len(lanes),
            waiting_lanes=lanes.waiting,
            buffered_records=lanes.buffered_records,
            buffered_bytes=lanes.buffered_bytes,
            last_poll_age_seconds=self._watchdog.last_poll_age_seconds,
        )

    async def _poll_until_stopped(self) -> None:
        failures = 0
        while not self._stopping:
            try:
                await self._poll()
                failures = 0
            except InfrastructureError as error:
                failures += 1
                _logger.warning("%s", error)
            except Exception:
                failures += 1
                _logger.exception("polling failed")
            if failures:
                self.counters.poll_errors += 1
                await asyncio.sleep(jittered_seconds(self._limits.backoff(failures)))

    async def _poll(self) -> None:
        partitions, most = self._wanted()
        if partitions:
            polled = await self._member.poll(partitions, most, self._limits.poll_seconds)
        else:
            await self._await_room()
            polled = await self._member.poll((), 1, 0.0)
        self.counters.polls += 1
        if not any(epoch.ended for epoch in self._epochs.values()):
            self._watchdog.polled()
        items = self._deliver(polled)
        if not items:
            return
        try:
            await failpoint("runner.after_poll")
        finally:
            self._dispatcher.submit(item for item in items if item.epoch.accepts)

    def _wanted(self) -> tuple[list[int], int]:
        limits, lanes = self._limits, self._dispatcher.lanes
        room = min(limits.poll_records, limits.buffered_records - lanes.buffered_records)
        if self._dispatcher.away:
            # Something in hand finds out when they are back; with nothing in hand, one record has to.
            room = 0 if len(lanes) else 1
        if room <= 0 or lanes.buffered_bytes >= limits.buffered_bytes:
            return [], 0
        return [partition for partition, epoch in self._epochs.items() if self._has_room(epoch)], room

    def _has_room(self, epoch: Epoch) -> bool:
        limits = self._limits
        return (
            epoch.accepts
            and epoch.unfinished_records < limits.window_records
            and epoch.unfinished_bytes < limits.window_bytes
            and epoch.span_records < limits.span_records
        )

    async def _await_room(self) -> None:
        self._room.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.poll_seconds):
                await self._room.wait()

    def _deliver(self, polled: dict[int, list[Record]]) -> list[Item]:
        items: list[Item] = []
        for partition, records in polled.items():
            epoch = self._epochs.get(partition)
            if epoch is None:
                # The driver announces an assignment before its records. Should it not, no later offset may be committed.
                epoch = self._epochs[partition] = Epoch(partition)
                epoch.end()
                _logger.error("partition %s was not announced; waiting for the next rebalance", partition)
            if epoch.accepts:
                items.extend(self._item(record, epoch) for record in records)
        return items

    def _item(self, record: Record, epoch: Epoch) -> Item:
        self.counters.polled += 1
        self.counters.polled_bytes += record.size_bytes
        if record.key is not None and self._partitioner.partition(record.key) != record.partition:
            self.counters.misplaced += 1
        if record.offset < epoch.restore_until:
            record = replace(record, restored=True)
        return Item(record, self._lane(record), epoch, epoch.deliver(record.offset, record.size_bytes))

    def _settled(self) -> None:
        self._committer.completed()
        self._room.set()

    def _live(self) -> list[Epoch]:
        return [epoch for epoch in self._epochs.values() if not epoch.ended]

    async def _assigned(self, partitions: tuple[int, ...]) -> None:
        fresh = [Epoch(partition, admitted=False) for partition in partitions if partition not in self._epochs]
        self._epochs.update((epoch.partition, epoch) for epoch in fresh)
        self._admission.begin(fresh)
        self._room.set()

    async def _revoked(self, partitions: tuple[int, ...]) -> None:
        epochs = [self._epochs[partition] for partition in partitions if partition in self._epochs]
        self.counters.rebalances += bool(epochs)
        try:
            for epoch in epochs:
                epoch.revoking = True
            self._dispatcher.drop(epochs)
            await self._dispatcher.drain(epochs, self._limits.revoke_seconds)
            await self._commit_last(epochs, _LAST_COMMIT_SECONDS)
        finally:
            self._give_up(epochs)
            self._committer.forget(epochs)
            for epoch in epochs:
                self._epochs.pop(epoch.partition, None)

    async def _commit_last(self, epochs: Collection[Epoch], seconds: float) -> None:
        with suppress(InfrastructureError, TimeoutError):
            async with asyncio.timeout(seconds):
                await self._committer.commit(epochs)

    def _give_up(self, epochs: Collection[Epoch]) -> None:
        """Not ours any more. They stay in the map, and nothing of them is taken, until the group revokes them."""
        for epoch in epochs:
            epoch.end()
        self._dispatcher.drop(epochs)


async def _ended(task: asyncio.Task[None] | None, seconds: float) -> None:
    if task is None:
        return
    if not task.done() and seconds:
        await asyncio.wait([task], timeout=seconds)
    task.cancel()
    await asyncio.wait([task])


def _group_settings(limits: ConsumerLimits, servers: str, topic: str, group: str, client_id: str) -> GroupSettings:
    return GroupSettings(
        bootstrap_servers=servers,
        topic=topic,
        group=group,
        client_id=client_id,
        session_timeout_seconds=limits.session_timeout_seconds,
        heartbeat_seconds=limits.heartbeat_seconds,
        rebalance_timeout_seconds=limits.rebalance_timeout_seconds,
        request_timeout_seconds=limits.request_timeout_seconds,
        fetch_wait_seconds=limits.fetch_wait_seconds,
    )

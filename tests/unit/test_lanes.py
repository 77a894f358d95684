"""Lanes and offsets against a model that keeps one plain list per key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from intention_kernel.kafka.record import Record
from turn_runner.lanes import Item, Lanes
from turn_runner.offsets import Epoch
from turn_runner.outcomes import lane_of

KEYS = [b"a", b"b", b"c", None]


def record(partition: int, offset: int, key: bytes | None) -> Record:
    return Record("t", partition, offset, key, b"v", (), 0, size_bytes=offset % 7 + 1)


def item(epoch: Epoch, offset: int, key: bytes | None = b"a") -> Item:
    made = record(epoch.partition, offset, key)
    return Item(made, lane_of(made), epoch, epoch.deliver(offset, made.size_bytes))


@dataclass
class Model:
    """What must be true, in the plainest words."""

    queues: dict[object, list[Item]] = field(default_factory=dict)
    running: list[Item] = field(default_factory=list)
    waiting: list[Item] = field(default_factory=list)
    alone: list[Item] = field(default_factory=list)
    delivered: dict[Epoch, list[Item]] = field(default_factory=dict)
    finished: set[Item] = field(default_factory=set)
    runs_alone: bool = False

    def startable(self) -> list[Item]:
        held = {id(one) for one in (*self.running, *self.waiting, *self.alone)}
        return [queue[0] for queue in self.queues.values() if queue and id(queue[0]) not in held]

    def held(self) -> list[Item]:
        return [one for queue in self.queues.values() for one in queue]


class LanesAgainstAModel(RuleBasedStateMachine):
    """Every step of the real thing is compared with the model."""

    @initialize(permits=st.integers(1, 3))
    def begin(self, permits: int) -> None:
        self.permits = permits
        self.lanes = Lanes(permits)
        self.model = Model()
        self.offset = 0
        self.epochs = {partition: Epoch(partition) for partition in (0, 1)}

    @rule(partition=st.integers(0, 1), key=st.sampled_from(KEYS), gap=st.integers(1, 3))
    def deliver(self, partition: int, key: bytes | None, gap: int) -> None:
        self.offset += gap
        made = item(self.epochs[partition], self.offset, key)
        self.lanes.add(made)
        self.model.queues.setdefault(made.key, []).append(made)
        self.model.delivered.setdefault(made.epoch, []).append(made)

    @rule()
    def take(self) -> None:
        model, taken = self.model, self.lanes.take()
        may = len(model.running) < self.permits and not model.runs_alone
        if model.alone:
            expected = [model.alone[0]] if may and not model.running else []
        else:
            expected = model.startable() if may else []
        assert (taken is not None) == bool(expected)
        if taken is not None:
            started, alone = taken
            assert started in expected
            assert alone == bool(model.alone)
            model.runs_alone = alone
            model.alone = [one for one in model.alone if one is not started]
            model.running.append(started)

    @precondition(lambda self: self.model.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        done = self._release(data)
        if done.epoch.finish(done.delivered):
            self.model.finished.add(done)
        self.lanes.finish(done)
        assert self.model.queues[done.key].pop(0) is done

    @precondition(lambda self: self.model.running)
    @rule(data=st.data(), alone=st.booleans())
    def begin_again_later(self, data: st.DataObject, alone: bool) -> None:
        again = self._release(data)
        if not again.epoch.accepts:
            self.lanes.finish(again)
            self.model.queues[again.key].pop(0)
        elif alone:
            self.lanes.alone(again)
            self.model.alone.append(again)
        else:
            self.lanes.wait(again)
            self.model.waiting.append(again)

    @precondition(lambda self: self.model.waiting)
    @rule(data=st.data())
    def wake(self, data: st.DataObject) -> None:
        woken = data.draw(st.sampled_from(self.model.waiting))
        self.model.waiting.remove(woken)
        self.lanes.wake(woken)
        self.lanes.wake(woken)

    @rule(partition=st.integers(0, 1))
    def revoke_and_assign_again(self, partition: int) -> None:
        epoch, model = self.epochs[partition], self.model
        epoch.revoking = True
        gone = [one for one in model.held() if one.epoch is epoch and one not in model.running]
        assert self.lanes.drop([epoch]) == len(gone)
        model.queues = {key: [one for one in queue if one not in gone] for key, queue in model.queues.items()}
        dropped_waiting = [one for one in model.waiting if one in gone]
        model.waiting = [one for one in model.waiting if one not in gone]
        model.alone = [one for one in model.alone if one not in gone]
        epoch.end()
        self.epochs[partition] = Epoch(partition)
        for one in dropped_waiting:
            self.lanes.wake(one)

    def _release(self, data: st.DataObject) -> Item:
        released = data.draw(st.sampled_from(self.model.running))
        self.model.running.remove(released)
        self.model.runs_alone = False
        return released

    @invariant()
    def counts_agree(self) -> None:
        """R4: waiting lanes hold no permit."""
        model, held = self.model, self.model.held()
        assert self.lanes.running == len(model.running) <= self.permits
        assert self.lanes.waiting == len(model.waiting)
        assert self.lanes.buffered_records == len(held)
        assert self.lanes.buffered_bytes == sum(one.record.size_bytes for one in held)
        assert len(self.lanes) == sum(bool(queue) for queue in model.queues.values())

    @invariant()
    def one_record_of_a_lane_runs_and_it_is_the_oldest(self) -> None:
        keys = [one.key for one in self.model.running]
        assert len(keys) == len(set(keys))
        assert all(self.model.queues[one.key][0] is one for one in self.model.running)

    @invariant()
    def who_runs_alone_runs_alone(self) -> None:
        """R6: a turn with two crashes runs alone."""
        assert not self.model.runs_alone or len(self.model.running) == 1

    @invariant()
    def no_offset_passes_an_unfinished_record(self) -> None:
        """R4: an ended epoch commits nothing; a live one never more than its finished prefix."""
        for epoch, delivered in self.model.delivered.items():
            offset = epoch.committable()
            if epoch.ended:
                assert offset is None
            elif offset is not None:
                assert all(one in self.model.finished for one in delivered if one.delivered.offset < offset)

    @invariant()
    def nothing_of_a_live_epoch_is_lost(self) -> None:
        held = {id(one) for one in self.model.held()}
        for epoch, delivered in self.model.delivered.items():
            if not epoch.ended:
                assert all(one in self.model.finished or id(one) in held for one in delivered)


LanesAgainstAModel.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestLanesAgainstAModel = LanesAgainstAModel.TestCase


def take(lanes: Lanes) -> Item | None:
    taken = lanes.take()
    return None if taken is None else taken[0]


def test_ready_lanes_take_turns() -> None:
    lanes, epoch = Lanes(permits=1), Epoch(0)
    items = [item(epoch, offset, key) for offset, key in enumerate([b"a", b"a", b"a", b"b", b"c"])]
    for one in items:
        lanes.add(one)
    order: list[Item] = []
    while (taken := take(lanes)) is not None:
        order.append(taken)
        lanes.finish(taken)
    assert [one.record.key for one in order] == [b"a", b"b", b"c", b"a", b"a"]


def test_a_waiting_lane_leaves_its_permit_to_its_neighbours() -> None:
    """R4: busy, contended and held wait outside the concurrency permits."""
    lanes, epoch = Lanes(permits=1), Epoch(0)
    blocked, behind, neighbour = item(epoch, 1, b"a"), item(epoch, 2, b"a"), item(epoch, 3, b"b")
    for one in (blocked, behind, neighbour):
        lanes.add(one)
    assert take(lanes) is blocked
    lanes.wait(blocked)
    assert take(lanes) is neighbour
    lanes.finish(neighbour)
    assert take(lanes) is None
    lanes.wake(blocked)
    assert take(lanes) is blocked


def test_records_without_a_key_share_a_lane_of_their_partition() -> None:
    assert lane_of(record(0, 1, None)) == lane_of(record(0, 2, None))
    assert lane_of(record(0, 1, None)) != lane_of(record(1, 1, None))
    assert lane_of(record(0, 1, b"")) != lane_of(record(0, 1, None))
    assert lane_of(record(0, 1, b"k")) == lane_of(record(1, 9, b"k"))


@pytest.mark.parametrize("end", [Lanes.finish, Lanes.wait, Lanes.alone])
def test_only_a_running_record_can_be_settled(end: Callable[[Lanes, Item], None]) -> None:
    lanes, epoch = Lanes(permits=1), Epoch(0)
    one = item(epoch, 1)
    lanes.add(one)
    with pytest.raises(ValueError, match="not running"):
        end(lanes, one)

"""Which record may be started next: one lane per thread, serial inside, concurrent between, fair by turns.

Pure bookkeeping; `dispatch` calls the handler. A lane is in exactly one state:

    ready ──take──▶ running ──finish──▶ ready, or gone when empty
      ▲                ├── wait ──▶ waiting ──wake──▶ ready        no permit is held while waiting
      │                └── alone ─▶ alone: taken when nothing else runs, and nothing else is taken before it
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from intention_kernel.kafka.record import Record

from turn_runner.offsets import Delivered, Epoch


class LaneState(Enum):
    """What a lane's first record is doing."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    ALONE = "alone"


@dataclass(slots=True, eq=False)
class Item:
    """A record in a lane. `failures` counts in a row and decides its backoff."""

    record: Record
    key: Hashable
    epoch: Epoch
    delivered: Delivered
    failures: int = 0


@dataclass(slots=True, eq=False)
class _Lane:
    key: Hashable
    items: deque[Item] = field(default_factory=deque)
    state: LaneState = LaneState.READY


class Lanes:
    """All lanes of a process; `permits` bounds the running ones."""

    def __init__(self, permits: int) -> None:
        self._permits = permits
        self._lanes: dict[Hashable, _Lane] = {}
        self._ready: OrderedDict[Hashable, _Lane] = OrderedDict()
        self._alone: OrderedDict[Hashable, _Lane] = OrderedDict()
        self._alone_runs = False
        self.running = 0
        self.waiting = 0
        self.buffered_records = 0
        self.buffered_bytes = 0

    def __len__(self) -> int:
        return len(self._lanes)

    def add(self, item: Item) -> None:
        """Append to the lane of the item's key."""
        lane = self._lanes.get(item.key)
        if lane is None:
            lane = self._lanes[item.key] = _Lane(item.key)
            self._ready[item.key] = lane
        lane.items.append(item)
        self.buffered_records += 1
        self.buffered_bytes += item.record.size_bytes

    def take(self) -> tuple[Item, bool] | None:
        """The next record to start and whether it runs alone; it holds a permit until finish, wait or alone."""
        if self._alone_runs or self.running >= self._permits:
            return None
        alone = bool(self._alone)
        if (alone and self.running) or not (alone or self._ready):
            return None
        _, lane = (self._alone if alone else self._ready).popitem(last=False)
        lane.state = LaneState.RUNNING
        self.running += 1
        self._alone_runs = alone
        return lane.items[0], alone

    def finish(self, item: Item) -> None:
        """The running record leaves its lane; the lane's next one queues behind the other ready lanes."""
        lane = self._release(item)
        self._forget(lane.items.popleft())
        self._requeue(lane)

    def wait(self, item: Item) -> None:
        """The running record stays first in its lane and gives its permit back until `wake`."""
        self._release(item).state = LaneState.WAITING
        self.waiting += 1

    def wake(self, item: Item) -> None:
        """A waiting record may be taken again; nothing happens if it was dropped meanwhile."""
        lane = self._lanes.get(item.key)
        if lane is not None and lane.state is LaneState.WAITING and lane.items[0] is item:
            self.waiting -= 1
            self._requeue(lane)

    def alone(self, item: Item) -> None:
        """The running record gives its permit back and is taken again once nothing else runs (protocol R6)."""
        lane = self._release(item)
        lane.state = LaneState.ALONE
        self._alone[lane.key] = lane

    def drop(self, epochs: Iterable[Epoch]) -> int:
        """Forget every record of these epochs that is not running; returns how many."""
        gone = frozenset(epochs)
        before = self.buffered_records
        for lane in list(self._lanes.values()):
            self._drop_from(lane, gone)
        return before - self.buffered_records

    def _drop_from(self, lane: _Lane, gone: frozenset[Epoch]) -> None:
        first = lane.items[0]
        kept: deque[Item] = deque()
        for item in lane.items:
            if item.epoch in gone and not (item is first and lane.state is LaneState.RUNNING):
                self._forget(item)
            else:
                kept.append(item)
        lane.items = kept
        if kept and kept[0] is first:
            return
        self.waiting -= lane.state is LaneState.WAITING
        self._alone.pop(lane.key, None)
        self._ready.pop(lane.key, None)
        self._requeue(lane)

    def _requeue(self, lane: _Lane) -> None:
        if lane.items:
            lane.state = LaneState.READY
            self._ready[lane.key] = lane
        else:
            del self._lanes[lane.key]

    def _release(self, item: Item) -> _Lane:
        lane = self._lanes[item.key]
        if lane.state is not LaneState.RUNNING or lane.items[0] is not item:
            raise ValueError(f"offset {item.delivered.offset} is not running")
        self.running -= 1
        self._alone_runs = False
        return lane

    def _forget(self, item: Item) -> None:
        self.buffered_records -= 1
        self.buffered_bytes -= item.record.size_bytes

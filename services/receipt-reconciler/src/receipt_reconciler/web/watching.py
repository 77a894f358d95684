"""What changed in the queue, told to whoever listens: one look a second for all of them, and none while nobody does."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from intention_kernel.errors import InfrastructureError
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.operator_queue import OperatorQueue, QueueItem
from intention_kernel.ports.queue_filter import Filter, IsOneOf
from intention_kernel.reconciliation.matching import is_snoozed

LOOKED_AT = 500
"""How many items a look reads, in the order of the queue; what is beyond them is not watched, and `complete` says so."""

_LOOK_SECONDS = 1.0
_MOST_WAITING = 16
_MOST_STREAMS = 1_000
_MOST_STREAMS_OF_ONE = 20
_NOT_DONE = Filter((IsOneOf("status", ("done",), negated=True),))

logger = logging.getLogger(__name__)

ItemKey = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """These receipts' items are not as they were, or are new or gone. `counts` are of what the listener may see:
    status word -> items. `complete` False: there are more than are watched."""

    receipts: tuple[str, ...]
    counts: Mapping[str, int]
    complete: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """The listener was too slow, and was dropped: read the list anew."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing happened for as long as the listener wanted to wait."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The process ends."""


Told = QueueChanged | Missed | Quiet | Stopping


@dataclass(frozen=True, slots=True)
class _Seen:
    """One item at a look. `mark` differs where anything that a reader sees does."""

    tenant_id: str | None
    effect_id: str
    words: tuple[str, ...]
    mark: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Look:
    items: Mapping[ItemKey, _Seen]
    complete: bool


class Listener:
    """One open stream. The first thing that it is told is how many items there are."""

    def __init__(self, user: str, scope: Scope) -> None:
        self.user = user
        self.scope = scope
        self.dropped = False
        self._waiting: deque[QueueChanged] = deque()
        self._arrived = asyncio.Event()

    def tell(self, change: QueueChanged) -> None:
        """Keep it until it is taken; a listener that leaves too much is dropped."""
        if len(self._waiting) >= _MOST_WAITING:
            self.dropped = True
            self._waiting.clear()
        elif not self.dropped:
            self._waiting.append(change)
        self._arrived.set()

    async def next(self, stopping: asyncio.Event, seconds: float) -> Told:
        """The next thing, after at most so many seconds. After Missed and Stopping nothing comes."""
        if not self._arrived.is_set() and not stopping.is_set():
            await _first_of(self._arrived, stopping, seconds)
        if stopping.is_set():
            return Stopping()
        if self.dropped:
            return Missed()
        if not self._waiting:
            return Quiet()
        change = self._waiting.popleft()
        if not self._waiting:
            self._arrived.clear()
        return change


@dataclass(slots=True)
class Watcher:
    """One process's. `stopping` ends every listener."""

    queue: OperatorQueue
    stopping: asyncio.Event
    look_seconds: float = _LOOK_SECONDS
    most_streams: int = _MOST_STREAMS
    most_streams_of_one: int = _MOST_STREAMS_OF_ONE
    _listeners: set[Listener] = field(default_factory=set)
    _looking: asyncio.Task[None] | None = None
    _last: _Look | None = None

    @property
    def is_looking(self) -> bool:
        """Whether the store is asked again and again: only while somebody listens."""
        return self._looking is not None

    @asynccontextmanager
    async def listening(self, user: str, scope: Scope) -> AsyncIterator[Listener | None]:
        """A listener until the context ends; None where there are too many, of this user or of all."""
        listener = self._joined(user, scope)
        try:
            yield listener
        finally:
            if listener is not None:
                await self._left(listener)

    def _joined(self, user: str, scope: Scope) -> Listener | None:
        of_user = sum(one.user == user for one in self._listeners)
        if len(self._listeners) >= self.most_streams or of_user >= self.most_streams_of_one:
            return None
        listener = Listener(user, scope)
        self._listeners.add(listener)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look_again_and_again())
        elif self._last is not None:
            listener.tell(_change(self._last, self._last, (), scope))
        return listener

    async def _left(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        if self._listeners or self._looking is None:
            return
        looking, self._looking, self._last = self._looking, None, None
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking

    async def _look_again_and_again(self) -> None:
        while not self.stopping.is_set():
            try:
                self._compare(_look_of(await self.queue.items(_NOT_DONE, "", None, LOOKED_AT + 1)))
            except InfrastructureError as error:
                logger.warning("the queue could not be watched: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self.look_seconds):
                    await self.stopping.wait()

    def _compare(self, look: _Look) -> None:
        before, self._last = self._last, look
        if before is None:
            for listener in self._listeners:
                listener.tell(_change(look, look, (), listener.scope))
            return
        changed = tuple(key for key in {**before.items, **look.items} if before.items.get(key) != look.items.get(key))
        if not changed:
            return
        for listener in self._listeners:
            change = _change(before, look, changed, listener.scope)
            if change.receipts:
                listener.tell(change)


def _change(before: _Look, look: _Look, changed: tuple[ItemKey, ...], scope: Scope) -> QueueChanged:
    """What a listener of that scope is told."""
    receipts = {
        key[0]
        for key in changed
        for one in (before.items.get(key), look.items.get(key))
        if one is not None and scope.covers(one.tenant_id, one.effect_id)
    }
    words = Counter(
        word for one in look.items.values() if scope.covers(one.tenant_id, one.effect_id) for word in one.words
    )
    counts = {word: words[word] for word in ("open", "uncertain", "contradicted", "decided", "failed")}
    return QueueChanged(tuple(sorted(receipts)), counts, look.complete)


def _look_of(items: tuple[QueueItem, ...]) -> _Look:
    watched = items[:LOOKED_AT]
    return _Look(
        {(item.receipt_id, item.settlement, item.kind): _seen(item) for item in watched},
        complete=len(items) <= LOOKED_AT,
    )


def _seen(item: QueueItem) -> _Seen:
    words: tuple[str, ...] = (item.phase,)
    if item.phase == "open" and item.contradicted:
        words = ("open", "contradicted")
    elif item.phase == "open" and item.state == "uncertain":
        words = ("open", "uncertain")
    is_claimed = item.claimed_until is not None and item.claimed_until > item.now
    mark = (
        *(item.phase, item.reason, item.looks, item.version, item.contradicted, item.blocks, item.waits_for),
        *((item.claimed_by, item.claimed_until) if is_claimed else (None, None)),
        is_snoozed(item, item.now),
    )
    return _Seen(item.tenant_id, item.effect_id, words, mark)


async def _first_of(arrived: asyncio.Event, stopping: asyncio.Event, seconds: float) -> None:
    """Return once either is set, or the time is over."""
    waits = {asyncio.ensure_future(event.wait()) for event in (arrived, stopping)}
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()

"""One chunk from fetched rows to forgotten rows."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from intention_kernel.clock import Clock
from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds
from intention_kernel.ports.outbox import Outbox, OutboxRow, Stream
from intention_kernel.ports.publisher import Publisher, PublishOutcome

from outbox_relay import metrics
from outbox_relay.chunk import Plan, Refusal, plan, settle
from outbox_relay.shards import Shards

_log = logging.getLogger(__name__)

_GAP_PATIENCE_SECONDS = 5.0
_HOLD_SECONDS = 1.0
_RETRY_SECONDS = 0.5


class HeldStreams:
    """Streams that are left out of the next fetches, so that their rows do not fill the window of a shard."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[Stream, float] = {}

    def hold(self, stream: Stream) -> None:
        """For about a second."""
        self._until[stream] = self._clock.monotonic_seconds() + jittered_seconds(_HOLD_SECONDS)

    def now(self) -> tuple[Stream, ...]:
        """Those that are held now."""
        now = self._clock.monotonic_seconds()
        self._until = {stream: until for stream, until in self._until.items() if until > now}
        return tuple(self._until)


class Pipe:
    """Takes one chunk at a time through plan, publish, delete. The shards of different pipes are disjoint."""

    def __init__(self, outbox: Outbox, publisher: Publisher, shards: Shards, held: HeldStreams, clock: Clock) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._shards = shards
        self._held = held
        self._clock = clock
        self._gap_since: dict[Stream, float] = {}

    async def relay(self, rows: Sequence[OutboxRow]) -> bool:
        """Publish `rows` and forget what was acknowledged. False when nothing moved.

        Raises InfrastructureError only before anything was sent, or where a failpoint does: what the broker has
        acknowledged is deleted, however often the store has to be asked.
        """
        planned = self._plan(rows)
        await self._refuse(planned.refusals)
        settled = settle(planned.send, await self._publish(planned.send))
        if settled.delete:
            self._published(settled.delete, settled.sequences)
            await failpoint("relay.after_ack")
            await self._until_done("delete", lambda: self._outbox.delete(settled.delete))
            await failpoint("relay.after_delete")
        await self._refuse(settled.refusals)
        for stream, reason in settled.unsent.items():
            self._held.hold(stream)
            _log.warning("not published for now: %s", reason, extra={"thread_id": stream[0], "topic": stream[1]})
        return bool(settled.delete or settled.refusals or planned.refusals)

    def _plan(self, rows: Sequence[OutboxRow]) -> Plan:
        known = {
            row.thread_id: last
            for row in rows
            if (last := self._shards.sequences(row.shard).get(row.thread_id)) is not None
        }
        planned = plan(rows, known)
        if not planned.gaps:
            return planned
        for row in planned.gaps:
            if self._is_for_good(row):
                # Readers notice a gap and say so; a thread that is silent for ever they would not notice.
                known.pop(row.thread_id)
                metrics.SEQUENCE_GAPS.inc()
                _log.error("events are missing before %s", row.dedupe, extra={"thread_id": row.thread_id})
            else:
                self._held.hold(row.stream)
        return plan(rows, known)

    def _is_for_good(self, row: OutboxRow) -> bool:
        now = self._clock.monotonic_seconds()
        if now - self._gap_since.setdefault(row.stream, now) < _GAP_PATIENCE_SECONDS:
            return False
        del self._gap_since[row.stream]
        return True

    async def _publish(self, rows: Sequence[OutboxRow]) -> Sequence[PublishOutcome]:
        if not rows:
            return ()
        numbers = {row.shard for row in rows}
        with self._shards.sending(numbers):
            return await self._publisher.publish(rows, lambda: self._shards.may_send(numbers))

    def _published(self, rows: Sequence[OutboxRow], sequences: Mapping[str, int]) -> None:
        for topic, count in Counter(row.topic for row in rows).items():
            metrics.ROWS_PUBLISHED.labels(topic).inc(count)
        metrics.RECORDS_PUBLISHED.inc(sum(len(row.records) for row in rows))
        for row in rows:
            self._gap_since.pop(row.stream, None)
            if row.first_sequence is not None:
                self._shards.remember(row.shard, row.thread_id, sequences[row.thread_id])

    async def _refuse(self, refusals: Iterable[Refusal]) -> None:
        for refusal in refusals:
            row = refusal.row
            metrics.ROWS_REFUSED.inc()
            _log.error(
                "refused, the thread's rows of this topic stop: %s",
                refusal.reason,
                extra={"thread_id": row.thread_id, "topic": row.topic, "shard": row.shard},
            )
            await self._until_done("refuse", partial(self._outbox.refuse, row, refusal.reason))

    async def _until_done(self, what: str, call: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await call()
            except InfrastructureError as error:
                metrics.FAILURES.labels(what).inc()
                _log.warning("%s", error)
                await asyncio.sleep(jittered_seconds(_RETRY_SECONDS))
            else:
                return

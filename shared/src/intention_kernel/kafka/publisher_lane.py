"""The rows of one partition on their way: batch after batch, each answered before the next is handed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.idempotent_producer import (
    LARGEST_BATCH_BYTES,
    Batch,
    Failure,
    IdempotentProducer,
    new_batch,
)
from intention_kernel.ports.outbox import OutboxRow, Stream
from intention_kernel.ports.publisher import Published, PublishOutcome, Refused, Unsent

_TRIES = 3
_FAILURES = 24  # each costs a new producer: a lane that meets more in one run leaves the rest for later
_PUBLISHED = Published()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the next batch begins: the row, and the record inside it."""

    row: int
    record: int = 0


class Lane:
    """Publishes `rows` to one partition in order; makes one batch at a time.

    A batch that the broker refuses is sent again record by record, so that the refusal falls on the record that earns
    it; that record's row is Refused, the later rows of its stream are Unsent, and the other streams go on.
    """

    def __init__(self, producer: IdempotentProducer, topic: str, partition: int, rows: Sequence[OutboxRow]) -> None:
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._rows = rows
        self._keys = [row.thread_id.encode() for row in rows]
        self._outcomes: list[PublishOutcome | None] = [None] * len(rows)
        self._stopped: dict[Stream, PublishOutcome] = {}
        self._alone = 0  # so many records more go one by one
        self._tries = 0
        self._failures = 0

    async def run(self, may_send: Callable[[], bool]) -> Sequence[PublishOutcome]:
        """The outcome of each row."""
        place = self._skip_stopped(_Place(0))
        rest = "not tried"
        while place.row < len(self._rows):
            if not may_send():
                rest = "the lease is lost or about to run out"
                break
            try:
                place = await self._step(place)
            except InfrastructureError as error:
                rest = str(error)
                break
        return [outcome or Unsent(rest) for outcome in self._outcomes]

    async def _step(self, place: _Place) -> _Place:
        batch = new_batch()
        end = self._fill(batch, place)
        count = batch.record_count()
        failure = await self._producer.send(self._topic, self._partition, batch) if count else None
        if failure is None:
            self._published(place, end, count)
            return self._skip_stopped(end)
        return self._skip_stopped(self._failed(place, failure, count))

    def _fill(self, batch: Batch, place: _Place) -> _Place:
        """Append whole rows while they fit; a row that is larger than a batch is cut between records."""
        row_at, record_at = place.row, place.record
        while row_at < len(self._rows):
            row = self._rows[row_at]
            if row.stream in self._stopped:
                return _Place(row_at, 0)
            if batch.record_count() and batch.size() + row.size_bytes > LARGEST_BATCH_BYTES:
                break
            record_at = self._append(batch, row_at, record_at)
            if record_at < len(row.records):
                break
            row_at, record_at = row_at + 1, 0
            if self._alone and batch.record_count():
                break
        return _Place(row_at, record_at)

    def _append(self, batch: Batch, row_at: int, start: int) -> int:
        """Append a row's records from `start`; returns the first that did not fit."""
        row, key, append = self._rows[row_at], self._keys[row_at], batch.append
        cut = self._alone or row.size_bytes > LARGEST_BATCH_BYTES
        for at in range(start, len(row.records)):
            headers, value = row.records[at]
            full = cut and batch.record_count() and (self._alone or batch.size() + _weight(value) > LARGEST_BATCH_BYTES)
            if full or append(timestamp=None, key=key, value=value, headers=list(headers)) is None:
                return at
        return len(row.records)

    def _published(self, start: _Place, end: _Place, count: int) -> None:
        self._outcomes[start.row : end.row] = [_PUBLISHED] * (end.row - start.row)
        self._alone = max(0, self._alone - count)
        self._tries = 0

    def _failed(self, place: _Place, failure: Failure, count: int) -> _Place:
        """Where to go on: at the same place with smaller batches or a new producer, or behind what can not be sent."""
        self._tries += 1
        self._failures += 1
        if self._failures > _FAILURES or (failure.kind == "stale" and self._tries >= _TRIES):
            raise InfrastructureError(failure.detail)
        if failure.kind != "stale" and count > 1:
            self._alone, self._tries = max(self._alone, count), 0
            return place
        if failure.kind != "refused" and self._tries < _TRIES:
            return place
        row = self._rows[place.row]
        refused = failure.kind == "refused"
        self._outcomes[place.row] = Refused(failure.detail) if refused else Unsent(failure.detail)
        self._stopped[row.stream] = Unsent(f"behind a record that was not published: {failure.detail}")
        self._tries = 0
        return _Place(place.row + 1)

    def _skip_stopped(self, place: _Place) -> _Place:
        while place.row < len(self._rows) and (outcome := self._stopped.get(self._rows[place.row].stream)):
            self._outcomes[place.row] = outcome
            place = _Place(place.row + 1)
        return place


def _weight(value: bytes | None) -> int:
    return 0 if value is None else len(value)

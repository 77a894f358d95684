"""Pure: which rows of a chunk may go out, and which may be forgotten afterwards (protocol R35, R37)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from intention_kernel.ports.outbox import OutboxRow, Stream
from intention_kernel.ports.publisher import Published, PublishOutcome, Refused


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that never can be published, and why."""

    row: OutboxRow
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a chunk before anything is sent.

    `send`: in order, each thread's events without a gap. `gaps`: rows whose events do not follow the last published
    ones of their thread. `refusals`: rows that cannot be read. The later rows of such a stream are in none of them.
    """

    send: tuple[OutboxRow, ...]
    gaps: tuple[OutboxRow, ...]
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of a chunk after the broker has answered.

    `delete`: per stream the acknowledged prefix of whole rows. `refusals`: what the broker never takes. `unsent`: the
    streams that stopped for now, with the reason. `sequences`: per thread the last published sequence.
    """

    delete: tuple[OutboxRow, ...]
    refusals: tuple[Refusal, ...]
    unsent: Mapping[Stream, str]
    sequences: Mapping[str, int]


def plan(rows: Iterable[OutboxRow], sequences: Mapping[str, int]) -> Plan:
    """`rows` by shard and id; `sequences` the last published sequence of each thread that is known."""
    send: list[OutboxRow] = []
    gaps: list[OutboxRow] = []
    refusals: list[Refusal] = []
    stopped: set[Stream] = set()
    last = dict(sequences)
    for row in rows:
        if row.stream in stopped:
            continue
        if row.unreadable is not None:
            refusals.append(Refusal(row, row.unreadable))
            stopped.add(row.stream)
        elif _leaves_a_gap(row, last):
            gaps.append(row)
            stopped.add(row.stream)
        else:
            send.append(row)
            _advance(last, row)
    return Plan(tuple(send), tuple(gaps), tuple(refusals))


def settle(rows: Sequence[OutboxRow], outcomes: Sequence[PublishOutcome]) -> Settled:
    """`rows` as they were sent, and what the broker said of each."""
    delete: list[OutboxRow] = []
    refusals: list[Refusal] = []
    unsent: dict[Stream, str] = {}
    stopped: set[Stream] = set()
    sequences: dict[str, int] = {}
    for row, outcome in zip(rows, outcomes, strict=True):
        if row.stream in stopped:
            continue
        if isinstance(outcome, Published):
            delete.append(row)
            _advance(sequences, row)
            continue
        stopped.add(row.stream)
        if isinstance(outcome, Refused):
            refusals.append(Refusal(row, outcome.reason))
        else:
            unsent[row.stream] = outcome.reason
    return Settled(tuple(delete), tuple(refusals), unsent, sequences)


def _leaves_a_gap(row: OutboxRow, last: Mapping[str, int]) -> bool:
    known = last.get(row.thread_id)
    # What was published before comes again after a delete that was lost: readers drop it, a gap they cannot mend.
    return row.first_sequence is not None and known is not None and row.first_sequence > known + 1


def _advance(last: dict[str, int], row: OutboxRow) -> None:
    if row.first_sequence is not None:
        last[row.thread_id] = max(last.get(row.thread_id, 0), row.first_sequence + len(row.records) - 1)

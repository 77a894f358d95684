"""The event topic against the events that were committed: all of them, in order, byte for byte, and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from intention_kernel.history.reading import Told, TurnKey, read_event
from intention_kernel.history.values import Finding, History, Record, SetAside, Turn, WireEvent


@dataclass(slots=True)
class _Thread:
    """A thread as a reader of the topic keeps it: each sequence once."""

    partition: int
    told: dict[int, Told] = field(default_factory=dict)
    last: int = 0
    incarnation: str = ""


@dataclass(slots=True)
class _Numbers:
    """Whose each sequence is: of a committed turn, of a turn that was set aside, or of a database that is lost."""

    turns: dict[int, tuple[Turn, WireEvent]] = field(default_factory=dict)
    asides: dict[int, SetAside] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)


def check_events(history: History) -> Iterator[Finding]:
    """Everything about events; see docs/guarantees.md for the rules."""
    threads: dict[str, _Thread] = {}
    for record in sorted(history.events, key=lambda one: (one.partition, one.offset)):
        yield from _hear(record, threads, history)
    yield from _check_incarnations(threads, history)
    yield from _check_threads(threads, history)
    for turn in history.turns:
        completed = sum(dict(event.headers).get("ce_type") == b"turn.completed" for event in turn.events)
        if completed != 1:
            yield Finding(
                "turn-completed", f"turn {turn.turn_id} of {turn.thread_id} has {completed} turn.completed events"
            )


def _hear(record: Record, threads: dict[str, _Thread], history: History) -> Iterator[Finding]:
    place = f"event {record.partition}/{record.offset}"
    told = read_event(record.headers, record.value)
    if told is None or record.key != told.thread_id.encode():
        yield Finding("event-content", f"{place} has headers or a key that cannot be read")
        return
    thread = threads.setdefault(told.thread_id, _Thread(record.partition))
    if thread.partition != record.partition:
        yield Finding("event-order", f"{place} of {told.thread_id} is on another partition than those before")
    known = thread.told.get(told.sequence)
    if known is not None:
        if known != told:
            yield Finding("event-content", f"{place}: {told.thread_id} has two events with sequence {told.sequence}")
        return
    jumps = history.recoveries > 0 and told.incarnation != thread.incarnation and told.sequence > thread.last
    if told.sequence != thread.last + 1 and not jumps:
        yield Finding("event-order", f"{place}: {told.thread_id} has sequence {told.sequence} after {thread.last}")
    thread.told[told.sequence] = told
    thread.last, thread.incarnation = max(thread.last, told.sequence), told.incarnation
    yield from _check_envelope(place, told)


def _check_envelope(place: str, told: Told) -> Iterator[Finding]:
    if told.said != (told.thread_id, told.sequence, told.type):
        yield Finding("event-content", f"{place}: its value says {told.said}, its headers something else")


def _check_incarnations(threads: Mapping[str, _Thread], history: History) -> Iterator[Finding]:
    others = {told.incarnation for thread in threads.values() for told in thread.told.values()} - {history.incarnation}
    if len(others) > history.recoveries:
        what = f"{len(others)} other incarnations tell events, there were {history.recoveries} recoveries"
        yield Finding("event-content", what)


def _check_threads(threads: Mapping[str, _Thread], history: History) -> Iterator[Finding]:
    rows: dict[str, list[Turn | SetAside]] = defaultdict(list)
    for turn in history.turns:
        rows[turn.thread_id].append(turn)
    for aside in history.set_aside:
        rows[aside.thread_id].append(aside)
    nexts = {head.thread_id: head.next_sequence for head in history.heads}
    for thread_id in sorted(rows.keys() | threads.keys() | nexts.keys()):
        thread = threads.get(thread_id, _Thread(0))
        own = sorted(rows[thread_id], key=lambda row: row.revision)
        numbers = _Numbers()
        yield from _number(numbers, own, thread, nexts.get(thread_id, 1), history)
        yield from _compare(thread_id, numbers, thread, history.incarnation)


def _number(
    numbers: _Numbers, rows: list[Turn | SetAside], thread: _Thread, next_sequence: int, history: History
) -> Iterator[Finding]:
    """The rows of a thread take its sequences in the order of their revisions; only a recovery leaves some out."""
    failures = _failures(rows, thread)
    expected, thread_id = 1, rows[0].thread_id if rows else ""
    for row in rows:
        is_turn = isinstance(row, Turn)
        first = row.first_sequence if isinstance(row, Turn) else failures.get(row.revision, expected)
        if first != expected and is_turn and not _skipped(numbers, expected, first, history):
            yield Finding("event-sequences", f"turn {row.turn_id} of {thread_id} begins with {first}, not {expected}")
        if isinstance(row, Turn):
            numbers.turns.update({first + index: (row, event) for index, event in enumerate(row.events)})
            expected = first + len(row.events)
        else:
            _skipped(numbers, expected, first, history)
            numbers.asides[first] = row
            expected = first + 1
    if next_sequence != expected and not _skipped(numbers, expected, next_sequence, history):
        thread_id = thread_id or next((told.thread_id for told in thread.told.values()), "a thread")
        yield Finding("event-sequences", f"the head of {thread_id} goes on with {next_sequence}, not {expected}")


def _skipped(numbers: _Numbers, expected: int, first: int, history: History) -> bool:
    if not history.recoveries or first < expected:
        return False
    numbers.lost.update(range(expected, first))
    return True


def _failures(rows: list[Turn | SetAside], thread: _Thread) -> dict[int, int]:
    """The sequence of each set-aside row's event, by revision: the last ones that the topic tells of its turn.

    A row does not say its sequence. Earlier ones may be of a database that is lost.
    """
    asides = [row for row in rows if isinstance(row, SetAside)]
    if not asides:
        return {}
    told: dict[TurnKey, list[int]] = defaultdict(list)
    for sequence, event in sorted(thread.told.items()):
        if event.type == "turn.failed":
            told[event.thread_id, str(event.turn_id)].append(sequence)
    found: dict[int, int] = {}
    for row in reversed(asides):
        sequences = told[row.thread_id, row.turn_id]
        if sequences:
            found[row.revision] = sequences.pop()
    return found


def _compare(thread_id: str, numbers: _Numbers, thread: _Thread, incarnation: str) -> Iterator[Finding]:
    for sequence, (turn, event) in numbers.turns.items():
        told = thread.told.get(sequence)
        if told is None:
            yield Finding(
                "event-published", f"event {sequence} of {thread_id} (turn {turn.turn_id}) is not on the topic"
            )
        elif (told.headers, told.value) != (event.headers, event.value):
            yield Finding(
                "event-content", f"event {sequence} of {thread_id} is told with other bytes than were committed"
            )
        elif told.turn_id != turn.turn_id:
            yield Finding("event-content", f"event {sequence} of {thread_id} names another turn than {turn.turn_id}")
    for sequence, aside in numbers.asides.items():
        told = thread.told.get(sequence)
        if told is None or told.type != "turn.failed" or told.turn_id != aside.turn_id:
            yield Finding("event-published", f"turn {aside.turn_id} of {thread_id} was set aside, and no event says so")
    for sequence in numbers.lost:
        told = thread.told.get(sequence)
        if told is None or told.incarnation == incarnation:
            yield Finding("event-sequences", f"{thread_id} left out {sequence}, which no lost database told")
    owned = numbers.turns.keys() | numbers.asides.keys() | numbers.lost
    for sequence in thread.told.keys() - owned:
        yield Finding("event-uncommitted", f"event {sequence} of {thread_id} is told, and nobody committed it")

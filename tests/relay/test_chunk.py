"""The chunk's rules, without servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.ports.outbox import OutboxRow
from intention_kernel.ports.publisher import Published, PublishOutcome, Refused, Unsent
from outbox_relay.chunk import plan, settle


def row(
    at: int,
    thread: str,
    first: int | None = None,
    *,
    count: int = 1,
    topic: str = "turns.events",
    bad: str | None = None,
) -> OutboxRow:
    records = (((), b"x"),) * count
    return OutboxRow(0, at, thread, topic, str(first or at), first, () if bad else records, count, bad)


_outcomes = st.sampled_from([Published(), Refused("too large"), Unsent("away")])
_streams = st.tuples(st.sampled_from("abc"), st.sampled_from(["turns.events", "turns.requests"]))
_sent = st.lists(st.tuples(_streams, _outcomes), max_size=12)


@given(_sent)
def test_only_the_acknowledged_prefix_of_each_stream_is_deleted(
    sent: list[tuple[tuple[str, str], PublishOutcome]],
) -> None:
    """R35: per thread only the acknowledged prefix of whole turns; another thread's failure changes nothing."""
    rows = [row(at, thread, topic=topic) for at, ((thread, topic), _) in enumerate(sent)]
    settled = settle(rows, [outcome for _, outcome in sent])
    outcomes: defaultdict[tuple[str, str], list[tuple[OutboxRow, PublishOutcome]]] = defaultdict(list)
    for each, (_, outcome) in zip(rows, sent, strict=True):
        outcomes[each.stream].append((each, outcome))
    expected = {each.id for stream in outcomes.values() for each in _prefix(stream)}
    assert {each.id for each in settled.delete} == expected


@given(_sent)
def test_every_stream_that_stopped_is_refused_or_held_but_never_both(
    sent: list[tuple[tuple[str, str], PublishOutcome]],
) -> None:
    rows = [row(at, thread, topic=topic) for at, ((thread, topic), _) in enumerate(sent)]
    settled = settle(rows, [outcome for _, outcome in sent])
    refused = {refusal.row.stream for refusal in settled.refusals}
    deleted = {each.stream for each in settled.delete}
    assert not refused & set(settled.unsent)
    assert {each.stream for each in rows} == refused | set(settled.unsent) | deleted


def test_a_refused_turn_stops_the_threads_events_and_not_its_continuation_requests() -> None:
    """R37: what is refused stops its topic only."""
    rows = [row(1, "a", 1), row(2, "a", 2), row(3, "a", topic="turns.requests"), row(4, "b", 1)]
    settled = settle(rows, [Refused("too large"), Published(), Published(), Published()])
    assert [each.id for each in settled.delete] == [3, 4]
    assert [(refusal.row.id, refusal.reason) for refusal in settled.refusals] == [(1, "too large")]
    assert not settled.unsent


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 4))
def test_events_that_do_not_follow_the_last_published_ones_wait(known: int, first: int, count: int) -> None:
    """R36, R37: a thread's events leave without a gap; what was published before may come again."""
    rows = [row(1, "a", first, count=count), row(2, "a", first + count), row(3, "b", 7)]
    planned = plan(rows, {"a": known})
    if first > known + 1:
        assert [each.id for each in planned.gaps] == [1]
        assert [each.id for each in planned.send] == [3]
    else:
        overlaps = first + count <= known + 1 or first + count > known
        assert overlaps
        assert not planned.gaps
        assert [each.id for each in planned.send] == [1, 2, 3]


def test_a_thread_that_is_not_known_begins_anywhere() -> None:
    assert [each.id for each in plan([row(1, "a", 41, count=2), row(2, "a", 43)], {}).send] == [1, 2]


def test_a_row_that_cannot_be_read_is_refused_and_stops_its_stream() -> None:
    rows = [row(1, "a", 1, bad="gone"), row(2, "a", 2), row(3, "a", topic="turns.requests")]
    planned = plan(rows, {})
    assert [(refusal.row.id, refusal.reason) for refusal in planned.refusals] == [(1, "gone")]
    assert [each.id for each in planned.send] == [3]


def test_the_last_published_sequence_is_that_of_the_last_record() -> None:
    settled = settle([row(1, "a", 1, count=3), row(2, "a", 4, count=2)], [Published(), Published()])
    assert settled.sequences == {"a": 5}


def _prefix(stream: Sequence[tuple[OutboxRow, PublishOutcome]]) -> list[OutboxRow]:
    kept = []
    for each, outcome in stream:
        if not isinstance(outcome, Published):
            break
        kept.append(each)
    return kept

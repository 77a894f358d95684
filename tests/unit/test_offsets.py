"""R4: an offset is done only when the record's outcome is a committed row; the rest follows from the prefix."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from turn_runner.offsets import Epoch


@st.composite
def delivered_and_finished(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Offsets in delivery order, with gaps as control records leave them, and the order in which some finish."""
    gaps = draw(st.lists(st.integers(1, 4), min_size=1, max_size=30))
    offsets = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    order = draw(st.permutations(offsets))
    return offsets, order[: draw(st.integers(0, len(order)))]


@given(delivered_and_finished())
def test_the_committable_offset_is_the_end_of_the_finished_prefix(case: tuple[list[int], list[int]]) -> None:
    """R4: never past an unfinished record, and never behind a finished prefix."""
    offsets, finish = case
    epoch = Epoch(0)
    entries = {offset: epoch.deliver(offset, size_bytes=10) for offset in offsets}
    finished: set[int] = set()
    for offset in finish:
        assert epoch.finish(entries[offset])
        finished.add(offset)
        prefix = [one for index, one in enumerate(offsets) if finished.issuperset(offsets[: index + 1])]
        assert epoch.committable() == (prefix[-1] + 1 if prefix else None)
        assert epoch.span_records == len(offsets) - len(prefix)
        assert epoch.unfinished_records == len(offsets) - len(finished)
        assert epoch.unfinished_bytes == 10 * epoch.unfinished_records


def test_the_window_shrinks_when_a_record_finishes_and_not_when_its_offset_is_committed() -> None:
    epoch = Epoch(0)
    first, second = epoch.deliver(7, 100), epoch.deliver(8, 50)
    epoch.finish(second)
    assert (epoch.unfinished_records, epoch.unfinished_bytes, epoch.span_records) == (1, 100, 2)
    epoch.finish(first)
    assert (epoch.unfinished_records, epoch.unfinished_bytes, epoch.span_records) == (0, 0, 0)


def test_finishing_a_record_twice_counts_once() -> None:
    epoch = Epoch(0)
    epoch.deliver(1, 10)
    second = epoch.deliver(2, 10)
    epoch.finish(second)
    epoch.finish(second)
    assert epoch.unfinished_records == 1
    assert epoch.committable() is None


def test_a_completion_after_the_epoch_ended_is_ignored() -> None:
    """R4: a turn that outlives its assignment moves no offset, neither of the old nor of the next assignment."""
    old = Epoch(0)
    entry = old.deliver(5, 10)
    old.end()
    new = Epoch(0)
    new.deliver(5, 10)
    assert not old.finish(entry)
    assert old.committable() is None
    assert new.committable() is None
    assert new.unfinished_records == 1


def test_a_revoking_epoch_starts_nothing_and_still_counts_what_finishes() -> None:
    epoch = Epoch(0)
    entry = epoch.deliver(5, 10)
    epoch.revoking = True
    assert not epoch.accepts
    assert epoch.finish(entry)
    assert epoch.committable() == 6

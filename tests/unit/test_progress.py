"""R39, as far as it needs no server: which partitions may run, and who is told of an offset first."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from intention_kernel.errors import InfrastructureError
from intention_kernel.ports.partition_progress import PartitionProgress, Progress
from turn_runner.limits import ConsumerLimits
from turn_runner.offsets import Epoch
from turn_runner.progress import Admission, RecordedOffsets, refusal

from tests.support.eventually import eventually

QUICK = ConsumerLimits(backoff_seconds=0.001, backoff_limit_seconds=0.001)


class Both:
    """The database and the group, with what was asked of them in order."""

    def __init__(self, done: Mapping[int, int], group: Mapping[int, int], *, away: int = 0) -> None:
        self.calls: list[tuple[str, dict[int, int]]] = []
        self._done = done
        self._group = dict(group)
        self._away = away
        self.asked: list[int] = []

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress:
        self.calls.append(("progress", {}))
        self._fail()
        self.asked = list(partitions)
        return Progress({one: PartitionProgress(offset, restore_until=9) for one, offset in self._done.items()})

    async def store_progress(self, topic: str, done_offsets: Mapping[int, int]) -> None:
        self.calls.append(("database", dict(done_offsets)))
        self._fail()

    async def committed(self) -> dict[int, int]:
        self.calls.append(("committed", {}))
        return self._group

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        self.calls.append(("group", dict(offsets)))
        return True

    def _fail(self) -> None:
        if self._away:
            self._away -= 1
            raise InfrastructureError("away")


@pytest.mark.parametrize(
    ("group", "done", "runs"),
    [(None, 0, True), (None, 7, True), (0, 0, True), (7, 7, True), (3, 7, True), (8, 7, False), (1, 0, False)],
    ids=["fresh", "group is gone", "nothing done", "even", "put back", "ahead", "ahead of an empty database"],
)
def test_partitions_run_unless_the_group_has_passed_what_the_database_knows(
    group: int | None, done: int, runs: bool
) -> None:
    """R39: the group beyond the stored offset means that the database is older; less is only read again."""
    offsets = {} if group is None else {2: group}
    reason = refusal("requests", offsets, Progress({2: PartitionProgress(done)}) if done else Progress())
    assert (reason is None) == runs
    assert runs or (reason is not None and "intention recover" in reason and "requests-2" in reason)


def test_nothing_runs_while_a_recovery_is_unfinished() -> None:
    """R39: sequences may not be raised yet, wherever the offsets are."""
    assert refusal("requests", {}, Progress(recovering=True)) is not None


def test_one_partition_that_shows_it_is_enough_and_is_named() -> None:
    """R39: the database is older as a whole; what it lost of the others may not show in the group's offset yet."""
    known = Progress({0: PartitionProgress(7), 1: PartitionProgress(4), 3: PartitionProgress(2)})
    one = refusal("requests", {0: 7, 1: 5, 3: 1}, known)
    assert one is not None
    assert one.startswith("requests-1: the database is older than Kafka")
    assert "intention recover" in one
    two = refusal("requests", {0: 7, 1: 5, 3: 9}, known)
    assert two is not None
    assert two.startswith("requests-1: ")
    assert "1 more partitions" in two


async def test_the_database_knows_an_offset_before_the_group_does_by_one_statement() -> None:
    """R39: one statement for all partitions of an offset commit, none for a turn."""
    both = Both({}, {})
    assert await RecordedOffsets(both, both, "requests").commit({0: 5, 3: 9})
    assert both.calls == [("database", {0: 5, 3: 9}), ("group", {0: 5, 3: 9})]


async def test_the_group_is_not_told_what_the_database_could_not_store() -> None:
    """R39: what the group has passed and the database does not know of would be refused."""
    both = Both({}, {}, away=1)
    with pytest.raises(InfrastructureError):
        await RecordedOffsets(both, both, "requests").commit({0: 5})
    assert [name for name, _ in both.calls] == ["database"]


async def test_an_assignment_waits_for_the_databases_word_and_takes_it() -> None:
    """R39: nothing is accepted before; the group is asked first, since whoever commits tells the database before it."""
    both = Both({0: 7, 1: 5}, {0: 7, 1: 5}, away=2)
    epochs, decided = [Epoch(number, admitted=False) for number in (0, 1, 2)], list[bool]()
    assert [epoch.undecided or epoch.accepts for epoch in epochs] == [True, True, True]
    assert not any(epoch.accepts for epoch in epochs)
    admission = Admission(both, both, "requests", QUICK, lambda: decided.append(True))
    admission.begin(epochs)
    await eventually(lambda: decided)
    await admission.stop()
    assert all(epoch.accepts and epoch.refused is None for epoch in epochs)
    assert [epoch.restore_until for epoch in epochs] == [9, 9, 0]
    assert [name for name, _ in both.calls][-2:] == ["committed", "progress"]
    assert both.asked == [0, 1, 2]


@pytest.mark.parametrize("mine", [(0, 2), (1,), (0, 1, 2)], ids=["another's", "mine", "all"])
async def test_an_assignment_is_refused_for_any_partition_of_the_topic_that_shows_it(mine: tuple[int, ...]) -> None:
    """R39: also for one that another runner has."""
    both = Both({0: 7, 1: 4}, {0: 7, 1: 5})
    epochs, decided = [Epoch(number, admitted=False) for number in mine], list[bool]()
    admission = Admission(both, both, "requests", QUICK, lambda: decided.append(True))
    admission.begin(epochs)
    await eventually(lambda: decided)
    await admission.stop()
    assert not any(epoch.accepts or epoch.undecided for epoch in epochs)
    assert all("requests-1: " in str(epoch.refused) for epoch in epochs)

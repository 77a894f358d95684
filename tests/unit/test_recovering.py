"""R39: what a recovery concludes from a partition's offsets, without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
from intention_kernel.cli.recovering import Partition, last_sequences
from intention_kernel.client.reader import Place, TopicReader, TopicRecord

EVENTS = Place("turns.events", 0)


@pytest.mark.parametrize(
    ("done", "group", "begins", "ends", "is_ahead", "gone", "again_from", "until"),
    [
        (5, 9, 0, 12, True, 0, 5, 12),
        (5, 9, 7, 12, True, 2, 7, 12),
        (9, 9, 0, 12, False, 0, 9, 12),
        (9, 3, 0, 12, False, 0, 3, 12),
        (0, None, 4, 12, False, 0, 4, 12),
        (5, 9, 0, 2, True, 0, 5, 9),
    ],
    ids=["ahead", "the topic has lost some", "even", "put back", "no group", "the topic is older, too"],
)
def test_requests_run_again_from_what_the_database_knows_and_without_calls_up_to_the_topics_end(
    done: int, group: int | None, begins: int, ends: int, is_ahead: bool, gone: int, again_from: int, until: int
) -> None:
    """R39: the group's offset trails what was under way, so that not it but the end of the topic is the bound."""
    one = Partition(0, done, group, begins, ends)
    assert (one.is_ahead, one.gone, one.again_from, one.until) == (is_ahead, gone, again_from, until)


@dataclass(slots=True)
class Topic(TopicReader):
    """Records of one partition, a few at a time."""

    records: list[TopicRecord]
    begins_at: int = 0
    at: int = 0

    async def begins(self) -> dict[Place, int]:
        return {EVENTS: self.begins_at}

    async def ends(self) -> dict[Place, int]:
        return {EVENTS: self.begins_at + len(self.records)}

    def put(self, offsets: object) -> None:
        assert isinstance(offsets, dict)
        self.at = offsets[EVENTS]

    async def is_at(self, offsets: object) -> bool:
        return self.at >= self.begins_at + len(self.records)

    async def read(self, timeout_seconds: float) -> list[TopicRecord]:
        found = [record for record in self.records if record.offset >= self.at][:3]
        self.at += len(found)
        return found


def record(offset: int, thread: str, sequence: bytes) -> TopicRecord:
    return TopicRecord("turns.events", 0, offset, thread.encode(), b"", (("ce_sequence", sequence),))


async def collected(pairs: AsyncIterator[tuple[int, Mapping[str, int]]]) -> list[tuple[int, Mapping[str, int]]]:
    return [pair async for pair in pairs]


async def test_a_topic_is_read_with_bounded_memory_and_from_where_it_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """R39: repeats and what is no event of ours change nothing; a place beyond the topic means another topic."""
    monkeypatch.setattr("intention_kernel.cli.recovering._THREADS_AT_ONCE", 2)
    records = [record(number, f"t-{number % 4}", b"%d" % (10 + number)) for number in range(8)]
    records += [record(8, "t-0", b"3"), record(9, "t-0", b"no number"), record(10, "t-9", b"9" * 40)]
    found = await collected(last_sequences(Topic(records), EVENTS, 0))
    assert all(len(last) <= 3 for _, last in found)
    assert [position for position, _ in found] == [3, 6, 9, 11]
    merged: dict[str, int] = {}
    for _, last in found:
        for thread, sequence in last.items():
            merged[thread] = max(merged.get(thread, 0), sequence)
    assert merged == {"t-0": 14, "t-1": 15, "t-2": 16, "t-3": 17}
    assert await collected(last_sequences(Topic(records), EVENTS, 11)) == []
    assert (await collected(last_sequences(Topic(records), EVENTS, 900)))[-1][0] == 11

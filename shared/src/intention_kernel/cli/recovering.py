"""Going on from a database that is older than Kafka (protocol R39): what is found, and the four steps of a recovery.

1. In one transaction: a new incarnation; until the topics' ends of now, effects of re-read requests are left to resolvers.
2. Sequences go on above the last one of each thread on the event topic.
3. The group goes back to where the database is.
4. Runners may run.
Between 1 and 4 runners refuse every partition. A step that was interrupted is done again, and a step that is done changes
nothing the second time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from intention_kernel.client.reader import Place, TopicReader, TopicRecord, open_reader
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.topics import Topics
from intention_kernel.ids import random_id
from intention_kernel.kafka.group_offsets import group_members, group_offsets, put_group
from intention_kernel.kafka.topics import partition_counts
from intention_kernel.postgres.recovery import RecoveryFacts, RecoveryStore

Say = Callable[[str], None]

_READ_SECONDS = 0.5
_THREADS_AT_ONCE = 10_000
_RECORDS_AT_ONCE = 200_000
_LARGEST_SEQUENCE = 2**62


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of the request topic: what the database has done, what the group has passed, what the topic still has."""

    number: int
    done: int
    group: int | None
    begins: int
    ends: int

    @property
    def is_ahead(self) -> bool:
        """The group has passed records whose outcome the database does not have."""
        return self.group is not None and self.group > self.done

    @property
    def gone(self) -> int:
        """Records without an outcome that the topic does not have any more."""
        return max(0, self.begins - self.done) if self.is_ahead else 0

    @property
    def again_from(self) -> int:
        """Where the group has to go on."""
        return max(self.done, self.begins) if self.is_ahead else (self.group or self.begins)

    @property
    def until(self) -> int:
        """Before it, a record may have run on the lost database: the group's offset trails what was under way."""
        return max(self.ends, self.group or 0)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a recovery finds. `members` are those of the runners' group."""

    facts: RecoveryFacts
    members: int
    partitions: tuple[Partition, ...]

    @property
    def is_behind(self) -> bool:
        """The database is older than Kafka."""
        return any(one.is_ahead for one in self.partitions)

    @property
    def alive(self) -> tuple[str, ...]:
        """Who has to stop first, for people."""
        facts, seconds = self.facts, f"those of dead processes end by themselves within {self.facts.seconds:.0f} s"
        found = (
            (self.members, f"{self.members} turn-runners are in the consumer group"),
            (facts.relays, f"{facts.relays} outbox-relays hold leases ({seconds})"),
            (facts.threads, f"{facts.threads} threads are leased by turns ({seconds})"),
        )
        return tuple(text for count, text in found if count)

    @property
    def document(self) -> dict[str, JsonValue]:
        """For the audit log."""
        offsets: list[JsonValue] = [
            {"partition": one.number, "done": one.done, "group": one.group, "begins": one.begins, "ends": one.ends}
            for one in self.partitions
        ]
        return {"incarnation": self.facts.incarnation, "partitions": offsets}


class Recovery:
    """One installation's recovery. Every call raises InfrastructureError and may then be repeated."""

    def __init__(self, store: RecoveryStore, bootstrap: str, topics: Topics, group: str) -> None:
        self._store = store
        self._bootstrap = bootstrap
        self._topics = topics
        self._group = group

    async def situation(self) -> Situation:
        """Changes nothing."""
        topic, facts = self._topics.requests, await self._store.facts()
        progress = await self._store.progress(topic, facts.partition_count)
        offsets = await group_offsets(self._bootstrap, self._group, topic)
        places = [Place(topic, number) for number in range(facts.partition_count)]
        async with open_reader(self._bootstrap, places) as reader:
            begins, ends = await reader.begins(), await reader.ends()
        partitions = tuple(
            Partition(
                one.partition, progress[one.partition].done_offset, offsets.get(one.partition), begins[one], ends[one]
            )
            for one in places
        )
        return Situation(facts, await group_members(self._bootstrap, self._group), partitions)

    async def run(self, found: Situation, actor: str, say: Say) -> None:
        """All four steps; `say` is told of each."""
        untils = {one.number: one.until for one in found.partitions}
        incarnation = random_id().hex
        began = await self._store.begin(self._topics.requests, untils, incarnation, actor, dumps(found.document))
        say(f"began: new incarnation {incarnation}" if began else "going on with a recovery that was not finished")
        raised = await self._raise_sequences(say)
        say(f"sequences: {raised} threads go on above what {self._topics.events} has")
        back = {one.number: one.again_from for one in found.partitions if one.is_ahead}
        if back:
            await put_group(self._bootstrap, self._group, self._topics.requests, back)
        say(f"offsets: {len(back)} partitions of group {self._group} go back")
        rewound: dict[str, JsonValue] = {str(number): offset for number, offset in back.items()}
        await self._store.finish(actor, dumps({"threadsRaised": raised, "offsets": rewound}))

    async def _raise_sequences(self, say: Say) -> int:
        topic, raised = self._topics.events, 0
        partition_count = (await partition_counts(self._bootstrap, [topic])).get(topic, 0)
        stored = await self._store.progress(topic, partition_count)
        for number in range(partition_count):
            place = Place(topic, number)
            async with open_reader(self._bootstrap, [place]) as reader:
                async for position, last in last_sequences(reader, place, stored[number].done_offset):
                    raised += await self._store.raise_sequences(topic, number, position, last)
                    say(f"{topic}-{number}: read up to offset {position}, {raised} threads raised so far")
        return raised


async def last_sequences(
    reader: TopicReader, place: Place, read_before: int
) -> AsyncIterator[tuple[int, Mapping[str, int]]]:
    """(offset read up to, thread → its last sequence so far), from where an earlier reading ended; bounded memory."""
    begins, ends = (await reader.begins())[place], (await reader.ends())[place]
    position = read_before if begins <= read_before <= ends else begins
    reader.put({place: position})
    last: dict[str, int] = {}
    records = 0
    while position < ends and not await reader.is_at({place: ends}):
        for record in await reader.read(_READ_SECONDS):
            _note(record, last)
            position, records = record.offset + 1, records + 1
        if len(last) >= _THREADS_AT_ONCE or records >= _RECORDS_AT_ONCE:
            yield position, last
            last, records = {}, 0
    if records or position < ends:
        yield ends, last


def _note(record: TopicRecord, last: dict[str, int]) -> None:
    sequence = record.header("ce_sequence")
    if record.key is None or not (sequence.isascii() and sequence.isdigit()) or int(sequence) > _LARGEST_SEQUENCE:
        return  # no event of ours
    thread_id = record.key.decode("utf-8", "replace")
    last[thread_id] = max(last.get(thread_id, 0), int(sequence))

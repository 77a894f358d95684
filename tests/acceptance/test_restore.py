"""An older copy of the database takes the place of a newer one, and nothing is called twice, reused or lost (R39)."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from intention_kernel.client import Client, Event
from intention_kernel.contracts.topics import Topics
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.ids import random_id
from intention_kernel.kafka.group_offsets import put_group
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import Installation, System, open_system

from tests.cli.invoking import Said, environment, intention_beside
from tests.postgres.watching import until
from tests.support.fan7 import Inventory, installation_of, request, running_inventory
from tests.support.servers import PARTITIONS, SharedServers, create_database, drop_database, with_database

THREAD = "job"
HOME = partition_for(THREAD.encode(), PARTITIONS)
ELSEWHERE = next(name for name in map("other-{}".format, range(99)) if partition_for(name.encode(), PARTITIONS) != HOME)
BEFORE = [request(THREAD, "before", "How many are there?")]
LOST = [
    request(THREAD, "reserve", "reserve 2 FILTER-A for FAN-7"),
    request(THREAD, "ask", "How many are left?"),
]
UNSEEN = [request(ELSEWHERE, "unseen", "How many are there?")]
"""Committed, published and lost, in a partition whose group was not told of it: its offset commit was behind."""
AFTER = [request(ELSEWHERE, "after", "How many are there?"), request(THREAD, "thanks", "How many are left?")]


@dataclass(frozen=True, slots=True)
class Place:
    """One installation on two databases: the one that is lost, and its older copy."""

    servers: SharedServers
    newer: Installation
    older: Installation

    async def copy(self) -> None:
        """What a backup is: nobody is connected."""
        names = [url.rpartition("/")[2] for url in (self.newer.database_url, self.older.database_url)]
        await create_database(self.servers, names[1], template=names[0])

    async def forget(self, thread: str) -> None:
        """The group was told of nothing of this thread's partition. Nobody is in it."""
        topics = Topics(self.newer.topic_prefix)
        there = partition_for(thread.encode(), PARTITIONS)
        bootstrap = self.newer.kafka_bootstrap_servers
        await put_group(bootstrap, topics.consumer_group(), topics.requests, {there: 0})

    async def recover(self, *options: str) -> Said:
        """`intention recover` on the older copy."""
        older = self.older
        env = environment(older.database_url, older.kafka_bootstrap_servers, older.topic_prefix)
        return await intention_beside("recover", "--as", "mara", *options, env=env)


@pytest.fixture
async def place(servers: SharedServers, fresh_database: str, topic_prefix: str) -> AsyncIterator[Place]:
    name = f"test_{random_id().hex[:16]}"
    newer = installation_of(servers, fresh_database, topic_prefix)
    yield Place(servers, newer, replace(newer, database_url=with_database(servers.database_url, name)))
    await drop_database(servers, name)


async def run(place: Installation, *batches: Sequence[TurnRequest], reconciling: bool = False) -> None:
    """These turns, one batch after the other, until nothing is left to do; then every process ends."""
    async with open_system(place) as system:
        processes = [await system.start_runner(), await system.start_relay()]
        if reconciling:
            processes.append(await system.start_reconciler())
        done: list[TurnRequest] = []
        for batch in batches:
            for one in batch:
                await system.send(one)
                done.append(one)
            await system.await_quiet(done)
        await ended(processes)


async def ended(processes: Sequence[Process]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        assert await process.await_end() == 0


async def told(runner: Process, words: str) -> str:
    """What /readyz says, once it says this."""
    said = ""

    async def says_it() -> bool:
        nonlocal said
        said = await readiness(runner)
        return words in said

    await until(says_it)
    return said


async def readiness(runner: Process) -> str:
    """What /readyz says."""
    port = (await runner.await_ready()).rpartition("http=")[2]

    def ask() -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return error.read().decode()

    return await asyncio.to_thread(ask)


async def refused(place: Place, system: System) -> None:
    """The runner takes nothing, says why, and works on no partition: the others may have lost something, too."""
    runner = await system.start_runner()
    reason = await told(runner, "intention recover")
    assert f"turns.requests-{HOME}: the database is older than Kafka" in reason
    assert "partition.refused" in runner.output()
    await system.send(AFTER[0])
    alive = await place.recover("--yes")
    assert (alive.code, "turn-runners are in the consumer group" in alive.err) == (6, True)
    await ended([runner])
    assert [row["turn_id"] for row in await system.fetch("select turn_id from turns")] == ["before"]


async def recovered(place: Place) -> None:
    """Looking changes nothing, doing it says what was done, doing it again does nothing."""
    looked = await place.recover()
    assert (looked.code, looked.err) == (0, "")
    assert f"partition {HOME}: the group has passed offset" in looked.out
    assert "nothing was changed" in looked.out
    done = await place.recover("--yes")
    assert (done.code, done.err) == (0, ""), done.out + done.err
    assert "1 partitions of group" in done.out
    assert "nothing to do" in (await place.recover("--yes")).out


async def events(place: Installation) -> list[Event]:
    """What a reader takes; nothing else comes out."""
    found: list[Event] = []
    async with Client(place.kafka_bootstrap_servers, place.topic_prefix) as client:
        async for item in client.events(from_beginning=True, follow=False):
            assert isinstance(item, Event), item
            found.append(item)
    return found


async def check_numbers(place: Place, system: System, lost: Sequence[Event]) -> None:
    """R36, R37: each number of a thread is one event for ever; the new ones are above, and of another incarnation."""
    records = await system.broker.read(Topics(place.older.topic_prefix).events)
    by_number = {(record.key, record.header("ce_sequence")): record.header("ce_id") for record in records}
    assert all(by_number[record.key, record.header("ce_sequence")] == record.header("ce_id") for record in records)
    read = await events(place.older)
    old, new = {event.incarnation for event in lost}, {event.incarnation for event in read[len(lost) :]}
    assert len(old | new) == 2
    top = max(event.sequence for event in lost if event.thread_id == THREAD)
    again = [event for event in read if event.incarnation in new - old and event.thread_id == THREAD]
    assert [event.sequence for event in again] == list(range(top + 1, top + 1 + len(again)))
    stored = await system.fetch("select first_sequence, event_count from turns where thread_id = $1", THREAD)
    assert max(row["first_sequence"] + row["event_count"] - 1 for row in stored) == again[-1].sequence


async def test_turns_of_a_lost_database_run_again_and_call_nobody_twice(place: Place, tmp_path: Path) -> None:
    """R39: refused until recovered; then every lost effect is found again by its resolver, and what was promised holds."""
    async with running_inventory(tmp_path) as inventory:
        newer, older = inventory.beside(place.newer), inventory.beside(place.older)
        await run(newer, BEFORE)
        await place.copy()
        await run(newer, LOST[:1], [*LOST[1:], *UNSEEN])
        await place.forget(ELSEWHERE)
        calls, ledger, lost = inventory.calls(), await inventory.ledger(), await events(newer)
        assert len(ledger) == 2
        async with open_system(older) as system:
            await refused(place, system)
            await recovered(place)
        await run(older, AFTER[1:], reconciling=True)
        await check_afterwards(place, older, inventory)
        assert (inventory.calls(), await inventory.ledger()) == (calls, ledger)
        async with open_system(older) as system:
            await check_numbers(place, system, lost)


async def check_afterwards(place: Place, older: Installation, inventory: Inventory) -> None:
    """Every turn has its outcome once more, the lost effects were settled by what the provider said."""
    async with open_system(older) as system:
        await system.await_quiet([*BEFORE, *LOST, *UNSEEN, *AFTER])
        rows = await system.fetch("select effect_key, state, settlements, cause from receipts order by effect_key")
        assert [(row["state"], row["settlements"]) for row in rows] == [("completed", 1)] * 2
        causes = await system.fetch("select effect_key, cause from receipt_transitions where cause = 'restore'")
        assert {row["effect_key"] for row in causes} == {row["effect_key"] for row in rows}
        audit = await system.fetch(
            "select actor, action, detail from audit_log where action like 'recover%' order by id"
        )
        assert [(line["actor"], line["action"]) for line in audit] == [
            ("mara", "recover.begin"),
            ("mara", "recover.finish"),
        ]
        assert json.loads(audit[0]["detail"])["partitions"][HOME]["done"] == 1


async def test_a_recovery_that_was_interrupted_refuses_runners_and_goes_on(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R39: between its steps nothing runs; the second call is the same recovery, with the same incarnation."""
    async with running_inventory(tmp_path) as inventory:
        newer, older = inventory.beside(place.newer), inventory.beside(place.older)
        await place.copy()
        await run(newer, BEFORE)

        async def away(*_: object) -> None:
            raise OSError("the broker is away")

        with monkeypatch.context() as broken:
            broken.setattr("intention_kernel.cli.recovering.put_group", away)
            with pytest.raises(OSError, match="away"):
                await place.recover("--yes")
        async with open_system(older) as system:
            runner = await system.start_runner()
            await told(runner, "a recovery of this database is not finished")
            await ended([runner])
            (before,) = await system.fetch("select incarnation, recoveries from installation")
            done = await place.recover("--yes")
            assert "going on with a recovery that was not finished" in done.out
            (after,) = await system.fetch("select incarnation, recoveries, recovering from installation")
            assert tuple(after) == (*before, False)
            assert before["recoveries"] == 1

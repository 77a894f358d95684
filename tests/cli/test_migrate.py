"""`intention migrate`: topics, then tables, as often as one likes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from intention_kernel.contracts.topics import Topics
from intention_kernel.ids import random_id
from intention_kernel.kafka.topics import partition_counts
from intention_kernel.postgres.reading import stored_partition_count

from tests.cli.invoking import environment, intention_beside
from tests.support.servers import PARTITIONS, SharedServers, create_database, drop_database


@pytest.fixture
async def empty_database(servers: SharedServers) -> AsyncIterator[str]:
    name = f"test_{random_id().hex[:16]}"
    yield await create_database(servers, name)
    await drop_database(servers, name)


async def test_migrating_twice_creates_once_and_keeps_the_partition_count(
    servers: SharedServers, empty_database: str, topic_prefix: str
) -> None:
    env = environment(empty_database, servers.kafka_bootstrap_servers, topic_prefix)
    first = await intention_beside("migrate", "--partitions", "3", env=env)
    assert (first.code, first.err) == (0, "")
    assert first.out.count("created") == 7
    second = await intention_beside("migrate", env=env)
    assert (second.code, second.err) == (0, "")
    assert "created" not in second.out
    assert await stored_partition_count(empty_database) == 3
    counts = await partition_counts(servers.kafka_bootstrap_servers, Topics(topic_prefix).all)
    assert counts == dict.fromkeys(Topics(topic_prefix).all, 3)


async def test_a_database_of_another_partition_count_is_refused_before_anything_is_made(
    servers: SharedServers, fresh_database: str, topic_prefix: str
) -> None:
    env = environment(fresh_database, servers.kafka_bootstrap_servers, topic_prefix)
    said = await intention_beside("migrate", "--partitions", "3", env=env)
    assert said.code == 2
    assert f"{PARTITIONS} partitions" in said.err
    assert f"--partitions {PARTITIONS}" in said.err
    assert await partition_counts(servers.kafka_bootstrap_servers, Topics(topic_prefix).all) == {}


async def test_a_database_that_is_not_migrated_is_refused_with_the_command_to_run(empty_database: str) -> None:
    said = await intention_beside("receipts", "ls", env=environment(empty_database))
    assert said.code == 2
    assert "intention migrate" in said.err

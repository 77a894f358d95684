"""What a turn-runner lets go of when it stops."""

from __future__ import annotations

import pytest
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.postgres.store import PostgresStore
from turn_runner.bootstrap import wired_runner
from turn_runner.settings import RunnerSettings

from tests.integration.application_with_gateway import gateway
from tests.support.servers import SharedServers


async def _settings(servers: SharedServers, database_url: str, topic_prefix: str) -> RunnerSettings:
    async with PostgresStore.open(database_url, pool_size=1) as store:
        partitions = store.installation.partition_count
    await create_missing_topics(servers.kafka_bootstrap_servers, topic_prefix, partitions)
    return RunnerSettings(
        database_url=database_url,
        kafka_bootstrap_servers=servers.kafka_bootstrap_servers,
        topic_prefix=topic_prefix,
        application="tests.integration.application_with_gateway:application",
    )


async def test_a_runner_that_stops_closes_the_gateway_of_its_application(
    servers: SharedServers, shared_database: str, topic_prefix: str
) -> None:
    settings = await _settings(servers, shared_database, topic_prefix)
    async with wired_runner(settings):
        assert gateway.closed == 0
    assert gateway.closed == 1
    with pytest.raises(RuntimeError, match="the process fails"):
        async with wired_runner(settings):
            raise RuntimeError("the process fails")
    assert gateway.closed == 2

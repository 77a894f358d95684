"""The fixtures that give tests their servers."""

from __future__ import annotations

import asyncpg
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.support.servers import SharedServers


async def test_a_fresh_database_is_migrated_and_empty(fresh_database: str) -> None:
    connection = await asyncpg.connect(fresh_database)
    try:
        assert await connection.fetchval("SELECT count(*) FROM threads") == 0
        await connection.execute("CREATE TABLE left_behind ()")
    finally:
        await connection.close()


async def test_no_test_sees_what_another_left(fresh_database: str) -> None:
    connection = await asyncpg.connect(fresh_database)
    try:
        assert await connection.fetchval("SELECT to_regclass('left_behind')") is None
    finally:
        await connection.close()


async def test_topics_can_be_created_as_soon_as_the_fixture_is_there(servers: SharedServers, topic_prefix: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers.kafka_bootstrap_servers)
    await admin.start()  # type: ignore[no-untyped-call]  # the driver is half typed
    try:
        topic = NewTopic(f"{topic_prefix}turns.requests", 3, 1)  # type: ignore[no-untyped-call]
        await admin.create_topics([topic])
        assert f"{topic_prefix}turns.requests" in await admin.list_topics()
    finally:
        await admin.close()  # type: ignore[no-untyped-call]

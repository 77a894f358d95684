"""A database, topics and a relay for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.relay.relay_bench import Bench, relay_bench
from tests.support.servers import SharedServers


@pytest.fixture
async def bench(servers: SharedServers, fresh_database: str, topic_prefix: str) -> AsyncIterator[Bench]:
    """An empty outbox and empty topics."""
    async with relay_bench(fresh_database, servers.kafka_bootstrap_servers, topic_prefix) as bench:
        yield bench

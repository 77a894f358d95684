"""Durable turns of compiled agents over Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.agent_continuation_contract import AgentContinuationContract
from intention_kernel.testing.agent_retry_contract import AgentRetryContract

from tests.contract.postgres_harness import PostgresHarness


@pytest.fixture
async def boundary(shared_database: str) -> AsyncIterator[PostgresHarness]:
    async with PostgresStore.open(shared_database) as store:
        connection = await asyncpg.connect(shared_database)
        try:
            yield PostgresHarness(store, connection)
        finally:
            await connection.close()


class TestRetries(AgentRetryContract):
    """Protocol 3."""


class TestContinuations(AgentContinuationContract):
    """Protocol 5."""

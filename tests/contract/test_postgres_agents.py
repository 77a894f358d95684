"""Durable turns of compiled agents over Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from intention_kernel.testing.agent_continuation_contract import AgentContinuationContract
from intention_kernel.testing.agent_retry_contract import AgentRetryContract
from intention_kernel.testing.postgres_harness import PostgresHarness, open_boundary


@pytest.fixture
async def boundary(shared_database: str) -> AsyncIterator[PostgresHarness]:
    async with open_boundary(shared_database) as opened:
        yield opened


class TestRetries(AgentRetryContract):
    """Protocol 3."""


class TestContinuations(AgentContinuationContract):
    """Protocol 5."""

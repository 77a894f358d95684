"""The contract of the durable boundary over Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
from intention_kernel.ids import random_id
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_contract import (
    ContinuationContract,
    EffectStoreContract,
    ManyThreadsContract,
    RejectionsContract,
    SettlementContract,
    TurnStoreContract,
    ValueContract,
)

from tests.contract.postgres_harness import PostgresHarness
from tests.support.servers import SharedServers, create_database, drop_database


@pytest.fixture(scope="module")
def database(servers: SharedServers) -> Iterator[str]:
    """One database for all suites: every test has threads of its own."""
    name = f"contract_{random_id().hex[:16]}"
    yield asyncio.run(create_database(servers, name, template=servers.template))
    asyncio.run(drop_database(servers, name))


@pytest.fixture
async def boundary(database: str) -> AsyncIterator[PostgresHarness]:
    async with PostgresStore.open(database) as store:
        connection = await asyncpg.connect(database)
        try:
            yield PostgresHarness(store, connection)
        finally:
            await connection.close()


class TestTurns(TurnStoreContract):
    """Protocol 1, 7 and 9."""


class TestEffects(EffectStoreContract):
    """Protocol 3."""


class TestSettlements(SettlementContract):
    """Protocol 4."""


class TestContinuations(ContinuationContract):
    """Protocol 5."""


class TestRejections(RejectionsContract):
    """Protocol 1 and 6."""


class TestValues(ValueContract):
    """Protocol 2, R13."""


class TestManyThreads(ManyThreadsContract):
    """Protocol 2."""

"""A store over a database of its own, and a connection beside it that looks and interferes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest
from intention_kernel.postgres.store import PostgresStore


@pytest.fixture
async def store(fresh_database: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore.open(fresh_database) as store:
        yield store


@pytest.fixture
async def connection(fresh_database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(fresh_database)
    yield connection
    await connection.close()

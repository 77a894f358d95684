"""A connection keeps the statements that it prepared, and not without end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.postgres.pool import StatementConnection

_HOW_MANY = "select count(*)::integer as number from pg_prepared_statements"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[StatementConnection]:
    connection = StatementConnection(url)
    try:
        yield connection
    finally:
        await connection.close()


async def test_a_statement_is_prepared_once_and_of_many_the_first_are_forgotten(fresh_database: str) -> None:
    """What people compose has no end (design 2), and every one is kept by the server too."""
    async with connected(fresh_database) as connection:

        async def prepared() -> int:
            number: int = (await connection.fetch(_HOW_MANY, ()))[0]["number"]
            return number

        first = await prepared()
        assert await prepared() == first
        for number in range(300):
            assert (await connection.fetch(f"select {number} as said", ()))[0]["said"] == number
        assert 100 < await prepared() < 220
        assert (await connection.fetch("select 0 as said", ()))[0]["said"] == 0

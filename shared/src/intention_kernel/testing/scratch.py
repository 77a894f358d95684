"""A migrated database of a run's own on anybody's Postgres, dropped at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from intention_kernel.errors import InfrastructureError, words_of
from intention_kernel.ids import random_id
from intention_kernel.postgres.errors import DRIVER_ERRORS
from intention_kernel.postgres.migrate import migrate


@asynccontextmanager
async def scratch_database(database_url: str, *, prefix: str, partitions: int) -> AsyncIterator[str]:
    """The URL of a new, migrated database beside this one, its name starting with `prefix`.

    Raises InfrastructureError where the server does not let us make one.
    """
    name = f"{prefix}_{random_id().hex[:16]}"
    await execute(database_url, f'create database "{name}"')
    try:
        url = beside(database_url, name)
        await migrate(url, partitions=partitions)
        yield url
    finally:
        await execute(database_url, f'drop database if exists "{name}" with (force)')


def beside(database_url: str, database: str) -> str:
    """The same server and user, another database."""
    return urlunsplit(urlsplit(database_url)._replace(path=f"/{database}"))


async def execute(database_url: str, statement: str) -> None:
    """One statement on a connection of its own. Raises InfrastructureError."""
    try:
        connection = await asyncpg.connect(database_url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
    except DRIVER_ERRORS as error:
        raise InfrastructureError(f"{statement}: {words_of(error)}") from error


async def fetch_value(database_url: str, query: str) -> int:
    """The one number that the query answers, on a connection of its own. Raises InfrastructureError."""
    try:
        connection = await asyncpg.connect(database_url)
        try:
            return int(await connection.fetchval(query))
        finally:
            await connection.close()
    except DRIVER_ERRORS as error:
        raise InfrastructureError(f"{query}: {words_of(error)}") from error

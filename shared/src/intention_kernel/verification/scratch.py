"""Where the suites run on an adopter's database: schemas of their own, dropped at the end, or its empty schema, emptied again.

A schema is chosen by `search_path` in the URL, which the driver sends when it connects; a pooler may refuse or forget it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from intention_kernel.errors import InfrastructureError, words_of
from intention_kernel.ids import random_id
from intention_kernel.postgres.errors import DRIVER_ERRORS
from intention_kernel.postgres.migrate import migrate

PARTITIONS = 2
"""Of the request topic: two runners have one each."""

NAME = "intention_verify_"
"""What every schema of ours begins with."""

_CONNECT_SECONDS = 10.0
_TRIES = 5
_SQL = Path(__file__).parent / "sql"
_SETTINGS = {"lock_timeout": "3000", "statement_timeout": "30000"}


@dataclass(frozen=True, slots=True)
class Survey:
    """What the database is like. `leftovers` are schemas of runs that were killed, `alive` are runs that go on now.

    `mark` names a killed run that used this very schema.
    """

    database: str
    role: str
    schema: str
    tables: tuple[str, ...]
    leftovers: tuple[str, ...]
    alive: tuple[str, ...]
    mark: str
    may_create_schemas: bool
    keeps_search_path: bool

    @property
    def can_have_schemas(self) -> bool:
        """Whether scratch schemas work from end to end."""
        return self.may_create_schemas and self.keeps_search_path


def new_run() -> str:
    """A name for one run: a schema's beginning, and its connection's application_name."""
    return f"{NAME}{random_id().hex[:8]}"


async def survey(database_url: str) -> Survey:
    """Look, and change nothing. Raises InfrastructureError."""
    async with connected(database_url) as connection:
        row = await connection.fetchrow((_SQL / "survey.sql").read_text("utf-8"))
    assert row is not None, "an aggregate has one row"
    alive = tuple(row["alive"])
    return Survey(
        database=row["database"],
        role=row["role"],
        schema=row["schema"],
        tables=tuple(row["tables"]),
        leftovers=tuple(name for name in row["scratch"] if not name.startswith(alive)),
        alive=alive,
        mark=row["mark"] if row["mark"].startswith(NAME) and row["mark"] not in alive else "",
        may_create_schemas=row["may_create"],
        keeps_search_path=await _keeps_search_path(database_url),
    )


class ScratchSchemas:
    """Any number of schemas, side by side."""

    at_once = 2

    def __init__(self, database_url: str, run: str) -> None:
        self._database_url = database_url
        self._run = run

    @asynccontextmanager
    async def place(self, number: int) -> AsyncIterator[str]:
        """The URL of a new schema that is migrated; dropped at the end. Raises InfrastructureError."""
        name = f"{self._run}_{number}"
        await _execute(self._database_url, f'create schema "{name}"')
        try:
            url = with_search_path(self._database_url, name)
            await migrate(url, partitions=PARTITIONS)
            yield url
        finally:
            await drop_schema(self._database_url, name)


class EmptySchema:
    """The one schema where the URL leads, which holds nothing."""

    at_once = 1

    def __init__(self, database_url: str, run: str) -> None:
        self._database_url = database_url
        self._run = run

    @asynccontextmanager
    async def place(self, number: int) -> AsyncIterator[str]:
        """The same URL, migrated; emptied at the end. Raises InfrastructureError."""
        try:
            await migrate(self._database_url, partitions=PARTITIONS)
            await _execute(self._database_url, f"comment on table alembic_version is '{self._run}'")
            yield self._database_url
        finally:
            await empty_schema(self._database_url)


Scratch = ScratchSchemas | EmptySchema


def with_search_path(database_url: str, schema: str) -> str:
    """The URL whose connections see that schema alone."""
    parts = urlsplit(database_url)
    query = [(name, text) for name, text in parse_qsl(parts.query) if name != "search_path"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("search_path", schema)])))


async def schemas_of(database_url: str, run: str) -> tuple[str, ...]:
    """The schemas of that run which are there. Raises InfrastructureError."""
    async with connected(database_url) as connection:
        rows = await connection.fetch((_SQL / "schemas_of.sql").read_text("utf-8"), run)
    return tuple(row["name"] for row in rows)


async def drop_schema(database_url: str, name: str) -> None:
    """Drop it with everything in it. Raises InfrastructureError."""
    await _execute(database_url, f'drop schema if exists "{name}" cascade')


async def empty_schema(database_url: str) -> None:
    """Drop everything of the schema where the URL leads. Raises InfrastructureError."""
    await _execute(database_url, (_SQL / "empty_schema.sql").read_text("utf-8"))


@asynccontextmanager
async def connected(database_url: str, application_name: str = "intention") -> AsyncIterator[asyncpg.Connection]:
    """A connection with the settings of the adopter's role, closed at the end. What it raises becomes InfrastructureError."""
    try:
        connection = await asyncpg.connect(
            database_url, timeout=_CONNECT_SECONDS, server_settings={"application_name": application_name}
        )
        try:
            yield connection
        finally:
            await connection.close()
    except DRIVER_ERRORS as error:
        raise InfrastructureError(f"the database: {words_of(error)}") from error


async def _keeps_search_path(database_url: str) -> bool:
    """Whether connections see the schema that their URL names: on two at once, which a pooler may give one server."""
    url = with_search_path(database_url, "pg_catalog")
    try:
        async with connected(url) as first, connected(url) as second:
            seen = [await one.fetchval("select current_schema()") for one in (first, second, first)]
    except InfrastructureError:
        return False
    return seen == ["pg_catalog"] * 3


async def _execute(database_url: str, statement: str) -> None:
    """Run it, again while a killed process's connection still holds a lock."""
    for left in reversed(range(_TRIES)):
        try:
            async with connected(database_url) as connection, connection.transaction():
                for name, text in _SETTINGS.items():
                    await connection.execute("select set_config($1, $2, true)", name, text)
                await connection.execute(statement)
            return
        except InfrastructureError:
            if not left:
                raise
        await asyncio.sleep(0.2)

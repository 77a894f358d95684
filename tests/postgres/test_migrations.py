"""Creating, checking and comparing the schema."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from alembic.script import ScriptDirectory
from intention_kernel.errors import SchemaVersionError
from intention_kernel.postgres.migrate import alembic_config, migrate
from intention_kernel.postgres.schema import HEAD_REVISION, require_schema, schema_problem
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.postgres.tables import METADATA
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

_COLUMNS = """
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text,
       pg_get_expr(d.adbin, d.adrelid), o.collname
from pg_attribute as a
join pg_class as c on c.oid = a.attrelid and c.relkind = 'r' and c.relnamespace = $1::regnamespace
left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_collation as o on o.oid = a.attcollation
where a.attnum > 0 and not a.attisdropped and c.relname <> 'alembic_version'
order by c.relname, a.attnum
"""
_INDEXES = """
select c.relname, replace(pg_get_indexdef(i.indexrelid), $1 || '.', ''), i.indisunique, i.indisprimary
from pg_index as i join pg_class as c on c.oid = i.indrelid and c.relnamespace = $1::regnamespace
where c.relname <> 'alembic_version' order by 1, 2
"""


async def empty(connection: asyncpg.Connection) -> None:
    """Back to a database that was never migrated."""
    await connection.execute("drop schema public cascade; create schema public")


def test_the_build_expects_the_newest_migration() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [HEAD_REVISION]


async def test_a_migrated_database_fits(connection: asyncpg.Connection) -> None:
    assert await schema_problem(connection) is None


async def test_a_database_that_is_not_migrated_is_refused_with_the_command(
    connection: asyncpg.Connection, fresh_database: str
) -> None:
    await empty(connection)
    with pytest.raises(SchemaVersionError, match="run `intention migrate`"):
        await require_schema(connection)
    with pytest.raises(SchemaVersionError, match="run `intention migrate`"):
        async with PostgresStore.open(fresh_database):
            pass


async def test_a_database_of_a_newer_build_is_refused(connection: asyncpg.Connection, fresh_database: str) -> None:
    await connection.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(SchemaVersionError, match="a newer build migrated the database"):
        await require_schema(connection)
    with pytest.raises(SchemaVersionError, match="a newer build migrated the database"):
        await migrate(fresh_database)


async def test_migrating_twice_at_once_and_again_keeps_what_the_first_fixed(
    connection: asyncpg.Connection, fresh_database: str
) -> None:
    await empty(connection)
    await asyncio.gather(
        migrate(fresh_database, partitions=4, shards=8), migrate(fresh_database, partitions=4, shards=8)
    )
    first = await connection.fetchrow("select * from installation")
    await migrate(fresh_database, partitions=99, shards=99)
    assert await connection.fetchrow("select * from installation") == first
    assert await connection.fetchval("select array_agg(shard order by shard) from relay_leases") == list(range(8))


async def test_a_migration_that_fails_leaves_nothing_behind(
    connection: asyncpg.Connection, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await empty(connection)
    monkeypatch.setattr(
        "intention_kernel.postgres.migrate.upgrade_script", lambda _: "create table half (); select 1 / 0;"
    )
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(fresh_database)
    assert await connection.fetchval("select to_regclass('half')") is None


async def test_the_declared_tables_are_the_migrated_ones(connection: asyncpg.Connection) -> None:
    """Columns, types, collations, defaults, keys and indexes, as the server itself describes them."""
    await connection.execute("create schema declared; set search_path = declared")
    dialect: Any = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in METADATA.sorted_tables:
        await connection.execute(str(CreateTable(table).compile(dialect=dialect)))
        for index in table.indexes:
            await connection.execute(str(CreateIndex(index).compile(dialect=dialect)))
    await connection.execute("set search_path = pg_catalog")
    for query in (_COLUMNS, _INDEXES):
        declared = [tuple(row) for row in await connection.fetch(query, "declared")]
        assert declared == [tuple(row) for row in await connection.fetch(query, "public")]

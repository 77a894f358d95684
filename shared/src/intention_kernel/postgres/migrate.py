"""Create or upgrade the schema. Alembic plans the steps; the driver of the turn path runs them."""

from __future__ import annotations

import io
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config

from intention_kernel.errors import SchemaVersionError
from intention_kernel.ids import random_id
from intention_kernel.postgres.schema import HEAD_REVISION, installed_revision, schema_problem

_SCRIPTS = Path(__file__).parent / "migrations"
_LOCK = 0x696E_7465_6E74  # any number that nothing else locks


async def migrate(database_url: str, *, partitions: int = 12, shards: int = 64) -> None:
    """Bring the database to this build's schema: one transaction, all or nothing, one migrator at a time.

    `partitions` of the request topic and `shards` of the relay are fixed by the first migration; a later call keeps
    what is stored. Raises SchemaVersionError where a newer build migrated.
    """
    connection = await asyncpg.connect(database_url)
    try:
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
            await _upgrade(connection)
            await _install(connection, partitions, shards)
    finally:
        await connection.close()


async def _upgrade(connection: asyncpg.Connection) -> None:
    found = await installed_revision(connection)
    if found is not None and found > HEAD_REVISION:
        raise SchemaVersionError(str(await schema_problem(connection)))
    if found != HEAD_REVISION:
        await connection.execute(upgrade_script(found))


async def _install(connection: asyncpg.Connection, partitions: int, shards: int) -> None:
    await connection.execute(
        "insert into installation (shard_count, partition_count, incarnation) values ($1, $2, $3)"
        " on conflict do nothing",
        shards,
        partitions,
        random_id().hex,
    )
    await connection.execute(
        "insert into relay_leases (shard) select generate_series(0, shard_count - 1) from installation"
        " on conflict do nothing"
    )


def alembic_config(output: io.StringIO | None = None) -> Config:
    """Alembic over the scripts of this package; it writes SQL to `output` and never connects."""
    config = Config(output_buffer=output)
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def upgrade_script(found: str | None) -> str:
    """The SQL that leads from revision `found` (None: an empty database) to this build's."""
    output = io.StringIO()
    command.upgrade(alembic_config(output), f"{found or 'base'}:{HEAD_REVISION}", sql=True)
    return output.getvalue()

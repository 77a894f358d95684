"""Does the database fit this build? Cheap enough for every start: no migration tool is imported."""

from __future__ import annotations

import asyncpg

from intention_kernel.errors import SchemaVersionError

HEAD_REVISION = "0001"
"""The newest migration of this build. Revisions are numbers with leading zeros, so that later ones compare greater."""

_MIGRATE = "run `intention migrate`"


async def schema_problem(connection: asyncpg.Connection) -> str | None:
    """Why this build cannot work with the database, and what to do; None when it can."""
    found = await installed_revision(connection)
    if found is None:
        return f"the database is not migrated: {_MIGRATE}"
    if found < HEAD_REVISION:
        return f"the database has schema {found}, this build needs {HEAD_REVISION}: {_MIGRATE}"
    if found > HEAD_REVISION:
        known = f"schema {found}, this build knows {HEAD_REVISION}"
        return f"a newer build migrated the database ({known}): upgrade this build"
    return None


async def require_schema(connection: asyncpg.Connection) -> None:
    """Raise SchemaVersionError where `schema_problem` finds one."""
    problem = await schema_problem(connection)
    if problem is not None:
        raise SchemaVersionError(problem)


async def installed_revision(connection: asyncpg.Connection) -> str | None:
    """The revision that the database is at; None where it was never migrated."""
    if await connection.fetchval("select to_regclass('alembic_version')") is None:
        return None
    revision: str | None = await connection.fetchval("select version_num from alembic_version")
    return revision

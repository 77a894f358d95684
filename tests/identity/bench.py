"""A database with users, and a connection beside it that looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
from intention_kernel.contracts.json_codec import loads
from intention_kernel.ids import random_id
from intention_kernel.ports.identity import NewSession, NewToken, NewUser, Scope, Session, Token, User
from intention_kernel.postgres.identity import PostgresIdentity, open_identity

HASH = "$argon2id$of-the-first-password"


@dataclass(frozen=True, slots=True)
class People:
    """The database under test."""

    url: str
    connection: asyncpg.Connection
    identity: PostgresIdentity

    async def user(
        self, name: str = "ana", *roles: str, scope: Scope | None = None, password_hash: str | None = HASH
    ) -> User:
        """A user of these roles, else an operator; `password_hash` is stored as it is."""
        new = NewUser(name, roles or ("operator",), scope or Scope(), password_hash)
        made = await self.identity.add_user(new, "root")
        assert isinstance(made, User), made
        return made

    async def session(self, secret_hash: bytes = b"cookie", name: str = "ana", **more: Any) -> Session | None:
        """A session for an hour, on the password that `user` gave."""
        given = {"verified_hash": HASH, "better_hash": None, "seconds": 3600.0, "address": "192.0.2.1", **more}
        return await self.identity.open_session(NewSession(user=name, secret_hash=secret_hash, **given))

    async def token(self, secret_hash: bytes = b"secret", name: str = "ana", **more: Any) -> Token:
        """A token for an hour."""
        given = {"label": "ci", "prefix": "Ab12Cd34", "permissions": None, "seconds": 3600.0, **more}
        token_id = random_id().hex
        made = await self.identity.issue_token(
            NewToken(token_id=token_id, user=name, secret_hash=secret_hash, **given), "root"
        )
        assert isinstance(made, Token), made
        return made

    async def lines(self) -> list[tuple[str, str, Any]]:
        """Actor, action and detail of the audit log, oldest first."""
        rows = await self.connection.fetch("select actor, action, detail from audit_log order by id")
        return [(row["actor"], row["action"], loads(row["detail"])) for row in rows]

    async def actions(self) -> list[tuple[str, str]]:
        """Actor and action of the audit log, oldest first."""
        return [(actor, action) for actor, action, _ in await self.lines()]

    async def writers(self, table: str) -> set[int]:
        """The transactions that wrote what is in the table now."""
        return {row["w"] for row in await self.connection.fetch(f"select xmin::text::bigint as w from {table}")}


@asynccontextmanager
async def people(url: str) -> AsyncIterator[People]:
    """The database, with a connection of the test's own."""
    connection = await asyncpg.connect(url)
    try:
        async with open_identity(url, pool_size=4) as identity:
            yield People(url, connection, identity)
    finally:
        await connection.close()

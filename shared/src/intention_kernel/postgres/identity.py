"""The Identity port in Postgres: each change is one statement with its audit line, and may be repeated (protocol R11)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ids import random_id
from intention_kernel.ports.identity import (
    Account,
    Exists,
    NewSession,
    NewToken,
    NewUser,
    NoSuchRole,
    NoSuchUser,
    Role,
    Scope,
    Session,
    Token,
    User,
)
from intention_kernel.postgres import identity_rows as rows
from intention_kernel.postgres.errors import DRIVER_ERRORS, refused
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.pool import PATIENCE_SECONDS, Pool
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean


class PostgresIdentity:
    """See the port. What a change made is read after it: as it is then, which another may have changed meanwhile."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def account(self, name: str) -> Account | None:
        found = await self._fetch("identity_account", clean(name))
        return rows.account(found[0]) if found else None

    async def users(self) -> tuple[User, ...]:
        return tuple(map(rows.user, await self._fetch("identity_users")))

    async def roles(self) -> tuple[Role, ...]:
        return tuple(map(rows.role, await self._fetch("identity_roles")))

    async def add_user(self, user: NewUser, actor: str) -> User | Exists | NoSuchRole:
        access = (list(map(clean, user.roles)), *rows.reach(user.scope))
        [row] = await self._fetch(
            "identity_add_user", user.name, *access, user.password_hash, _operation(), clean(actor)
        )
        if row["outcome"] == "exists":
            return Exists()
        return NoSuchRole(row["missing"]) if row["outcome"] == "no_such_role" else await self._user(user.name)

    async def set_password(self, name: str, password_hash: str, actor: str) -> User | NoSuchUser:
        return await self._changed("identity_set_password", name, password_hash, _operation(), clean(actor))

    async def set_access(
        self, name: str, roles: tuple[str, ...], scope: Scope, actor: str
    ) -> User | NoSuchUser | NoSuchRole:
        access = (list(map(clean, roles)), *rows.reach(scope))
        [row] = await self._fetch("identity_set_access", clean(name), *access, _operation(), clean(actor))
        if row["outcome"] == "no_such_user":
            return NoSuchUser()
        return NoSuchRole(row["missing"]) if row["outcome"] == "no_such_role" else await self._user(name)

    async def set_disabled(self, name: str, actor: str, *, disabled: bool) -> User | NoSuchUser:
        return await self._changed("identity_set_disabled", name, disabled, clean(actor))

    async def open_session(self, new: NewSession) -> Session | None:
        hashes = (new.verified_hash, new.better_hash, new.secret_hash)
        await self._fetch("identity_open_session", clean(new.user), *hashes, new.seconds, clean(new.address))
        return await self.session(new.secret_hash)

    async def session(self, secret_hash: bytes) -> Session | None:
        found = await self._fetch("identity_session", secret_hash)
        return rows.session(found[0]) if found else None

    async def close_session(self, secret_hash: bytes) -> None:
        await self._fetch("identity_close_session", secret_hash)

    async def issue_token(self, token: NewToken, actor: str) -> Token | NoSuchUser:
        await self._fetch(
            "identity_issue_token",
            token.token_id,
            clean(token.user),
            clean(token.label),
            token.prefix,
            token.secret_hash,
            rows.permissions(token.permissions),
            token.seconds,
            clean(actor),
        )
        return await self._token(token.token_id) or NoSuchUser()

    async def bearer(self, secret_hash: bytes) -> tuple[Token, User] | None:
        found = await self._fetch("identity_bearer", secret_hash)
        return rows.bearer(found[0]) if found else None

    async def tokens(self, user: str | None) -> tuple[Token, ...]:
        found = self._fetch("identity_tokens") if user is None else self._fetch("identity_tokens_of", clean(user))
        return tuple(map(rows.token, await found))

    async def revoke_token(self, token_id: str, actor: str) -> Token | None:
        await self._fetch("identity_revoke_token", clean(token_id), clean(actor))
        return await self._token(token_id)

    async def note_denied(self, actor: str, what: str, detail: JsonValue) -> None:
        await self._fetch("identity_note_denied", clean(actor), _operation(), dumps({"what": what, "detail": detail}))

    async def note_sign_in(self, name: str, address: str) -> None:
        detail: JsonValue = {"what": "sign_in", "address": address}
        await self._fetch("identity_note_sign_in", clean(name), _operation(), dumps(detail))

    async def _changed(self, name: str, user: str, *parameters: object) -> User | NoSuchUser:
        [row] = await self._fetch(name, clean(user), *parameters)
        return NoSuchUser() if row["outcome"] == "no_such_user" else await self._user(user)

    async def _user(self, name: str) -> User:
        [row] = await self._fetch("identity_account", clean(name))
        return rows.user(row)

    async def _token(self, token_id: str) -> Token | None:
        found = await self._fetch("identity_token", clean(token_id))
        return rows.token(found[0]) if found else None

    async def _fetch(self, name: str, *parameters: object) -> list[asyncpg.Record]:
        try:
            return await self._pool.fetch(statement(name), parameters)
        except DRIVER_ERRORS as error:
            raise refused(error) from error


def _operation() -> str:
    """An id by which the database knows a repeat of the call."""
    return random_id().hex


@asynccontextmanager
async def open_identity(
    database_url: str, *, pool_size: int = 1, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[PostgresIdentity]:
    """The port over a pool of its own, closed at the end once what is under way is answered.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    async with open_pool(database_url, pool_size=pool_size, patience_seconds=patience_seconds) as (pool, _):
        yield PostgresIdentity(pool)

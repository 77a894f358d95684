"""Rows of the identity statements as values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import asyncpg

from intention_kernel.ports.identity import Account, Permission, Role, Scope, Session, Token, User
from intention_kernel.postgres.text import clean


def role(row: asyncpg.Record) -> Role:
    """A row of identity_roles.sql."""
    return Role(row["name"], frozenset(row["permissions"]))


def user(row: asyncpg.Record) -> User:
    """A row of identity_users.sql, identity_account.sql or identity_session.sql."""
    return _user(row, row["name"], row["permissions"], row["created_at"])


def account(row: asyncpg.Record) -> Account:
    """A row of identity_account.sql."""
    return Account(user(row), row["password_hash"])


def session(row: asyncpg.Record) -> Session:
    """A row of identity_session.sql."""
    return Session(user(row), row["opened_at"], row["expires_at"])


def token(row: asyncpg.Record) -> Token:
    """A row of identity_token.sql, identity_tokens.sql, identity_tokens_of.sql or identity_bearer.sql."""
    return Token(
        token_id=row["token_id"],
        user=row["user_name"],
        label=row["label"],
        prefix=row["prefix"],
        permissions=_set(row["permissions"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )


def bearer(row: asyncpg.Record) -> tuple[Token, User]:
    """A row of identity_bearer.sql."""
    return token(row), _user(row, row["user_name"], row["user_permissions"], row["user_created_at"])


def reach(scope: Scope) -> tuple[list[str] | None, list[str] | None]:
    """The columns `tenants` and `effects`."""
    return _texts(scope.tenants), _texts(scope.effects)


def permissions(allowed: frozenset[Permission] | None) -> list[str] | None:
    """The column `permissions` of a token."""
    return _texts(allowed)


def _user(row: asyncpg.Record, name: str, permissions: Sequence[Permission], created_at: datetime) -> User:
    return User(
        name=name,
        roles=tuple(row["roles"]),
        permissions=frozenset(permissions),
        scope=Scope(_set(row["tenants"]), _set(row["effects"])),
        disabled=row["disabled"],
        has_password=row["has_password"],
        created_at=created_at,
    )


def _set(stored: list[Any] | None) -> frozenset[Any] | None:
    return None if stored is None else frozenset(stored)


def _texts(chosen: frozenset[Any] | None) -> list[str] | None:
    return None if chosen is None else sorted(map(clean, chosen))

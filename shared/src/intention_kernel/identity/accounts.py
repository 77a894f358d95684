"""Users and tokens as people ask for them: what cannot be is told in words, and what can goes to the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.identity.names import name_problem
from intention_kernel.identity.passwords import Passwords, password_problem
from intention_kernel.identity.secrets import new_token_secret
from intention_kernel.ids import random_id
from intention_kernel.ports.identity import (
    Exists,
    Identity,
    NewToken,
    NewUser,
    NoSuchRole,
    NoSuchUser,
    Permission,
    Scope,
    Token,
    User,
)

MOST_DAYS = 366
_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Invalid:
    """What was asked cannot be; the words are for people."""

    problem: str


@dataclass(frozen=True, slots=True)
class Access:
    """Roles, and what is within reach."""

    roles: tuple[str, ...]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Order:
    """A token that somebody wants: for whom, what for, at most what (None: all that its user may), and for how many days."""

    user: str
    label: str
    permissions: frozenset[Permission] | None
    days: int


@dataclass(frozen=True, slots=True)
class Issued:
    """`secret` is nowhere else and never shown again."""

    token: Token
    secret: str = field(repr=False)


async def add_user(
    identity: Identity, passwords: Passwords, name: str, access: Access, password: str | None, actor: str
) -> User | Exists | NoSuchRole | Invalid:
    """`password` None: they use tokens only, until one is set."""
    problem = name_problem(name) or access_problem(access)
    if problem is None and password is not None:
        problem = password_problem(password, name)
    if problem is not None:
        return Invalid(problem)
    password_hash = None if password is None else await passwords.hash(password)
    return await identity.add_user(NewUser(name, access.roles, access.scope, password_hash), actor)


async def set_password(
    identity: Identity, passwords: Passwords, name: str, password: str, actor: str
) -> User | NoSuchUser | Invalid:
    """Ends every session of theirs; their tokens stay."""
    problem = password_problem(password, name)
    if problem is not None:
        return Invalid(problem)
    return await identity.set_password(name, await passwords.hash(password), actor)


async def set_access(
    identity: Identity, name: str, access: Access, actor: str
) -> User | NoSuchUser | NoSuchRole | Invalid:
    """These roles and this reach, and no others. Counts from their next request on."""
    problem = access_problem(access)
    if problem is not None:
        return Invalid(problem)
    return await identity.set_access(name, access.roles, access.scope, actor)


async def issue_token(identity: Identity, order: Order, actor: str) -> Issued | NoSuchUser | Invalid:
    """A token that allows what its user may at the moment of use, and no more than it was ordered for."""
    account = await identity.account(order.user)
    if account is None:
        return NoSuchUser()
    problem = order_problem(order, account.user)
    if problem is not None:
        return Invalid(problem)
    made = new_token_secret()
    new = NewToken(
        token_id=random_id().hex,
        user=order.user,
        label=order.label,
        prefix=made.prefix,
        secret_hash=made.secret_hash,
        permissions=order.permissions,
        seconds=order.days * _SECONDS_PER_DAY,
    )
    issued = await identity.issue_token(new, actor)
    return issued if isinstance(issued, NoSuchUser) else Issued(issued, made.secret)


def access_problem(access: Access) -> str | None:
    """Pure: why these cannot be somebody's roles and reach, or None."""
    if not access.roles:
        return "a user has at least one role; who may do nothing any more is disabled"
    named = {"role": access.roles, "tenant": access.scope.tenants or (), "effect": access.scope.effects or ()}
    return next((problem for what, ids in named.items() if (problem := _ids_problem(what, ids))), None)


def order_problem(order: Order, user: User) -> str | None:
    """Pure: why this cannot be a token of the user's, or None."""
    if not 1 <= order.days <= MOST_DAYS:
        return f"a token lasts from 1 to {MOST_DAYS} days"
    if problem := identifier_problem(order.label):
        return f"the label {problem}"
    beyond = sorted((order.permissions or frozenset()) - user.permissions)
    return f"{user.name} has not the permission {beyond[0]}" if beyond else None


def _ids_problem(what: str, ids: Iterable[str]) -> str | None:
    return next((f"{what} {one!r} {problem}" for one in ids if (problem := identifier_problem(one))), None)

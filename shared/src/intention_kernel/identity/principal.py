"""Pure: who asks, and what they may."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ports.identity import Permission, Scope, Token, User


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who was recognised. `user` is their name, whatever they came by, and the actor of what they do.

    `token_id` None: they signed in with a password.
    """

    user: str
    permissions: frozenset[Permission]
    scope: Scope
    token_id: str | None = None

    def may(self, permission: Permission) -> bool:
        """Whether they hold it now."""
        return permission in self.permissions


def by_session(user: User) -> Principal:
    """A person at a browser."""
    return Principal(user.name, user.permissions, user.scope)


def by_token(token: Token, user: User) -> Principal:
    """A token allows what its user may, and no more than it was issued for."""
    allowed = user.permissions if token.permissions is None else user.permissions & token.permissions
    return Principal(user.name, allowed, user.scope, token.token_id)

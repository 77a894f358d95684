"""Users, roles and tokens as JSON documents; members are camelCase, sets are in order."""

from __future__ import annotations

from collections.abc import Iterable

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.identity import PERMISSIONS, Permission, Role, Token, User


def user_document(user: User) -> dict[str, JsonValue]:
    """A user; `tenants` and `effects` null: all of them."""
    return {
        "name": user.name,
        "roles": [*user.roles],
        "permissions": permissions_in_order(user.permissions),
        "tenants": None if user.scope.tenants is None else [*sorted(user.scope.tenants)],
        "effects": None if user.scope.effects is None else [*sorted(user.scope.effects)],
        "disabled": user.disabled,
        "hasPassword": user.has_password,
        "createdAt": user.created_at.isoformat(),
    }


def role_document(role: Role) -> dict[str, JsonValue]:
    """A role."""
    return {"name": role.name, "permissions": permissions_in_order(role.permissions)}


def token_document(token: Token) -> dict[str, JsonValue]:
    """A token, never its secret; `permissions` null: all of its user's."""
    return {
        "tokenId": token.token_id,
        "user": token.user,
        "label": token.label,
        "prefix": token.prefix,
        "permissions": None if token.permissions is None else permissions_in_order(token.permissions),
        "createdAt": token.created_at.isoformat(),
        "expiresAt": token.expires_at.isoformat(),
        "revokedAt": None if token.revoked_at is None else token.revoked_at.isoformat(),
        "lastUsedAt": None if token.last_used_at is None else token.last_used_at.isoformat(),
    }


def permissions_in_order(allowed: Iterable[Permission]) -> list[JsonValue]:
    """In the order of PERMISSIONS."""
    held = frozenset(allowed)
    return [permission for permission in PERMISSIONS if permission in held]

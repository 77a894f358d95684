"""Who may work the queue: users, their roles, tokens and sessions (design 7). Secrets are stored as hashes only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, get_args

from intention_kernel.contracts.json_codec import JsonValue

Permission = Literal[
    "receipts:read",
    "receipts:work",
    "receipts:resolve",
    "receipts:approve",
    "payload:reveal",
    "turns:read",
    "turns:redrive",
    "audit:export",
    "users:manage",
    "rules:manage",
]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of permissions. The four of the migration are viewer, operator, approver and admin."""

    name: str
    permissions: frozenset[Permission]


@dataclass(frozen=True, slots=True)
class Scope:
    """What of the queue is within reach; None: all of it. A receipt without a tenant is within reach only of `tenants` None."""

    tenants: frozenset[str] | None = None
    effects: frozenset[str] | None = None

    def covers(self, tenant_id: str | None, effect_id: str) -> bool:
        """Whether a receipt of this tenant and effect is within reach."""
        return self.covers_tenant(tenant_id) and (self.effects is None or effect_id in self.effects)

    def covers_tenant(self, tenant_id: str | None) -> bool:
        """Whether a thread of this tenant is within reach."""
        return self.tenants is None or tenant_id in self.tenants


@dataclass(frozen=True, slots=True)
class User:
    """A person (or a machine). `permissions` are those of all of their roles; a disabled one can do nothing."""

    name: str
    roles: tuple[str, ...]
    permissions: frozenset[Permission]
    scope: Scope
    disabled: bool
    has_password: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Account:
    """A user as sign-in reads them: `password_hash` None: no password was ever set."""

    user: User
    password_hash: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to be made. `password_hash` is argon2's, in its encoded form; None for who uses tokens only."""

    name: str
    roles: tuple[str, ...]
    scope: Scope
    password_hash: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a user's, never the secret. `permissions` None: all that its user may; it never allows more than its user
    may at the moment of use. `prefix` is what people recognise it by."""

    token_id: str
    user: str
    label: str
    prefix: str
    permissions: frozenset[Permission] | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be made; `secret_hash` is the SHA-256 of a secret of 256 random bits."""

    token_id: str
    user: str
    label: str
    prefix: str
    secret_hash: bytes = field(repr=False)
    permissions: frozenset[Permission] | None
    seconds: float


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be opened: the hash that the password was verified against, the same password's hash at today's cost
    (None: it has that), and the SHA-256 of a secret of 256 random bits."""

    user: str
    verified_hash: str = field(repr=False)
    better_hash: str | None = field(repr=False)
    secret_hash: bytes = field(repr=False)
    seconds: float
    address: str


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in of a browser, known by the SHA-256 of its cookie."""

    user: User
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Exists:
    """A user of that name is there already."""


@dataclass(frozen=True, slots=True)
class NoSuchUser:
    """No user has that name."""


@dataclass(frozen=True, slots=True)
class NoSuchRole:
    """No role has that name."""

    name: str


class Identity(Protocol):
    """Every call raises InfrastructureError where the store cannot answer. What changes anything writes its audit line in the
    same transaction; `actor` is who does it. Times are the store's."""

    async def account(self, name: str) -> Account | None:
        """A user by name, disabled ones too; None where there is none."""
        ...

    async def users(self) -> tuple[User, ...]:
        """All of them, by name."""
        ...

    async def roles(self) -> tuple[Role, ...]:
        """All of them, by name."""
        ...

    async def add_user(self, user: NewUser, actor: str) -> User | Exists | NoSuchRole:
        """Action `user_added`. Raises TurnLimitError for a name that `identity.names` would refuse."""
        ...

    async def set_password(self, name: str, password_hash: str, actor: str) -> User | NoSuchUser:
        """Ends every session of theirs. Action `password_set`."""
        ...

    async def set_access(
        self, name: str, roles: tuple[str, ...], scope: Scope, actor: str
    ) -> User | NoSuchUser | NoSuchRole:
        """Counts from the next request on, for sessions and tokens too. Action `access_set`, with what it was before."""
        ...

    async def set_disabled(self, name: str, actor: str, *, disabled: bool) -> User | NoSuchUser:
        """Disabling ends every session of theirs; their tokens answer nothing while it lasts. Actions `user_disabled` and
        `user_enabled`; who is so already stays so without a line."""
        ...

    async def open_session(self, new: NewSession) -> Session | None:
        """None where the user is gone or disabled, or their password is another by now. Sessions that are over are deleted on
        the way. Action `sign_in`."""
        ...

    async def session(self, secret_hash: bytes) -> Session | None:
        """None where it is over, or its user disabled."""
        ...

    async def close_session(self, secret_hash: bytes) -> None:
        """Action `sign_out`; nothing where there is none."""
        ...

    async def issue_token(self, token: NewToken, actor: str) -> Token | NoSuchUser:
        """Action `token_issued`."""
        ...

    async def bearer(self, secret_hash: bytes) -> tuple[Token, User] | None:
        """Who uses this secret; None where it is revoked, expired, or its user disabled. Notes the use, at most once a minute."""
        ...

    async def tokens(self, user: str | None) -> tuple[Token, ...]:
        """A user's, or everybody's, the newest first; revoked ones too."""
        ...

    async def revoke_token(self, token_id: str, actor: str) -> Token | None:
        """None where there is none; a repeat answers the same. Action `token_revoked`."""
        ...

    async def note_denied(self, actor: str, what: str, detail: JsonValue) -> None:
        """An audit line of an attempt that was refused: action `denied`, with `what` and `detail`, which holds no secret."""
        ...

    async def note_sign_in(self, name: str, address: str) -> None:
        """An audit line of a sign-in that was refused: action `denied`, of the user where that is one's name."""
        ...

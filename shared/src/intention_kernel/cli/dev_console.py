"""The console of `intention dev`: where it is, and who signs in to it."""

from __future__ import annotations

import secrets
from contextlib import closing

from intention_kernel.identity.accounts import Access, add_user
from intention_kernel.identity.passwords import Passwords
from intention_kernel.ports.identity import Scope, User
from intention_kernel.postgres.identity import open_identity

NAME, ROLE = "dev", "admin"


async def sign_in_line(database_url: str) -> str:
    """How to sign in. Where there is no user yet, one is made, whose password is said here and nowhere else."""
    async with open_identity(database_url) as identity:
        if await identity.users():
            return f"sign in as before; `intention users password {NAME}` sets another password"
        password = secrets.token_urlsafe(12)
        with closing(Passwords()) as passwords:
            made = await add_user(identity, passwords, NAME, Access((ROLE,), Scope()), password, NAME)
    # Somebody else may have been added meanwhile.
    if not isinstance(made, User):
        return f"sign in as {NAME}; `intention users password {NAME}` sets a password"
    return f"sign in as {NAME} with the password {password} (it is shown once)"

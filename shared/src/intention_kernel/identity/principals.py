"""From a secret to who asks. What they may is read at every request: a change counts from the next one on."""

from __future__ import annotations

from intention_kernel.identity.principal import Principal, by_session, by_token
from intention_kernel.identity.secrets import session_hash, token_hash
from intention_kernel.ports.identity import Identity


async def principal_of_token(identity: Identity, secret: str) -> Principal | None:
    """Who uses this token's secret; None where it is nobody's, revoked or over, or its user disabled."""
    known_by = token_hash(secret)
    found = None if known_by is None else await identity.bearer(known_by)
    return None if found is None else by_token(*found)


async def principal_of_session(identity: Identity, secret: str) -> Principal | None:
    """Whose session this cookie is; None where it is nobody's or over, or its user disabled."""
    known_by = session_hash(secret)
    session = None if known_by is None else await identity.session(known_by)
    return None if session is None else by_session(session.user)


async def sign_out(identity: Identity, secret: str) -> None:
    """End the session of this cookie, if it is one."""
    known_by = session_hash(secret)
    if known_by is not None:
        await identity.close_session(known_by)

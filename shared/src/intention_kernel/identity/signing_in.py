"""From a name and a password to a session. What was wrong is never told."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from intention_kernel.clock import Clock
from intention_kernel.identity.names import name_problem
from intention_kernel.identity.passwords import Passwords, Wrong
from intention_kernel.identity.rate_limit import Attempts, Terms
from intention_kernel.identity.secrets import new_session_secret
from intention_kernel.ports.identity import Account, Identity, NewSession, Session

SESSION_SECONDS = 12 * 3_600.0
OF_A_NAME = Terms(burst=10, seconds=30.0)
OF_AN_ADDRESS = Terms(burst=30, seconds=10.0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody typed, and where it came from: the client's address, as whoever serves has it."""

    name: str
    password: str = field(repr=False)
    address: str


@dataclass(frozen=True, slots=True)
class SignedIn:
    """`secret` is what the browser keeps; it is nowhere else."""

    session: Session
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class WrongNameOrPassword:
    """The same for a name that is nobody's, a disabled user, one without a password, and a wrong one."""


@dataclass(frozen=True, slots=True)
class TooManyAttempts:
    """Of this name, or from this address. Nothing was looked at."""

    retry_after_seconds: float


SignInAnswer = SignedIn | WrongNameOrPassword | TooManyAttempts


class SigningIn:
    """One for a process: it counts the attempts. Raises InfrastructureError where the store cannot answer."""

    def __init__(
        self, identity: Identity, passwords: Passwords, clock: Clock, *, session_seconds: float = SESSION_SECONDS
    ) -> None:
        self._identity = identity
        self._passwords = passwords
        self._session_seconds = session_seconds
        self._by_name = Attempts(OF_A_NAME, clock)
        self._by_address = Attempts(OF_AN_ADDRESS, clock)

    async def sign_in(self, attempt: Attempt) -> SignInAnswer:
        """Failures are on record; an attempt that succeeds counts for nothing."""
        counted = ((self._by_name, _name_key(attempt.name)), (self._by_address, address_key(attempt.address)))
        wait = max(attempts.wait_seconds(key) for attempts, key in counted)
        if wait > 0:
            return TooManyAttempts(wait)
        for attempts, key in counted:
            attempts.take(key)
        signed_in = await self._signed_in(attempt)
        if signed_in is None:
            await self._identity.note_sign_in(attempt.name, attempt.address)
            return WrongNameOrPassword()
        for attempts, key in counted:
            attempts.give_back(key)
        return signed_in

    async def _signed_in(self, attempt: Attempt) -> SignedIn | None:
        stored = _judged_by(await self._identity.account(attempt.name))
        verified = await self._passwords.verify(attempt.password, stored)
        if stored is None or isinstance(verified, Wrong):
            return None
        made = new_session_secret()
        new = NewSession(
            user=attempt.name,
            verified_hash=stored,
            better_hash=verified.better_hash,
            secret_hash=made.secret_hash,
            seconds=self._session_seconds,
            address=attempt.address,
        )
        session = await self._identity.open_session(new)
        return None if session is None else SignedIn(session, made.secret)


def _judged_by(account: Account | None) -> str | None:
    """The hash that a password has to have; None where none will do."""
    return None if account is None or account.user.disabled else account.password_hash


def _name_key(name: str) -> str:
    """What can be nobody's name is one key, however long it is."""
    return name if name_problem(name) is None else ""


def address_key(address: str) -> str:
    """Pure: what counts as one place: an IPv4 address, or an IPv6 network of 64 bits, which is one customer's."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.IPv6Network((int(ip) >> 64 << 64, 64)))

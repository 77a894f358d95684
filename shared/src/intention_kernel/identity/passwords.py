"""Passwords: what one may be, and argon2 in threads of its own, a few at once: each takes 64 MiB and a core for a while."""

from __future__ import annotations

import asyncio
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST_CHARACTERS = 12
LONGEST_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Right:
    """It is their password. `better_hash` is one at today's cost, where the stored one has another."""

    better_hash: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wrong:
    """It is not, or they have none."""


def password_problem(password: str, user_name: str) -> str | None:
    """Why `password` cannot be theirs, or None. What it is made of is nobody's business (NIST SP 800-63B)."""
    if len(password) < SHORTEST_CHARACTERS:
        return f"a password has at least {SHORTEST_CHARACTERS} characters"
    if _is_too_long(password):
        return f"a password has at most {LONGEST_BYTES} bytes"
    if password.casefold() == user_name.casefold():
        return "the user's name is no password"
    return None


class Passwords:
    """`hasher` says what a hash costs; `at_once` how many are made or verified side by side, others wait their turn."""

    def __init__(self, hasher: PasswordHasher | None = None, *, at_once: int = 2) -> None:
        self._hasher = hasher or PasswordHasher()
        self._nobodys = self._hasher.hash("the password of nobody")
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="passwords")

    async def hash(self, password: str) -> str:
        """Argon2's encoded form."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, _bytes(password))

    async def verify(self, password: str, stored: str | None) -> Right | Wrong:
        """Whether it is the one that was hashed. With None, for nobody or who has none, it takes the work of a wrong one, so
        that the time tells nothing."""
        given, judged_by = (b"", None) if _is_too_long(password) else (_bytes(password), stored)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._verify, given, judged_by)

    def close(self) -> None:
        """End the threads once what they do is done; what waits for its turn is cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _verify(self, password: bytes, stored: str | None) -> Right | Wrong:
        try:
            self._hasher.verify(self._nobodys if stored is None else stored, password)
        except (VerificationError, InvalidHashError):
            return Wrong()
        if stored is None:
            return Wrong()
        return Right(self._hasher.hash(password) if self._hasher.check_needs_rehash(stored) else None)


def _is_too_long(password: str) -> bool:
    """By its characters first: what composes them takes time with their square."""
    return len(password) > LONGEST_BYTES or len(_bytes(password)) > LONGEST_BYTES


def _bytes(password: str) -> bytes:
    """The same for a letter however a keyboard composes it."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")

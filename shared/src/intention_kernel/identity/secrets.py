"""Secrets of tokens and sessions: 256 random bits each, shown once; what is stored is their SHA-256.

No salt and no slow hash: nobody guesses 256 bits. A secret is looked up by its hash, so no comparison tells anything by its time.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass, field

_DIGITS = string.digits + string.ascii_letters
_TOKEN = re.compile(r"ik_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}")
_SESSION = re.compile(r"[0-9A-Za-z_-]{43}")
_SECRET_BYTES = 32
_PREFIX_CHARACTERS = 8
_BODY_CHARACTERS = 43  # as many base 62 digits as 256 bits need


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """`ik_<prefix>_<base62>`. `prefix` is random, too, and says nothing of the rest: people recognise a token by it."""

    secret: str = field(repr=False)
    prefix: str
    secret_hash: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SessionSecret:
    """The value of a cookie."""

    secret: str = field(repr=False)
    secret_hash: bytes = field(repr=False)


def new_token_secret() -> TokenSecret:
    """A secret that nobody has."""
    prefix = "".join(secrets.choice(_DIGITS) for _ in range(_PREFIX_CHARACTERS))
    return token_secret(prefix, secrets.token_bytes(_SECRET_BYTES))


def token_secret(prefix: str, random_bytes: bytes) -> TokenSecret:
    """The secret that these make; no two make the same."""
    secret = f"ik_{prefix}_{base62(random_bytes)}"
    return TokenSecret(secret, prefix, _digest(secret))


def token_hash(secret: str) -> bytes | None:
    """What a token's secret is stored as; None where it is of another form, and so nobody's."""
    return _digest(secret) if _TOKEN.fullmatch(secret) else None


def new_session_secret() -> SessionSecret:
    """A secret that nobody has."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return SessionSecret(secret, _digest(secret))


def session_hash(secret: str) -> bytes | None:
    """What a session's secret is stored as; None where it is of another form, and so nobody's."""
    return _digest(secret) if _SESSION.fullmatch(secret) else None


def base62(random_bytes: bytes) -> str:
    """At most 32 bytes as 43 digits."""
    number, digits = int.from_bytes(random_bytes, "big"), []
    for _ in range(_BODY_CHARACTERS):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()

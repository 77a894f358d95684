"""Ids: derived ones, which a retry makes again byte for byte (protocol R17), and random ones for calls and processes."""

from __future__ import annotations

import hashlib
import random
import uuid

_jitter = random.SystemRandom()


class DerivedIds:
    """The ids `derived_id(*parts, last)` for many last parts: what they share is digested once."""

    __slots__ = ("_shared",)

    def __init__(self, *parts: str) -> None:
        self._shared = hashlib.sha256(b"".join([_framed(part) for part in parts]))

    def id(self, last: str) -> str:
        """`derived_id` of the shared parts and `last`."""
        digest = self._shared.copy()
        digest.update(_framed(last))
        return digest.hexdigest()[:32]


def derived_id(*parts: str) -> str:
    """32 hex digits that depend on `parts` and their order alone."""
    return hashlib.sha256(b"".join([_framed(part) for part in parts])).hexdigest()[:32]


def receipt_id(thread_id: str, effect_key: str) -> str:
    """The receipt's public id: the first 32 hex digits of SHA-256(thread id, NUL, effect key); interface 2."""
    return hashlib.sha256(f"{thread_id}\0{effect_key}".encode()).hexdigest()[:32]


def random_id() -> uuid.UUID:
    """A nonce or an attempt id: never derived, so that two calls can be told apart."""
    return uuid.uuid4()


def jittered_seconds(seconds: float) -> float:
    """`seconds` give or take a half, so that waiters do not march in step."""
    return seconds * _jitter.uniform(0.5, 1.5)


def _framed(part: str) -> bytes:
    raw = part.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(4, "big") + raw

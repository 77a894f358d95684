"""How often somebody may try: a token bucket for each key, told by one number (the generic cell rate algorithm)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from intention_kernel.clock import Clock


@dataclass(frozen=True, slots=True)
class Terms:
    """`burst` attempts at once, and one more every `seconds` after."""

    burst: int
    seconds: float


def wait_seconds(full_at: float, now: float, terms: Terms) -> float:
    """Pure: how long until the next attempt is admitted; 0.0: it is now. `full_at` is when all of the burst is there again."""
    return max(0.0, after_attempt(full_at, now, terms) - now - terms.burst * terms.seconds)


def after_attempt(full_at: float, now: float, terms: Terms) -> float:
    """Pure: `full_at` after an attempt."""
    return max(full_at, now) + terms.seconds


class Attempts:
    """Attempts by key. It remembers `most_keys` of them, those that were used last: more cost no more memory."""

    def __init__(self, terms: Terms, clock: Clock, *, most_keys: int = 10_000) -> None:
        self._terms = terms
        self._clock = clock
        self._most_keys = most_keys
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def wait_seconds(self, key: str) -> float:
        """0.0 where an attempt is admitted now. Takes nothing."""
        now = self._clock.monotonic_seconds()
        return wait_seconds(self._full_at.get(key, now), now, self._terms)

    def take(self, key: str) -> None:
        """Count an attempt."""
        now = self._clock.monotonic_seconds()
        self._full_at[key] = after_attempt(self._full_at.get(key, now), now, self._terms)
        self._full_at.move_to_end(key)
        if len(self._full_at) > self._most_keys:
            self._full_at.popitem(last=False)

    def give_back(self, key: str) -> None:
        """Uncount one."""
        if key in self._full_at:
            self._full_at[key] -= self._terms.seconds

    def __len__(self) -> int:
        return len(self._full_at)

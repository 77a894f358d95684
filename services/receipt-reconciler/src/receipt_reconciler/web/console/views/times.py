"""Times and spans as a page shows them: exact in UTC, and in words relative to one clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_SOON_SECONDS = 3_600.0

ClockKind = Literal["open", "closing", "closed", "none"]


@dataclass(frozen=True, slots=True)
class When:
    """A time: `iso` for machines, `exact` in UTC for people, `words` relative to the page's clock."""

    iso: str
    exact: str
    words: str


@dataclass(frozen=True, slots=True)
class KeyClock:
    """How long the provider still knows our key; `closing`: less than an hour."""

    kind: ClockKind
    words: str
    until: When | None


def span(seconds: float) -> str:
    """In its two largest units, such as `3 h 12 min`."""
    left = max(int(seconds), 0)
    for place, (size, unit) in enumerate(_UNITS):
        if left >= size:
            rest = left % size
            lesser, name = _UNITS[place + 1] if place + 1 < len(_UNITS) else (1, "s")
            more = rest // lesser
            return f"{left // size} {unit} {more} {name}" if more and unit != "min" else f"{left // size} {unit}"
    return f"{left} s"


def when(at: datetime, now: datetime) -> When:
    """`at`, seen from `now`."""
    utc = at.astimezone(UTC)
    seconds = (now - at).total_seconds()
    words = f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"
    words = "just now" if abs(seconds) < 1 else words
    return When(utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"{utc:%Y-%m-%d %H:%M:%S} UTC", words)


def maybe(at: datetime | None, now: datetime) -> When | None:
    """`when`, of a time that may not be there."""
    return None if at is None else when(at, now)


def key_clock(closes_at: datetime | None, now: datetime) -> KeyClock:
    """None: the provider keeps no key, so that the same call again is another effect."""
    if closes_at is None:
        return KeyClock("none", "keeps no key", None)
    left = (closes_at - now).total_seconds()
    if left <= 0:
        return KeyClock("closed", "key forgotten", when(closes_at, now))
    return KeyClock("closing" if left < _SOON_SECONDS else "open", f"{span(left)} left", when(closes_at, now))

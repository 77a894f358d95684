"""What a reader of `turns.events` does with repeats and holes (protocol R37): it accepts only `last + 1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Gap:
    """Sequence `expected` of a thread has not come, `found` has. Nothing after the hole is accepted until it comes."""

    thread_id: str
    expected: int
    found: int


@dataclass(slots=True)
class _Seen:
    incarnation: str
    last: int
    reported: int = 0


class ThreadOrder:
    """The sequences of every thread seen: one number a thread is remembered."""

    def __init__(self, *, from_the_first: bool) -> None:
        """`from_the_first`: the reader sees every record there ever was, so that a thread has to begin with 1."""
        self._from_the_first = from_the_first
        self._threads: dict[str, _Seen] = {}

    def judge(self, thread_id: str, sequence: int, incarnation: str) -> Literal["next", "old", "held"] | Gap:
        """`next` is accepted, `old` is a repeat, `held` comes after a hole; a hole is a Gap when it is first met.

        A new incarnation (a restored database, R39) goes on above the last sequence, wherever it likes.
        """
        seen = self._threads.get(thread_id)
        if seen is None:
            if not self._from_the_first:
                self._threads[thread_id] = _Seen(incarnation, sequence)
                return "next"
            seen = self._threads[thread_id] = _Seen(incarnation, 0)
        if sequence <= seen.last:
            return "old"
        if sequence == seen.last + 1 or incarnation != seen.incarnation:
            seen.last, seen.incarnation = sequence, incarnation
            return "next"
        if seen.reported == seen.last + 1:
            return "held"
        seen.reported = seen.last + 1
        return Gap(thread_id, seen.reported, sequence)

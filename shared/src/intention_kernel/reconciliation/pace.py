"""How often things are looked at. One record, so that tests can be quick."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ids import jittered_seconds
from intention_kernel.ports.receipt_ledger import CareTerms

PERSON_AFTER_LOOKS = 10
"""After so many looks in vain the item says that it needs a person; looking goes on, rarely."""

_MOST_ISSUES = 3


@dataclass(frozen=True, slots=True)
class Pace:
    """`first_seconds` between the first two looks at an item, doubling up to `longest_seconds`; `lookup_seconds` for one
    lookup; `again_seconds` until a continuation that nobody has committed is published again."""

    first_seconds: float = 1.0
    longest_seconds: float = 300.0
    lookup_seconds: float = 10.0
    again_seconds: float = 30.0

    @property
    def hold_seconds(self) -> float:
        """How long a claimed item is left alone by others: time for a lookup that has to be cancelled, and to write."""
        return 2 * self.lookup_seconds

    @property
    def care(self) -> CareTerms:
        """The terms for decided items."""
        return CareTerms(self.first_seconds, self.again_seconds, self.longest_seconds, _MOST_ISSUES)

    def pause(self, looks: int) -> float:
        """Seconds to the next look after `looks` looks in vain, with jitter."""
        return jittered_seconds(min(self.first_seconds * 2 ** min(looks, 30), self.longest_seconds))

"""Numbers of a campaign that its seed decides, so that it can be run again."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ids import derived_id


@dataclass(frozen=True, slots=True)
class Draws:
    """Numbers that look random and depend on the seed and on what they are drawn for alone."""

    seed: int

    def fraction(self, *what: str) -> float:
        """At least 0 and below 1."""
        return int(derived_id(str(self.seed), *what)[:12], 16) / float(1 << 48)

    def number(self, most: int, *what: str) -> int:
        """At least 0 and below `most`."""
        return int(self.fraction(*what) * most)

"""How much a run measures, and how it says what it is doing."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of one run. A round of the boundary lasts `round_seconds` on each side, one of the system `round_turns`;
    so many `crashes` of each kind. The queue has `open_items` beside `settled_items`, and `queue_calls` of each kind."""

    rounds: int
    round_seconds: float
    single_turns: int
    round_turns: int
    crashes: int
    open_items: int
    settled_items: int
    queue_calls: int


FULL = Plan(
    rounds=5,
    round_seconds=5.0,
    single_turns=200,
    round_turns=6000,
    crashes=11,
    open_items=100_000,
    settled_items=10_000_000,
    queue_calls=200,
)
QUICK = Plan(
    rounds=3,
    round_seconds=1.0,
    single_turns=40,
    round_turns=800,
    crashes=3,
    open_items=5_000,
    settled_items=50_000,
    queue_calls=20,
)


def progress(line: str) -> None:
    """To standard error: standard output has results only."""
    print(line, file=sys.stderr, flush=True)

"""How a delivery of a turn request ends: a closed union, and the reasons to begin again (interface 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TurnCommitted:
    """The turn is durable. `result` is the stored result document."""

    revision: int
    result: bytes


@dataclass(frozen=True, slots=True)
class TurnReplayed:
    """It was durable already; nothing ran. `result` is the stored result document."""

    result: bytes


@dataclass(frozen=True, slots=True)
class TurnConflict:
    """The turn id is taken by other content; refused, kept and published."""


@dataclass(frozen=True, slots=True)
class TurnRejected:
    """The request can never run; kept and published."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """Set aside: attempts used up, or held too long. `already` says that an earlier delivery did it."""

    reason: str
    detail: str
    already: bool = False


Outcome = TurnCommitted | TurnReplayed | TurnConflict | TurnRejected | TurnFailed
"""Each of them is a committed row: the record is done (protocol R4)."""


@dataclass(frozen=True, slots=True)
class BeginAgain:
    """No outcome: the lane begins again (protocol R4). `attempt_failed` alone has consumed an attempt.

    `alone` asks that nothing else runs beside the next attempt, since two of them ended with their process (R6).
    """

    why: Literal["busy", "contended", "held", "fenced", "attempt_failed", "alone"]
    detail: str = ""
    attempt: int = 0

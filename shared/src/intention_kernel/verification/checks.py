"""What is tried and what came of it, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["servers", "contract", "crash"]
Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is tried. `name` is unique, `group` is its suite, its process or its server.

    `rules` are those of the durable boundary's protocol that it tries, as "R3".
    """

    name: str
    part: Part
    group: str
    title: str
    rules: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a check: `evidence` is what was seen, in one line for people."""

    check: Check
    status: Status
    seconds: float
    evidence: str

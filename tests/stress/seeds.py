"""The seeds of a test run: the first few, and those whose schedule catches a rule that is switched off (docs/mutations.md)."""

from __future__ import annotations

from tests.stress.scenario import SCENARIOS

FIRST = 8

WITNESSES: dict[str, tuple[int, ...]] = {
    "zombie": (13, 23),
    "diverge": (13, 190),
    "lostcall": (177,),
    "lost": (13, 333),
    "commit": (24,),
    "m2": (30, 36),
    "aside": (10, 23),
    "lie": (62,),
}

SEEDS: dict[str, tuple[int, ...]] = {
    name: tuple(dict.fromkeys((*range(FIRST), *WITNESSES.get(name, ())))) for name in SCENARIOS
}

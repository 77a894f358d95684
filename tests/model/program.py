"""What a turn runs: a pure function of what it has seen so far, so that a retry which sees the same asks for the same."""

from __future__ import annotations

from typing import NamedTuple

from tests.model.scenario import Scenario
from tests.model.state import Continuation, Entry, Journal, Turn


class Want(NamedTuple):
    """The program's next request: `plan`, `effect` (of `name`), `again` (with `digest`) or `return`."""

    kind: str
    name: str = ""
    digest: tuple[str, ...] = ()


def plan_of(seen: Journal) -> tuple[str, ...] | None:
    """The plan that this attempt follows."""
    for entry in seen:
        if entry.kind == "plan":
            return entry.value
    return None


def outcome_of(seen: Journal, key: str) -> str | None:
    """What the program saw become of an effect."""
    for entry in seen:
        if entry.kind == "saw" and entry.name == key:
            return entry.value[0]
    return None


def was_met(seen: Journal, key: str) -> bool:
    """The attempt has asked for the effect, whether it waited for its outcome or not (R15, R18)."""
    return any(entry.kind in ("saw", "left") and entry.name == key for entry in seen)


def next_want(scenario: Scenario, turn: Turn, seen: Journal) -> Want:
    """The next request of a turn's program."""
    assert not isinstance(turn, Continuation)
    plan = plan_of(seen)
    if plan is None:
        return Want("plan")
    for key in plan:
        wanted = _of_key(scenario, turn, seen, key)
        if wanted is not None:
            return wanted
    return Want("return")


def _of_key(scenario: Scenario, turn: str, seen: Journal, key: str) -> Want | None:
    outcome = outcome_of(seen, key)
    if outcome is None:
        return Want("effect", key)
    if scenario.asks_again and key == "K1" and not any(entry.kind == "again" for entry in seen):
        return Want("again", digest=(outcome,))
    other = ""
    if outcome == "failed":
        other = scenario.after_failure.get(key, "")
    if outcome == "uncertain":
        other = scenario.after_uncertain.get(turn, "")
    if other and outcome_of(seen, other) is None:
        return Want("effect", other)
    return None


def recorded(journal: Journal, want: Want) -> Entry | None:
    """The journal's answer to a request, matched by name."""
    kind = "saw" if want.kind == "effect" else want.kind
    for entry in journal:
        if entry.kind == kind and entry.name == want.name:
            return entry
    return None


def waits_for(seen: Journal) -> frozenset[str]:
    """The receipts that a commit blocks on: a twin's where that is what was open (R20, ADR 2)."""
    uncertain = (entry for entry in seen if entry.kind == "saw" and entry.value[0] == "uncertain")
    return frozenset(entry.value[1] if len(entry.value) > 1 else entry.name for entry in uncertain)

"""docs/protocol-model.md: its tables are written from what the explorer found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.model.catalogue import MUTATIONS, UNNEEDED
from tests.model.explorer import Result
from tests.model.relay import RELAY_RULES
from tests.model.scenarios import SCENARIOS

PAGE = Path(__file__).resolve().parents[2] / "docs/protocol-model.md"
START = "<!-- written by python -m tests.model --page -->"
_KIND = ":"


def rule_row(rule: str, field: str, scenario: str, found: Result) -> str:
    """A row of the second table. What breaks is the promise's name, not the state that broke it."""
    kind = (found.broken or "nothing").split(_KIND)[0]
    return f"| {rule} | `{field}` | {scenario} | {len(found.path)} | {kind} |"


def scenario_row(name: str, title: str, found: Result) -> str:
    """A row of the first table."""
    whole = "" if found.is_complete else " (bounded)"
    return f"| {name} | {title} | {found.states:,}{whole} | {found.depth} |"


def _rows(
    held: Mapping[str, Result],
    off: Mapping[str, Result],
    relays: Mapping[str, Result],
    off_relays: Mapping[str, Result],
) -> Iterator[str]:
    yield "## Scenarios: all rules on, every state"
    yield ""
    yield "| scenario | what happens in it, at most | states | deepest |"
    yield "|---|---|---|---|"
    yield from (scenario_row(name, SCENARIOS[name].title, found) for name, found in held.items())
    yield from (
        scenario_row(name, "two relays, three turns, a pause, a refusal", found) for name, found in relays.items()
    )
    yield ""
    yield "## Rules: switched off one at a time, the shortest scenario that breaks"
    yield ""
    yield "| rule | switched off | scenario | steps | what breaks |"
    yield "|---|---|---|---|---|"
    yield from (rule_row(m.rule, m.field, m.scenario, off[m.field]) for m in MUTATIONS if m.field in off)
    yield from (rule_row(RELAY_RULES[field], field, "relay", found) for field, found in off_relays.items())
    yield ""
    yield "Carried, and needed by no scenario:"
    yield ""
    yield from (f"* `{field}` ({reason})" for field, reason in UNNEEDED.items())


def write(
    held: Mapping[str, Result],
    off: Mapping[str, Result],
    relays: Mapping[str, Result],
    off_relays: Mapping[str, Result],
) -> None:
    """Replace everything after the mark."""
    text = PAGE.read_text(encoding="utf-8").split(START)[0]
    rows = "\n".join(_rows(held, off, relays, off_relays))
    PAGE.write_text(f"{text}{START}\n\n{rows}\n", encoding="utf-8")

"""`python -m tests.model`: explore the scenarios, switch rules off, and write the page that says what was found.

Without options every scenario is explored to its end with all rules on, then every mutation. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from tests.model import page, relay
from tests.model.catalogue import MUTATIONS
from tests.model.explorer import Result, explore
from tests.model.rules import Rules
from tests.model.scenarios import SCENARIOS, deeper


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="names of scenarios; all, and the relay, where none is given")
    parser.add_argument("--depth", type=int, help="steps from the start at most")
    parser.add_argument("--states", type=int, default=1_000_000, help="states of a scenario at most")
    parser.add_argument("--seconds", type=float, help="seconds for a scenario at most")
    parser.add_argument("--more", type=int, default=0, help="so many more of each fault that a scenario has")
    parser.add_argument("--holds", action="store_true", help="explore with all rules on, switch none off")
    parser.add_argument(
        "--page", action="store_true", help="write docs/protocol-model.md from what is found in all of them"
    )
    return parser.parse_args(words)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _show(result: Result) -> None:
    for number, label in enumerate(result.path, 1):
        _tell(f"   {number:2}. {label}")


def _hold(arguments: argparse.Namespace, names: Sequence[str]) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for name in names:
        results[name] = explore(
            Rules(),
            deeper(SCENARIOS[name], arguments.more),
            states=arguments.states,
            depth=arguments.depth,
            seconds=arguments.seconds,
            progress=lambda seen, here, name=name: _tell(f"{name}: {seen} states, {here} steps deep"),  # type: ignore[misc]
        )
        found = results[name]
        word = found.broken or ("holds" if found.is_complete else "holds as far as it was explored")
        _tell(f"{name}: {found.states} states, {found.depth} steps deep: {word}")
        _show(found)
    return results


def _switch_off(names: Sequence[str]) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for mutation in MUTATIONS:
        if mutation.scenario in names:
            found = results[mutation.field] = explore(mutation.rules, SCENARIOS[mutation.scenario])
            _tell(f"{mutation.rule} {mutation.field} off: {len(found.path)} steps to {found.broken}")
    return results


def main(words: Sequence[str] | None = None) -> int:
    """Explore, print, and answer 0 where all holds and every rule is needed."""
    arguments = _arguments(words)
    names = arguments.scenarios or list(SCENARIOS)
    unknown = sorted(set(names) - set(SCENARIOS))
    if unknown:
        _tell(f"no such scenario: {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
        return 2
    began = time.perf_counter()
    held = _hold(arguments, names)
    relays = {} if arguments.scenarios else relay.all_on()
    off = {} if arguments.holds else _switch_off(names)
    off_relays = {} if arguments.holds or arguments.scenarios else relay.all_off()
    if arguments.page and not arguments.scenarios:
        page.write(held, off, relays, off_relays)
    broken = sorted(name for name, result in {**held, **relays}.items() if result.broken)
    unbroken = sorted(name for name, result in {**off, **off_relays}.items() if not result.broken)
    counts = {
        "scenarios": len(held) + len(relays),
        "complete": sum(result.is_complete for result in (*held.values(), *relays.values())),
        "states": sum(result.states for result in (*held.values(), *relays.values())),
        "deepest": max(result.depth for result in (*held.values(), *relays.values())),
        "rules_off": len(off) + len(off_relays),
        "broken": broken,
        "not_needed": unbroken,
        "seconds": round(time.perf_counter() - began, 1),
    }
    print(json.dumps(counts), flush=True)
    return 1 if broken or unbroken else 0


if __name__ == "__main__":
    sys.exit(main())

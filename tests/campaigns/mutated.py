"""Switch rules off and see the campaigns find it: `python -m tests.campaigns.mutated [MUTATION…] [--write]`.

Each mutation below is put into a campaign at its short count: Python modules are loaded with
the replaced text, also by the processes, SQL functions are replaced in the campaign's database. The campaign has to end with
exit code 1. `--write` puts what found it into docs/guarantees.md. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.stress.mutation_table import MUTATIONS
from tests.stress.mutations_of_campaigns import CAMPAIGNS

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "guarantees.md"
BEGIN, END = "<!-- campaigns with a rule switched off -->\n", "<!-- end -->\n"
SEED = 3
_SECONDS = 560


@dataclass(frozen=True, slots=True)
class Bug:
    """A mutation's name, the campaign that has to find it, and its count where the short one is too small to meet it."""

    mutation: str
    campaign: str
    count: int | None = None


BUGS = (
    Bug("offsets-with-gaps", "kills", 40),
    Bug("deleted-when-fetched", "kills", 40),
    Bug("absent-at-once", "kills", 40),
    Bug("some-refusals-lost", "malformed", 100),
    Bug("attempts-uncounted", "poison"),
    Bug("journal-outlives-its-turn", "failpoints", 1),
)

_RUN = "import sys, tests.stress.mutated; from tests.campaigns.__main__ import main; sys.exit(main(sys.argv[1:]))"
_FOUND = re.compile(r"^  (finding  ([a-z-]+):|problem  )", re.MULTILINE)


def find(bug: Bug) -> tuple[bool, Mapping[str, int], str]:
    """Whether the campaign found it, by which rules of the checker how often, and the end of what it printed."""
    arguments = [bug.campaign, "--seed", str(SEED), *(["--count", str(bug.count)] if bug.count else ["--short"])]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments],
        cwd=ROOT,
        env=os.environ | {"INTENTION_MUTATION": bug.mutation},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    found: dict[str, int] = {}
    for match in _FOUND.finditer(done.stdout):
        name = match[2] or "the campaign itself"
        found[name] = found.get(name, 0) + 1
    return done.returncode == 1 and bool(found), found, done.stdout[-1500:] + done.stderr[-1500:]


def main(names: Sequence[str], *, write: bool) -> int:
    """The exit status: 1 where a campaign does not find what it should."""
    missed, rows = list[str](), dict[Bug, str]()
    for bug in BUGS:
        if names and bug.mutation not in names:
            continue
        caught, found, end = find(bug)
        print(f"{bug.mutation}: {bug.campaign}: {'caught' if caught else 'NOT CAUGHT'} by {found}", flush=True)
        if not caught:
            missed.append(bug.mutation)
            print(end, flush=True)
        rows[bug] = row(bug, found) if caught else f"{begins(bug)} not found |"
    if write:
        DOCUMENT.write_text(_written(rows), "utf-8")
    print(json.dumps({"mutations": len(rows), "not_caught": missed}))
    return 1 if missed else 0


def begins(bug: Bug) -> str:
    """How the bug's row begins."""
    mutation = next(one for one in (*MUTATIONS, *CAMPAIGNS) if one.name == bug.mutation)
    return f"| {mutation.rule} | {mutation.without} | `{bug.campaign}` |"


def row(bug: Bug, found: Mapping[str, int]) -> str:
    """The bug's row with the rules of the checker that told of it."""
    rules = ", ".join(f"`{name}`" if name != "the campaign itself" else name for name in found)
    return f"{begins(bug)} {rules} |"


def _written(rows: Mapping[Bug, str]) -> str:
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    earlier = table.splitlines()
    lines = [
        rows.get(bug) or next((line for line in earlier if line.startswith(begins(bug))), f"{begins(bug)} not run |")
        for bug in BUGS
    ]
    head = "| rule | switched off | campaign | what found it |\n|---|---|---|---|\n"
    return before + BEGIN + head + "\n".join(lines) + "\n" + END + after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.mutated", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MUTATION", help="default: all")
    parser.add_argument("--write", action="store_true", help="put the results into docs/guarantees.md")
    options = parser.parse_args()
    sys.exit(main(options.names, write=options.write))

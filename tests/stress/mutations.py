"""Switch every rule off in turn and run the tests that know it: `python -m tests.stress.mutations [NAME…]`.

Each test has to fail. The last line is JSON; `--write` puts the results into docs/mutations.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from tests.stress.mutated import ROOT
from tests.stress.mutation import Mutation
from tests.stress.mutation_table import MUTATIONS
from tests.support.servers import current_run, shared_servers, stop_shared_servers

_FAILED = re.compile(r"^FAILED ", re.MULTILINE)
_DOCUMENT = ROOT / "docs" / "mutations.md"
_HEADER = """# Mutations

Which test fails when a rule of the protocol (`R…`) or another of the [invariants](invariants.md) (`I-…`) is switched off.
`python -m tests.stress.mutations` replaces the text in a copy (a scratch database, a module in the test process and in those
that it starts), runs the named tests and expects each of them to fail; a test of `make test` checks that every replacement
still applies. Stress scenarios are run with the seeds of a test run; what they find is the first broken promise, in brackets.

Not here: what only a person can break. Three of the protocol's mutations (R16 unfenced, R23, R32) are told by a contract
test alone: hundreds of random schedules do not reach them.

| rule | switched off | the test that fails |
|---|---|---|
"""


def run_test(mutation: Mutation, test: str) -> tuple[bool, str]:
    """Whether it fails as it should, and its own first words."""
    environment = os.environ | {"INTENTION_MUTATION": mutation.name}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "tests.stress.mutated",
        "--tb=line",
        "-p",
        "no:cacheprovider",
        test,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 1 and _FAILED.search(done.stdout):
        promise = re.search(r"(?<!Unique)(?<!Check)ViolationError: (.*)", done.stdout)
        return True, promise.group(1) if promise else ""
    if done.returncode == 0:
        return False, "passed"
    return False, f"exit {done.returncode}: {done.stdout[-800:]} {done.stderr[-400:]}"


def check(mutation: Mutation) -> tuple[list[str], list[str]]:
    """The tests that catch it, with what they say, and those that do not."""
    caught: list[str] = []
    missed: list[str] = []
    for test in mutation.tests:
        fails, word = run_test(mutation, test)
        name = test.rsplit("/", 1)[-1]
        (caught if fails else missed).append(
            f"`{name}`" + (f" ({word.split(':')[0].lower()})" if fails and word else "")
        )
        print(f"{mutation.name}: {'caught' if fails else 'NOT CAUGHT'} by {name}: {word[:600]}", flush=True)
    return caught, missed


def main(names: Sequence[str], *, write: bool) -> int:
    """The exit status: 1 where a test does not catch what it should."""
    started, missing = time.monotonic(), []
    rows: dict[str, str] = {}
    for mutation in MUTATIONS:
        if names and mutation.name not in names:
            continue
        caught, missed = check(mutation)
        missing += [f"{mutation.name}: {test}" for test in missed]
        rows[_begins(mutation)] = f"{_begins(mutation)} {', '.join(caught) or 'none'} |"
    if write:
        _DOCUMENT.write_text(_HEADER + "\n".join(_merged(rows)) + "\n")
    seconds = round(time.monotonic() - started)
    print(json.dumps({"mutations": len(rows), "not_caught": missing, "seconds": seconds}))
    return 1 if missing else 0


def _begins(mutation: Mutation) -> str:
    return f"| {mutation.rule} | {mutation.without} |"


def _merged(rows: Mapping[str, str]) -> list[str]:
    """The rows of this run, and of earlier ones for what it left out."""
    lines = _DOCUMENT.read_text("utf-8").splitlines() if _DOCUMENT.exists() else []
    found = []
    for mutation in MUTATIONS:
        begins = _begins(mutation)
        earlier = next((line for line in lines if line.startswith(begins)), f"{begins} not run |")
        found.append(rows.get(begins, earlier))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.stress.mutations")
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--write", action="store_true", help="put the results into docs/mutations.md")
    options = parser.parse_args()
    run = current_run()
    shared_servers(run)  # the tests below are part of this run and share its servers
    try:
        status = main(options.names, write=options.write)
    finally:
        stop_shared_servers(run)
    raise SystemExit(status)

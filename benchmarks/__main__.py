"""`python -m benchmarks [NAME…] [--quick]`: results on standard output, one JSON object a line (interface 7).

The lines are also kept in `.cache/benchmarks.jsonl`; `--render FILE` writes docs/performance.md from such lines.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TextIO

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.lifecycle import EXIT_OK, EXIT_USAGE, run_async

from benchmarks.boundary import boundary
from benchmarks.crashes import crashes
from benchmarks.machine import describe_machine
from benchmarks.page import PAGE, page
from benchmarks.plan import FULL, QUICK, Plan, progress
from benchmarks.queue import queue
from benchmarks.receipts import durable_receipt
from benchmarks.result import Result, read_results
from benchmarks.system import one_at_a_time, whole_turn

ROOT = Path(__file__).parents[1]
LINES = ROOT / ".cache" / "benchmarks.jsonl"

Benchmark = Callable[[Plan, Path], Awaitable[list[Result]]]
BENCHMARKS: Mapping[str, Benchmark] = {
    **{f"boundary_{threads}": partial(boundary, threads) for threads in (1, 16, 64)},
    "one_at_a_time": one_at_a_time,
    "whole_turn": whole_turn,
    "crashes": crashes,
    "durable_receipt": durable_receipt,
    "queue": queue,
}


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; none: all of them")
    parser.add_argument("--quick", action="store_true", help="small counts: to see that it works, not how fast it is")
    parser.add_argument("--render", type=Path, metavar="FILE", help="measure nothing; write the page from these lines")
    options = parser.parse_args(arguments)
    if options.render is not None:
        PAGE.write_text(page(read_results(options.render)), "utf-8")
        return EXIT_OK
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        progress(f"no benchmark named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
        return EXIT_USAGE
    plan = QUICK if options.quick else FULL
    scratch_root = Path(os.environ.get("TMPDIR") or LINES.parent / "tmp")
    scratch_root.mkdir(parents=True, exist_ok=True)
    LINES.parent.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=scratch_root.resolve()) as folder,
        LINES.open("w", encoding="utf-8") as kept,
    ):
        return run_async(partial(_measure, options.names or list(BENCHMARKS), plan, Path(folder), kept))


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def _measure(names: list[str], plan: Plan, folder: Path, kept: TextIO) -> None:
    machine: Mapping[str, JsonValue] = {**describe_machine(folder), "quick": plan is QUICK}
    for name in names:
        progress(f"{name}:")
        for result in await BENCHMARKS[name](plan, _new_folder(folder / name)):
            line = result.line(machine)
            print(line, flush=True)
            print(line, file=kept, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""More seeds than a test run has: `python -m tests.stress --seeds 200 --scenario zombie+`; the last line is JSON.

With `INTENTION_MUTATION=name` a rule is switched off, to look for a seed that catches it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from intention_kernel.ids import random_id

import tests.stress.mutated  # noqa: F401  # before what it changes
from tests.stress.run import open_bench, run
from tests.stress.scenario import SCENARIOS
from tests.stress.world import Bench, ViolationError
from tests.support.servers import (
    SharedServers,
    create_database,
    current_run,
    drop_database,
    shared_servers,
    stop_shared_servers,
)


@dataclass(slots=True)
class Found:
    """What a scenario came to."""

    runs: int = 0
    moves: int = 0
    violations: list[str] = field(default_factory=list)


async def main(servers: SharedServers, names: Sequence[str], seeds: Sequence[int], lanes: int, most: int) -> int:
    """Run them; the exit status."""
    databases = [f"stress_{random_id().hex[:16]}" for _ in range(lanes)]
    started, total = time.monotonic(), Found()
    try:
        async with AsyncExitStack() as stack:
            urls = [await create_database(servers, name, template=servers.template) for name in databases]
            benches = [await stack.enter_async_context(open_bench(url)) for url in urls]
            for name in names:
                found = await _scenario(name, seeds, benches, most)
                total.runs += found.runs
                total.moves += found.moves
                total.violations += found.violations
    finally:
        for name in databases:
            await drop_database(servers, name)
    seconds = round(time.monotonic() - started, 1)
    summary = {"runs": total.runs, "moves": total.moves, "seconds": seconds, "violations": total.violations}
    print(json.dumps(summary))
    return 1 if total.violations else 0


async def _scenario(name: str, seeds: Sequence[int], benches: Sequence[Bench], most: int) -> Found:
    found, waiting, started = Found(), iter(seeds), time.monotonic()
    await asyncio.gather(*[_lane(name, waiting, bench, found, most) for bench in benches])
    print(f"{name}: {found.runs} runs, {found.moves} moves, {time.monotonic() - started:.1f} s", flush=True)
    return found


async def _lane(name: str, waiting: Iterator[int], bench: Bench, found: Found, most: int) -> None:
    for seed in waiting:
        if len(found.violations) >= most:
            return
        found.runs += 1
        try:
            moves = await run(name, seed, bench)
            found.moves += moves
        except ViolationError as violation:
            found.violations.append(f"{name} {seed}: {str(violation).splitlines()[0]}")
            print(violation, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.stress")
    parser.add_argument("--seeds", type=int, default=50, help="how many, from 0")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), action="append", help="default: all")
    parser.add_argument("--lanes", type=int, default=3, help="databases that are worked on side by side")
    parser.add_argument("--violations", type=int, default=1, help="how many of a scenario before it ends")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # programs that fail on purpose
    chosen = range(options.seeds) if options.seed is None else [options.seed]
    run_of_servers = current_run()
    try:
        shared = shared_servers(run_of_servers)
        names = options.scenario or list(SCENARIOS)
        status = asyncio.run(main(shared, names, chosen, options.lanes, options.violations))
    finally:
        stop_shared_servers(run_of_servers)
    raise SystemExit(status)

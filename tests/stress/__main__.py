"""More seeds than a test run has: `python -m tests.stress --seeds 200 --scenario zombie+`; the last line is JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time
from collections.abc import Sequence

from intention_kernel.ids import random_id

from tests.stress.run import open_bench, run
from tests.stress.scenario import SCENARIOS
from tests.stress.world import Bench, ViolationError
from tests.support.servers import create_database, current_run, drop_database, shared_servers, stop_shared_servers


async def main(names: Sequence[str], seeds: Sequence[int], keep_going: bool) -> int:
    """Run them; the exit status."""
    servers = shared_servers(current_run())
    database = f"stress_{random_id().hex[:16]}"
    url = await create_database(servers, database, template=servers.template)
    started, moves, violations = time.monotonic(), 0, []
    try:
        async with open_bench(url) as bench:
            for name in names:
                done, found = await _scenario(name, seeds, bench, keep_going)
                moves += done
                violations += found
    finally:
        await drop_database(servers, database)
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"runs": len(names) * len(seeds), "moves": moves, "seconds": seconds, "violations": violations}))
    return 1 if violations else 0


async def _scenario(name: str, seeds: Sequence[int], bench: Bench, keep_going: bool) -> tuple[int, list[str]]:
    moves, found = 0, []
    started = time.monotonic()
    for seed in seeds:
        try:
            moves += await run(name, seed, bench)
        except ViolationError as violation:
            found.append(f"{name} {seed}: {str(violation).splitlines()[0]}")
            print(violation, flush=True)
            if not keep_going:
                break
    print(f"{name}: {len(seeds)} seeds, {moves} moves, {time.monotonic() - started:.1f} s", flush=True)
    return moves, found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.stress")
    parser.add_argument("--seeds", type=int, default=50, help="how many, from 0")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), action="append", help="default: all")
    parser.add_argument("--keep-going", action="store_true", help="go on with the scenario after a violation")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # programs that fail on purpose
    chosen = range(options.seeds) if options.seed is None else [options.seed]
    run_of_servers = current_run()
    try:
        status = asyncio.run(main(options.scenario or list(SCENARIOS), chosen, options.keep_going))
    finally:
        stop_shared_servers(run_of_servers)
    raise SystemExit(status)

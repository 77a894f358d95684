"""Fault campaigns: traffic through the real processes while something goes wrong, judged by the checker of histories.

    python -m tests.campaigns [NAME…] [--seed S] [--count N] [--short] [--list]

Without a name all run, one after the other. Servers are started in a scratch directory and ended; with
INTENTION_DATABASE_URL and INTENTION_KAFKA_BOOTSTRAP_SERVERS set, campaigns that harm no server use those. The history of
a campaign that is not well is kept in .cache/campaigns and judged again by `python -m intention_kernel.history FILE`.

Exit code 0 if every history is well and every fault happened, 1 if not, 2 if it cannot run, 130 if interrupted. The last
line is one JSON object of counts.
"""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from intention_kernel.clock import SystemClock
from intention_kernel.errors import InfrastructureError
from intention_kernel.history.saved import save_history
from intention_kernel.history.values import History
from intention_kernel.ids import random_id
from intention_kernel.lifecycle import EXIT_FAILED, EXIT_OK, run_async

from tests.campaigns.campaign import Campaign, Plan, Result, Say
from tests.campaigns.catalogue import CAMPAIGNS
from tests.campaigns.ground import Ground, opened_ground
from tests.campaigns.report import listed, told, total

KEPT = Path(".cache/campaigns")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells at length of a broker that we took away
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(listed(list(CAMPAIGNS.values()))))
        return EXIT_OK
    if unknown := [name for name in options.names if name not in CAMPAIGNS]:
        parser.error(f"unknown campaign {unknown[0]}; --list names all")
    chosen = [CAMPAIGNS[name] for name in options.names] or list(CAMPAIGNS.values())
    seed = options.seed if options.seed is not None else random_id().int % 1_000_000
    counts = {one.name: options.count or (max(1, one.short) if options.short else one.count) for one in chosen}
    results: dict[str, Result] = {}
    with _alone(), _scratch() as scratch:
        code = run_async(lambda: _run(chosen, seed, counts, scratch, results))
    if code or len(results) < len(chosen):
        return code or EXIT_FAILED
    return EXIT_OK if all(result.agrees for result in results.values()) else EXIT_FAILED


async def _run(
    chosen: Sequence[Campaign], seed: int, counts: dict[str, int], scratch: Path, results: dict[str, Result]
) -> None:
    clock = SystemClock()
    started, say = clock.monotonic_seconds(), _narrator(clock)
    async with AsyncExitStack() as stack:
        grounds: dict[bool, Ground] = {}
        for campaign in chosen:
            own = campaign.own_servers
            if own not in grounds:
                say("starting servers")
                ground = await stack.enter_async_context(opened_ground(scratch, own=own))
                # Servers of ours serve every campaign; servers of somebody else's only those that harm none.
                grounds |= {True: ground, False: ground} if ground.is_own else {False: ground}
            begun = clock.monotonic_seconds()
            say(f"{campaign.name}: {campaign.title}; {counts[campaign.name]} {campaign.unit}, seed {seed}")
            plan = Plan(seed, counts[campaign.name], grounds[own], say, _keeper(campaign.name, seed, say))
            results[campaign.name] = await _result(campaign, plan)
            for line in told(campaign, results[campaign.name], clock.monotonic_seconds() - begun):
                print(line, flush=True)
    print(total(seed, results, clock.monotonic_seconds() - started), flush=True)


async def _result(campaign: Campaign, plan: Plan) -> Result:
    """A campaign that could not be run is not well; those after it run."""
    try:
        return await campaign.run(plan)
    except InfrastructureError as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        return Result({}, (), (f"{error}\n{notes}",))


def _keeper(name: str, seed: int, say: Say) -> Callable[[History], None]:
    def keep(history: History) -> None:
        KEPT.mkdir(parents=True, exist_ok=True)
        path = KEPT / f"{name}-{seed}.jsonl"
        save_history(history, path)
        say(f"the history is kept in {path}")

    return keep


@contextmanager
def _alone() -> Iterator[None]:
    """One run at a time in one checkout: two would take each other's time, and patience ends by the clock."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another run of campaigns in this checkout", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _scratch() -> Iterator[Path]:
    root = Path(os.environ.get("TMPDIR") or ".cache/tmp")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="campaigns-", dir=root) as folder:
        path = Path(folder).resolve()
        path.chmod(0o755)  # Postgres may run as another user
        yield path


def _narrator(clock: SystemClock) -> Say:
    start = clock.monotonic_seconds()
    return lambda line: print(f"{clock.monotonic_seconds() - start:7.1f} s  {line}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="campaigns (default: all)")
    parser.add_argument(
        "--seed", type=int, metavar="S", help="decides traffic and faults (default: a new one, printed)"
    )
    parser.add_argument("--count", type=_positive, metavar="N", help="instead of each campaign's full count")
    parser.add_argument("--short", action="store_true", help="the counts of `make test`")
    parser.add_argument("--list", action="store_true", help="name all campaigns with their counts")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


if __name__ == "__main__":
    sys.exit(main())

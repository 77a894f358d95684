"""Play published conversations through the real processes, under faults and kills, and compare everything with everything.

It starts Postgres and Kafka (or uses those that INTENTION_DATABASE_URL and INTENTION_KAFKA_BOOTSTRAP_SERVERS name, in a database and
topics of its own), the shop and several instances of all three processes in a scratch directory, and plays all
conversations side by side, each turn by turn. At the end the shop's records and ledger are compared with the published
state, our receipts with the ledger, the topic with the turns.

Exit code 0 if everything agrees, 1 if anything does not, 2 if a file or a setting cannot work, 130 if interrupted. The last
line is one JSON object of counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from intention_kernel.clock import SystemClock
from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id
from intention_kernel.lifecycle import EXIT_FAILED, EXIT_OK, EXIT_USAGE, run_async
from intention_kernel.servers.select import selected_servers

from examples.retail.campaign.plan import Plan
from examples.retail.campaign.report import Report
from examples.retail.campaign.run import Say, run_campaign
from examples.retail.conversations import load_conversations
from examples.retail.records import EXTRACT, load_records

_SETTINGS = {"max_connections": "200"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    try:
        plan = _plan(_parser().parse_args(arguments))
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    reports: list[Report] = []

    with _scratch() as scratch:

        async def run() -> None:
            reports.append(await _run(plan, scratch, _narrator()))

        code = run_async(run)
    if not reports:
        return code
    print("\n".join(reports[0].lines()), flush=True)
    return EXIT_OK if reports[0].agrees else EXIT_FAILED


async def _run(plan: Plan, scratch: Path, say: Say) -> Report:
    say(f"seed {plan.seed}: {len(plan.conversations)} conversations, {plan.kills} kills")
    async with selected_servers(
        scratch / "servers", environment=os.environ, say=say, postgres_settings=_SETTINGS
    ) as servers:
        return await run_campaign(servers, scratch, plan, say)


@contextmanager
def _scratch() -> Iterator[Path]:
    root = Path(os.environ.get("TMPDIR") or ".cache/tmp")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=root) as folder:
        yield Path(folder).resolve()


def _plan(options: argparse.Namespace) -> Plan:
    """The plan that the options name; ConfigurationError where a file cannot be read."""
    load_records(options.data)
    conversations = load_conversations(options.conversations)[: options.limit]
    if not conversations:
        raise ConfigurationError(f"{options.conversations} holds no conversations")
    return Plan(
        data=options.data,
        file=options.conversations,
        conversations=tuple(conversations),
        seed=options.seed if options.seed is not None else random_id().int % 1_000_000,
        kills=options.kills,
        shop_faults=options.shop_faults,
    )


def _narrator() -> Say:
    clock = SystemClock()
    start = clock.monotonic_seconds()
    return lambda line: print(f"{clock.monotonic_seconds() - start:7.1f} s  {line}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.retail.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, default=EXTRACT, metavar="DIR", help="folder of the shop's records (default: the extract)")
    add(
        "--conversations",
        type=Path,
        default=EXTRACT / "conversations.json",
        metavar="FILE",
        help="file of published conversations (default: the extract's 60)",
    )
    add("--limit", type=_positive, metavar="N", help="play only the first N conversations")
    add("--kills", type=_natural, default=0, metavar="N", help="SIGKILLs of our processes, spread over the run")
    add(
        "--shop-faults",
        action="store_true",
        help="the shop loses replies, fails before and after its commit, delays, refuses",
    )
    add("--seed", type=int, metavar="S", help="decides kills, faults and clicks (default: a new one, which is printed)")
    return parser


def _positive(text: str) -> int:
    return _at_least(1, text)


def _natural(text: str) -> int:
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    number = int(text)
    if number < least:
        raise argparse.ArgumentTypeError(f"{text} is less than {least}")
    return number


if __name__ == "__main__":
    sys.exit(main())

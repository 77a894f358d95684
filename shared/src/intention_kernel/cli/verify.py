"""`intention verify`: try the guarantees on somebody's own Postgres and Kafka (docs/verify.md)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

import click

from intention_kernel.cli.exit_codes import DENIED, FAILED, INTERRUPTED, OK
from intention_kernel.cli.settings import addresses
from intention_kernel.cli.verify_text import Teller, print_report
from intention_kernel.verification.checks import Part
from intention_kernel.verification.leftovers import remove_leftovers
from intention_kernel.verification.report import Report
from intention_kernel.verification.run import PARTS, Refusal, Target, Wish, verify

_T = TypeVar("_T")


@click.command("verify")
@click.option(
    "--only", type=click.Choice(PARTS), help="One part: the servers' settings, the contract suites, or the crash suite."
)
@click.option("--quick", is_flag=True, help="Of the crash suite, four scenarios that stand for all.")
@click.option(
    "--beside-data", is_flag=True, help="Accept a database that holds tables: the suites run in schemas beside them."
)
@click.option("--clean", is_flag=True, help="Only remove what runs left behind that were killed.")
@click.option(
    "-o",
    "output",
    type=click.Choice(["table", "json", "jsonl"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.pass_context
def verify_command(
    context: click.Context,
    *,
    only: Part | None,
    quick: bool,
    beside_data: bool,
    clean: bool,
    output: Literal["table", "json", "jsonl"],
) -> None:
    """Try the guarantees on your own Postgres and Kafka.

    Runs the contract suites of the durable boundary, kills and pauses the three processes at every failpoint, and looks at
    the settings that all of it rests on; prints a table of guarantees with the evidence for each. It works in schemas,
    topics and consumer groups of its own and removes them, also after Ctrl-C. A database that holds tables is refused
    (exit code 6). Exit code 1: a guarantee does not hold there.

    Example: intention verify, or for a first look intention verify --quick
    """
    where = addresses(database=True, kafka=True)
    target = Target(where.database_url, where.kafka_bootstrap_servers, where.topic_prefix)
    if clean:
        context.exit(_interruptible(_clean(target)))
    wish = Wish(parts=(only,) if only else PARTS, quick=quick, beside_data=beside_data)
    found = _interruptible(verify(target, wish, Teller()))
    context.exit(_told(found, output))


def _told(found: Report | Refusal, output: Literal["table", "json", "jsonl"]) -> int:
    if isinstance(found, Refusal):
        click.echo(f"refused: {found.reason}", err=True)
        return DENIED
    print_report(found, output)
    return OK if found.verdict == "pass" else FAILED


async def _clean(target: Target) -> int:
    removed, left = await remove_leftovers(target.database_url, target.kafka_bootstrap_servers, target.topic_prefix)
    for name in removed:
        click.echo(f"removed: {name}")
    for name in left:
        click.echo(f"NOT REMOVED: {name}", err=True)
    click.echo("nothing was left behind" if not removed else f"{len(removed)} removed", err=True)
    return FAILED if left else OK


def _interruptible(running: Coroutine[Any, Any, _T]) -> _T:
    """Run it; SIGTERM ends it as Ctrl-C does, after it has removed what it made."""

    async def main() -> _T:
        task = asyncio.ensure_future(running)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise click.exceptions.Exit(INTERRUPTED) from None

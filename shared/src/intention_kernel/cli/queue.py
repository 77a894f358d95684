"""`intention queue ls | show | resolve | contest`: the operator queue on the command line (interface 4).

Exit codes: 0 done, 1 failed, 2 usage, 4 no such receipt, 5 the receipt changed, 6 refused by protocol R22.
"""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn, TypeVar

import click

from intention_kernel.application.loading import load_application
from intention_kernel.cli.arguments import json_or_file
from intention_kernel.cli.exit_codes import CONFLICT, DENIED, NOT_FOUND, USAGE
from intention_kernel.cli.output import Format, output_option
from intention_kernel.cli.queue_text import plain, print_items, shown_lines
from intention_kernel.cli.settings import addresses
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ports.operator_queue import OperatorQueue, Phase, QueueItem
from intention_kernel.postgres.reconciliation import open_receipts
from intention_kernel.reconciliation import contest as contests
from intention_kernel.reconciliation import queue as operations
from intention_kernel.reconciliation.document import item_document, shown_document, verdict_document
from intention_kernel.reconciliation.workbench import EffectOf, effects_of

_ALL_PHASES: tuple[Phase, ...] = (*operations.UNFINISHED, "done")
_SETTLED = {
    "applied": "settled as applied; the turns that wait for it go on with this result",
    "not_applied": "settled as not applied; the turns that wait for it go on, and their program may try it again",
}
_CONTESTED = (
    "contested: no attempt is made and its value is not handed out until another person decides, with "
    "--applied or --not-applied and --evidence"
)
_Answer = TypeVar("_Answer")
_table_or_json = click.option(
    "-o", "output", default="table", type=click.Choice(["table", "json"]), show_default=True, help="How to print."
)


@click.group()
def queue() -> None:
    """Receipts whose outcome nobody knows, and what to do about them."""


@queue.command("ls")
@click.option("--all", "with_done", is_flag=True, help="Also items that are done.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many at most.")
@output_option
def ls(*, with_done: bool, limit: int, output: Format) -> None:
    """List the queue: contradicted receipts on top, then the oldest first.

    Example: intention queue ls -o ids
    """
    phases = _ALL_PHASES if with_done else operations.UNFINISHED
    found = _run(lambda store, _: operations.list_items(store, phases=phases, limit=limit + 1))
    _print_items(found[:limit], output)
    if len(found) > limit:
        click.echo(f"the first {limit}; --limit shows more", err=True)


def _print_items(items: Sequence[QueueItem], output: Format) -> None:
    if output == "table":
        print_items(items)
    elif output == "json":
        click.echo(_text([item_document(item) for item in items]))
    else:
        for item in items:
            click.echo(item.receipt_id if output == "ids" else dumps(item_document(item)).decode())


@queue.command("show")
@click.argument("receipt_id", metavar="RECEIPT")
@_table_or_json
def show(receipt_id: str, output: str) -> None:
    """Show a receipt: its history, what was seen, who waits, what may be decided and why.

    Example: intention queue show 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """
    shown = _run(lambda store, effect_of: operations.show(store, receipt_id, effect_of))
    if shown is None:
        _fail(NOT_FOUND, f"there is no receipt {receipt_id}")
    if output == "json":
        click.echo(_text(shown_document(shown)))
    else:
        click.echo("\n".join(map(plain, shown_lines(shown))))


@queue.command("resolve")
@click.argument("receipt_id", metavar="RECEIPT")
@click.option(
    "--applied/--not-applied",
    "applied",
    default=None,
    help="It went through; or it did not, and the program may try it again.",
)
@click.option("--value", metavar="JSON|@FILE", help="With --applied: the effect's result.")
@click.option("--reference", metavar="TEXT", help="With --applied: the provider's reference.")
@click.option("--workers-stopped", is_flag=True, help="I have stopped every process that may call the provider.")
@click.option("--reason", metavar="TEXT", required=True, help="Why, in your words.")
@click.option("--reason-code", metavar="CODE", help="Why, as a code.")
@click.option("--evidence", metavar="TEXT", help="What shows it: a link, a ticket, a quotation.")
@click.option(
    "--as", "actor", metavar="NAME", default=getpass.getuser, show_default="your user name", help="Who decides."
)
@click.option(
    "--expected-version", type=int, metavar="N", help="The version that you were shown; by default the one now."
)
@_table_or_json
def resolve(receipt_id: str, *, applied: bool | None, value: str | None, output: str, **given: object) -> None:
    """Decide what became of an effect. The turns that wait for it go on by themselves.

    `intention queue show` says what may be decided now. "Not applied" is refused while the call may still take effect.

    Example: intention queue resolve 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --applied --value '{"charged": 500}' --reason "it is
    in the bank's list"
    """
    if applied is None:
        raise click.UsageError("say --applied or --not-applied")
    if applied and value is None:
        raise click.UsageError("--applied needs --value, the effect's result")
    decision = _decision(receipt_id, value, given, applied=applied)
    _tell(_run(lambda store, effect_of: operations.resolve(store, decision, effect_of)), decision, output)


@queue.command("contest")
@click.argument("receipt_id", metavar="RECEIPT")
@click.option(
    "--applied/--not-applied", "applied", default=None, help="Decide it, as the second person: it went through, or not."
)
@click.option("--value", metavar="JSON|@FILE", help="With --applied: the effect's result.")
@click.option("--reference", metavar="TEXT", help="With --applied: the provider's reference.")
@click.option("--workers-stopped", is_flag=True, help="I have stopped every process that may call the provider.")
@click.option("--evidence", metavar="TEXT", help="What shows it; needed to decide.")
@click.option("--reason", metavar="TEXT", required=True, help="Why, in your words.")
@click.option(
    "--as", "actor", metavar="NAME", default=getpass.getuser, show_default="your user name", help="Who says so."
)
@click.option(
    "--expected-version", type=int, metavar="N", help="The version that you were shown; by default the one now."
)
@_table_or_json
def contest(receipt_id: str, *, applied: bool | None, value: str | None, output: str, **given: object) -> None:
    """Say that a settlement is wrong, or decide what another person contests.

    A contested receipt is on top of the queue: no attempt is made, and its value is not handed out. Another person than the
    one who contests it decides it, with --applied or --not-applied and --evidence.

    Example: intention queue contest 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --reason "the bank has no such charge"
    """
    if applied is None:
        _tell_contest(receipt_id, value, output, given)
        return
    if applied and value is None:
        raise click.UsageError("--applied needs --value, the effect's result")
    decision = _decision(receipt_id, value, given, applied=applied)
    answer = _run(lambda store, effect_of: operations.resolve(store, decision, effect_of, contested=True))
    _tell(answer, decision, output)


def _tell_contest(receipt_id: str, value: str | None, output: str, given: Mapping[str, object]) -> None:
    """Open the contest, and say what became of it."""
    if value is not None or any(given[name] for name in ("reference", "workers_stopped", "evidence")):
        raise click.UsageError("say --applied or --not-applied, too: those options belong to a decision")
    doubt = contests.Doubt(
        receipt_id,
        **{name: given[name] for name in ("reason", "actor", "expected_version")},  # type: ignore[arg-type]  # click's
    )
    match _run(lambda store, _: contests.contest(store, doubt)):
        case contests.ContestOpened(version=version):
            document: JsonValue = {"receiptId": receipt_id, "contested": True, "version": version}
            click.echo(_text(document) if output == "json" else _CONTESTED)
        case operations.NotFound():
            _fail(NOT_FOUND, f"there is no receipt {receipt_id}")
        case operations.VersionChanged(why=why):
            _fail(CONFLICT, f"nothing was contested: {why}; `intention queue show {receipt_id}` shows it")
        case operations.Invalid(problem=problem):
            _fail(USAGE, problem)


def _decision(receipt_id: str, value: str | None, given: Mapping[str, object], *, applied: bool) -> operations.Decision:
    return operations.Decision(
        receipt_id=receipt_id,
        resolution="applied" if applied else "not_applied",
        value=None if value is None else json_or_file("--value", value),
        **given,  # type: ignore[arg-type]  # click made them of the declared options
    )


def _tell(answer: operations.ResolveAnswer, decision: operations.Decision, output: str) -> None:
    match answer:
        case operations.Resolved(settlement=settlement, version=version):
            resolution = decision.resolution
            document: JsonValue = {
                "receiptId": decision.receipt_id,
                "resolution": resolution,
                "settlement": settlement,
                "version": version,
            }
            click.echo(_text(document) if output == "json" else _SETTLED[resolution])
        case operations.NotFound():
            _fail(NOT_FOUND, f"there is no receipt {decision.receipt_id}")
        case operations.VersionChanged(why=why):
            _fail(CONFLICT, f"nothing was settled: {why}; `intention queue show {decision.receipt_id}` shows it")
        case operations.Invalid(problem=problem):
            _fail(USAGE, problem)
        case operations.Refused(verdict=verdict):
            if output == "json":
                click.echo(_text(verdict_document(verdict)))
            _fail(DENIED, f"not admitted: {verdict.reason}")


def _run(work: Callable[[OperatorQueue, EffectOf | None], Awaitable[_Answer]]) -> _Answer:
    async def connected() -> _Answer:
        async with _opened() as (store, effect_of):
            return await work(store, effect_of)

    return asyncio.run(connected())


@asynccontextmanager
async def _opened() -> AsyncIterator[tuple[OperatorQueue, EffectOf | None]]:
    """The store, and what the application declares where the environment names one."""
    found = addresses(database=True)
    effect_of = effects_of(load_application(found.application).agents) if found.application else None
    async with open_receipts(found.database_url, pool_size=1) as receipts:
        yield receipts, effect_of


def _text(document: JsonValue) -> str:
    return json.dumps(document, indent=2, ensure_ascii=True)


def _fail(code: int, message: str) -> NoReturn:
    click.echo(message, err=True)
    click.get_current_context().exit(code)

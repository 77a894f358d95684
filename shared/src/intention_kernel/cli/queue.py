"""`intention queue ls | show | resolve`: the first surface of the operator queue (interface 4).

Exit codes: 0 done, 1 failed, 2 usage, 4 no such receipt, 5 the receipt changed, 6 refused by protocol R22.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from intention_kernel.application.loading import load_application
from intention_kernel.cli.exit_codes import CONFLICT, DENIED, FAILED, NOT_FOUND, USAGE
from intention_kernel.cli.queue_text import plain, print_items, shown_lines
from intention_kernel.cli.settings import addresses
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import ConfigurationError, IntentionKernelError, JsonError
from intention_kernel.ports.operator_queue import OperatorQueue, Phase
from intention_kernel.postgres.reconciliation import open_receipts
from intention_kernel.reconciliation import queue as operations
from intention_kernel.reconciliation.document import item_document, shown_document, verdict_document
from intention_kernel.reconciliation.workbench import EffectOf, effects_of

_ALL_PHASES: tuple[Phase, ...] = (*operations.UNFINISHED, "done")
_Answer = TypeVar("_Answer")


@click.group()
def queue() -> None:
    """Receipts whose outcome nobody knows, and what to do about them."""


@queue.command("ls")
@click.option("--all", "with_done", is_flag=True, help="also items that are done")
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1, 10_000))
@click.option("-o", "output", default="table", type=click.Choice(["table", "json", "jsonl", "ids"]), show_default=True)
def ls(*, with_done: bool, limit: int, output: str) -> None:
    """List the queue: contradicted receipts on top, then the oldest first."""
    phases = _ALL_PHASES if with_done else operations.UNFINISHED
    items = _run(lambda store, _: operations.list_items(store, phases=phases, limit=limit))
    if output == "table":
        print_items(items)
    elif output == "json":
        click.echo(_text([item_document(item) for item in items]))
    else:
        for item in items:
            click.echo(item.receipt_id if output == "ids" else dumps(item_document(item)).decode())


@queue.command("show")
@click.argument("receipt_id")
@click.option("-o", "output", default="table", type=click.Choice(["table", "json"]), show_default=True)
def show(receipt_id: str, output: str) -> None:
    """Show a receipt: its history, what was seen, who waits, what may be decided and why."""
    shown = _run(lambda store, effect_of: operations.show(store, receipt_id, effect_of))
    if shown is None:
        _fail(NOT_FOUND, f"there is no receipt {receipt_id}")
    if output == "json":
        click.echo(_text(shown_document(shown)))
    else:
        click.echo("\n".join(map(plain, shown_lines(shown))))


@queue.command("resolve")
@click.argument("receipt_id")
@click.option("--applied/--not-applied", "applied", default=None, help="it went through, or it did not")
@click.option("--value", help="with --applied: the effect's result, as JSON or @FILE")
@click.option("--reference", help="with --applied: the provider's reference")
@click.option("--workers-stopped", is_flag=True, help="I have stopped every process that may call the provider")
@click.option("--reason", required=True, help="why, in your words")
@click.option("--reason-code", help="why, as a code")
@click.option("--evidence", help="what shows it: a link, a ticket, a quotation")
@click.option("--as", "actor", default=getpass.getuser, show_default="your user name", help="who decides")
@click.option("--expected-version", type=int, help="the version that you were shown; default: the one now")
@click.option("-o", "output", default="table", type=click.Choice(["table", "json"]), show_default=True)
def resolve(receipt_id: str, *, applied: bool | None, value: str | None, output: str, **given: object) -> None:
    """Decide what became of an effect. The conversation goes on by itself."""
    if applied is None:
        raise click.UsageError("say --applied or --not-applied")
    if applied and value is None:
        raise click.UsageError("--applied needs --value, the effect's result")
    decision = operations.Decision(
        receipt_id=receipt_id,
        resolution="applied" if applied else "not_applied",
        value=None if value is None else _value(value),
        **given,  # type: ignore[arg-type]  # click made them of the declared options
    )
    _tell(_run(lambda store, effect_of: operations.resolve(store, decision, effect_of)), decision, output)


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
            said = f"settled as {resolution.replace('_', ' ')}; the turns that wait for it go on next"
            click.echo(_text(document) if output == "json" else said)
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


def _value(given: str) -> JsonValue:
    """JSON, or the JSON in a file."""
    try:
        return loads(Path(given[1:]).read_bytes() if given.startswith("@") else given)
    except OSError as error:
        raise click.UsageError(f"--value: {error}") from error
    except JsonError as error:
        raise click.UsageError(f"--value is not JSON: {error}") from error


def _run(work: Callable[[OperatorQueue, EffectOf | None], Awaitable[_Answer]]) -> _Answer:
    async def connected() -> _Answer:
        async with _opened() as (store, effect_of):
            return await work(store, effect_of)

    try:
        return asyncio.run(connected())
    except ConfigurationError as error:
        _fail(USAGE, str(error))
    except IntentionKernelError as error:
        _fail(FAILED, str(error))


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
    sys.exit(code)

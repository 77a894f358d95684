"""How the commands of the queue reach the store, and how they end."""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NoReturn, TypeVar

import click

from intention_kernel.application.loading import load_application
from intention_kernel.cli.exit_codes import CONFLICT, NOT_FOUND
from intention_kernel.cli.queue_text import held_line
from intention_kernel.cli.settings import addresses
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.approvals import DecidingQueue
from intention_kernel.ports.queue_work import Held
from intention_kernel.postgres.operator_queue import open_queue
from intention_kernel.reconciliation.workbench import EffectOf, effects_of

_Answer = TypeVar("_Answer")
table_or_json = click.option(
    "-o", "output", default="table", type=click.Choice(["table", "json"]), show_default=True, help="How to print."
)
actor_option = click.option(
    "--as", "actor", metavar="NAME", default=getpass.getuser, show_default="your user name", help="Who you are."
)


def run(work: Callable[[DecidingQueue, EffectOf | None], Awaitable[_Answer]]) -> _Answer:
    """The answer of the store, given what the application declares where the environment names one."""

    async def connected() -> _Answer:
        async with _opened() as (store, effect_of):
            return await work(store, effect_of)

    return asyncio.run(connected())


@asynccontextmanager
async def _opened() -> AsyncIterator[tuple[DecidingQueue, EffectOf | None]]:
    found = addresses(database=True)
    effect_of = effects_of(load_application(found.application).agents) if found.application else None
    async with open_queue(found.database_url, pool_size=1) as receipts:
        yield receipts, effect_of


def text(document: JsonValue) -> str:
    """Indented JSON in ASCII."""
    return json.dumps(document, indent=2, ensure_ascii=True)


def fail(code: int, message: str) -> NoReturn:
    """The message on stderr, and the exit code."""
    click.echo(message, err=True)
    click.get_current_context().exit(code)


def fail_not_found(receipt_id: str) -> NoReturn:
    """Exit code 4."""
    fail(NOT_FOUND, f"there is no receipt {receipt_id}")


def fail_held(held: Held, receipt_id: str) -> NoReturn:
    """Exit code 5: another person works on it."""
    fail(CONFLICT, f"{held_line(held)}; `intention queue claim {receipt_id} --takeover REASON` takes it over")

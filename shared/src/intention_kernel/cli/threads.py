"""`intention turn show` and `intention thread show`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from intention_kernel.cli.arguments import identifier
from intention_kernel.cli.exit_codes import NOT_FOUND
from intention_kernel.cli.output import Document, pretty
from intention_kernel.cli.settings import addresses
from intention_kernel.postgres.reading import Reading, open_reading

_Answer = TypeVar("_Answer")


def read(question: Callable[[Reading], Awaitable[_Answer]]) -> _Answer:
    """Ask the database that the settings name."""

    async def ask() -> _Answer:
        async with open_reading(addresses(database=True).database_url) as reading:
            return await question(reading)

    return asyncio.run(ask())


def show_document(context: click.Context, document: Document | None, missing: str) -> None:
    """Print a document, or say what is missing and exit with 4."""
    if document is None:
        click.echo(missing, err=True)
        context.exit(NOT_FOUND)
    click.echo(pretty(document))


@click.group()
def turn() -> None:
    """Look at a turn."""


@turn.command("show")
@click.argument("thread_id", metavar="THREAD", callback=identifier)
@click.argument("turn_id", metavar="TURN", callback=identifier)
@click.pass_context
def show_turn(context: click.Context, thread_id: str, turn_id: str) -> None:
    """Print a turn as JSON: request, result, receipts, and its events as they went out.

    Example: intention turn show thread-7 turn-1
    """
    document = read(lambda reading: reading.turn(thread_id, turn_id))
    missing = f"thread {thread_id} has no turn {turn_id}; a request that was refused is in `intention rejected ls`"
    show_document(context, document, missing)


@click.group()
def thread() -> None:
    """Look at a thread."""


@thread.command("show")
@click.argument("thread_id", metavar="THREAD", callback=identifier)
@click.pass_context
def show_thread(context: click.Context, thread_id: str) -> None:
    """Print a thread as JSON: its head, memory, last turns and unsettled receipts.

    Example: intention thread show thread-7
    """
    document = read(lambda reading: reading.thread(thread_id))
    show_document(context, document, f"there is no thread {thread_id}")

"""`intention events`: the committed events as they are on the topic."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import assert_never

import click

from intention_kernel.cli.arguments import identifier
from intention_kernel.cli.exit_codes import FAILED
from intention_kernel.cli.output import Format, output_option, pretty, visible
from intention_kernel.cli.settings import addresses
from intention_kernel.client import Client, Event, FeedItem, Gap, Unreadable
from intention_kernel.contracts.json_codec import JsonValue


@click.command()
@click.option("--thread", "thread_id", metavar="THREAD", callback=identifier, help="Only this thread's.")
@click.option("--from-beginning", is_flag=True, help="With --follow: also what is on the topic already.")
@click.option("--follow", is_flag=True, help="Wait for new ones until interrupted.")
@output_option
@click.pass_context
def events(
    context: click.Context, thread_id: str | None, output: Format, *, from_beginning: bool, follow: bool
) -> None:
    """Print committed events, each once and in thread order.

    Without --follow: all that is on the topic now. With it: what comes from now on. A hole in a thread's sequence is
    told on stderr, and that thread's later events are held back until it is filled; a hole left at the end is exit
    code 1.

    Example: intention events --thread thread-7 --follow -o jsonl
    """
    if follow and output == "json":
        raise click.UsageError("-o json is one document and never ends with --follow: use -o jsonl")
    printer = _Printer(output)
    asyncio.run(_read(thread_id, printer, from_beginning=from_beginning or not follow, follow=follow))
    if not printer.finish():
        context.exit(FAILED)


async def _read(thread_id: str | None, printer: _Printer, *, from_beginning: bool, follow: bool) -> None:
    where = addresses(kafka=True)
    async with Client(where.kafka_bootstrap_servers, where.topic_prefix) as client:
        feed = client.events(thread_id, from_beginning=from_beginning, follow=follow)
        async with aclosing(feed):
            async for item in feed:
                printer.show(item)


class _Printer:
    """One item at a time, as soon as it is there."""

    def __init__(self, output: Format) -> None:
        self._output = output
        self._documents: list[JsonValue] = []
        self._holes: dict[str, int] = {}

    def show(self, item: FeedItem) -> None:
        """Print an event; say on stderr what is missing or unreadable."""
        match item:
            case Event():
                if self._holes.get(item.thread_id) == item.sequence:
                    del self._holes[item.thread_id]
                self._print(item)
            case Gap():
                self._holes[item.thread_id] = item.expected
                click.echo(
                    f"gap: thread {item.thread_id}: {item.expected} is missing, {item.found} came; "
                    "later events of this thread are held back",
                    err=True,
                )
            case Unreadable():
                click.echo(f"not an event: partition {item.partition}, offset {item.offset}: {item.why}", err=True)
            case never:
                assert_never(never)

    def finish(self) -> bool:
        """Print what waits for the end; False where a hole is left."""
        if self._output == "json":
            click.echo(pretty(self._documents))
        return not self._holes

    def _print(self, event: Event) -> None:
        match self._output:
            case "table":
                at = event.document.get("occurredAt")
                columns: list[JsonValue] = [at, event.thread_id, event.sequence, event.type, event.turn_id]
                click.echo("  ".join(map(visible, columns)))
            case "json":
                self._documents.append(dict(event.document))
            case "jsonl":
                click.echo(event.value)
            case "ids":
                click.echo(visible(event.document.get("id")))

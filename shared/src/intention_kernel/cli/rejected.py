"""`intention rejected ls` and `show`: requests that can never run, and turns that were given up."""

from __future__ import annotations

import re

import click

from intention_kernel.cli.output import Document, Format, output_option
from intention_kernel.cli.tables import print_list
from intention_kernel.cli.threads import read, show_document

_COLUMNS = {
    "ID": "id",
    "KIND": "kind",
    "STATE": "state",
    "THREAD": "threadId",
    "TURN": "turnId",
    "REASON": "reason",
    "DETAIL": "detail",
    "AT": "at",
}

_REJECTED = re.compile(r"([A-Za-z0-9._-]+)/([0-9]{1,9})/([0-9]{1,18})/([0-9a-f]{1,64})")
_SET_ASIDE = re.compile(r"(.+)@([0-9]{1,18})", re.DOTALL)


@click.group()
def rejected() -> None:
    """Look at rejected requests and set-aside turns."""


@rejected.command("ls")
@click.option("--limit", type=click.IntRange(1, 100_000), default=200, show_default=True, help="How many at most.")
@output_option
def list_rejected(limit: int, output: Format) -> None:
    """List what was rejected or set aside, newest first.

    Example: intention rejected ls -o jsonl
    """
    found = read(lambda reading: reading.rejected(limit + 1))
    print_list(found[:limit], output, columns=_COLUMNS, id_member="id")
    if len(found) > limit:
        click.echo(f"the newest {limit}; --limit shows more", err=True)


@rejected.command("show")
@click.argument("record_id", metavar="ID")
@click.pass_context
def show_rejected(context: click.Context, record_id: str) -> None:
    """Print one as JSON, with its record byte for byte. IDs are those of `rejected ls`.

    Example: intention rejected show turns.requests/3/41/9b2f3c0d1e4a
    """
    show_document(context, _find(record_id), f"there is no {record_id}; `intention rejected ls` lists them")


def _find(record_id: str) -> Document | None:
    request, turn = _REJECTED.fullmatch(record_id), _SET_ASIDE.fullmatch(record_id)
    if request is not None:
        topic, partition, offset, digest = request.groups()
        return read(lambda reading: reading.rejected_request(topic, int(partition), int(offset), digest))
    if turn is not None:
        thread_id, revision = turn.groups()
        return read(lambda reading: reading.set_aside_turn(thread_id, int(revision)))
    raise click.BadParameter("it is neither TOPIC/PARTITION/OFFSET/DIGEST nor THREAD@REVISION", param_hint="ID")

"""`intention rejected ls | show | redrive | drop`: requests that were refused, and turns that were given up (protocol R33).

Exit codes: 0 done, 2 usage, 4 no such record, 5 it is redriven or dropped already, 6 refused.
"""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

import click

from intention_kernel.cli.exit_codes import CONFLICT, DENIED, NOT_FOUND
from intention_kernel.cli.output import Document, Format, output_option
from intention_kernel.cli.redrive_text import print_outcome
from intention_kernel.cli.settings import addresses
from intention_kernel.cli.tables import print_list
from intention_kernel.cli.threads import read, show_document
from intention_kernel.ids import random_id
from intention_kernel.ports.conversations import RejectedPrefix
from intention_kernel.ports.redrives import (
    DropAnswer,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RedriveRecordAnswer,
    Redrives,
    RedriveTurnAnswer,
    RejectedRef,
    Ruling,
    SetAsideRef,
    Unsendable,
    WouldRunLate,
)
from intention_kernel.postgres.redrives import open_redrives
from intention_kernel.reconciliation.given_up import ref_of

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

_Answer = TypeVar("_Answer")
_actor_option = click.option(
    "--as", "actor", metavar="NAME", default=getpass.getuser, show_default="your user name", help="Who decides."
)


@click.group()
def rejected() -> None:
    """Rejected requests and set-aside turns: look at them, redrive or drop them."""


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
    show_document(context, _find(record_id), _missing(record_id))


@rejected.command("redrive")
@click.argument("record_id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option(
    "--after-later-turns", is_flag=True, help="I know that its thread went on, and it may run after those turns."
)
@click.option("--reason", metavar="TEXT", default="", help="Why, in your words.")
@_actor_option
@output_option
def redrive(record_id: str, *, dry_run: bool, after_later_turns: bool, reason: str, actor: str, output: Format) -> None:
    """Send a set-aside turn, or a rejected record, again as it came.

    Shows the turns that its thread committed since, and the turn's receipts. Refused while nobody knows what became of one
    of them, and, where the thread went on, without --after-later-turns.

    Example: intention rejected redrive thread-7@12 --dry-run
    """
    ref, ruling = _ref(record_id), Ruling(random_id(), actor, reason)

    async def ask(redrives: Redrives) -> RedriveTurnAnswer | RedriveRecordAnswer:
        if isinstance(ref, SetAsideRef):
            return await redrives.redrive_turn(ref, ruling, after_later_turns=after_later_turns, look_only=dry_run)
        return await redrives.redrive_record(ref, ruling, look_only=dry_run)

    answer = _run(ask)
    print_outcome(record_id, answer, output, dry_run=dry_run)
    _tell(record_id, answer)


@rejected.command("drop")
@click.argument("record_id", metavar="ID")
@click.option("--reason", metavar="TEXT", required=True, help="Why, in your words.")
@_actor_option
@output_option
def drop(record_id: str, *, reason: str, actor: str, output: Format) -> None:
    """Give a set-aside turn, or a rejected record, up for ever.

    A turn that is delivered again under that id is answered as before, and runs never. Its receipts stay as they are.

    Example: intention rejected drop thread-7@12 --reason "the customer called"
    """
    ref, ruling = _ref(record_id), Ruling(random_id(), actor, reason)

    async def ask(redrives: Redrives) -> DropAnswer:
        return await (
            redrives.drop_turn(ref, ruling) if isinstance(ref, SetAsideRef) else redrives.drop_record(ref, ruling)
        )

    answer = _run(ask)
    print_outcome(record_id, answer, output)
    _tell(record_id, answer)


def _tell(record_id: str, answer: RedriveTurnAnswer | RedriveRecordAnswer | DropAnswer) -> None:
    """Say why nothing was done, where nothing was."""
    match answer:
        case NoSuchRecord():
            _fail(NOT_FOUND, _missing(record_id))
        case NotOpen(state=state):
            _fail(CONFLICT, f"{record_id} is {state} already")
        case ReceiptsOpen():
            _fail(
                DENIED,
                "refused: nobody knows what became of one of its receipts; `intention queue show` says what to do",
            )
        case WouldRunLate():
            _fail(
                DENIED, "refused: its thread went on, and it would run after those turns; --after-later-turns allows it"
            )
        case Unsendable(problem=problem):
            _fail(DENIED, f"refused: {problem}; have its producer send the request anew")


def _ref(record_id: str) -> SetAsideRef | RejectedRef:
    ref = _named(record_id)
    if isinstance(ref, SetAsideRef):
        return ref
    document = _find(record_id)
    if document is None:
        _fail(NOT_FOUND, _missing(record_id))
    return RejectedRef(ref.topic, ref.partition, ref.offset, bytes.fromhex(str(document["digest"])))


def _named(record_id: str) -> SetAsideRef | RejectedPrefix:
    ref = ref_of(record_id)
    if ref is None:
        raise click.BadParameter("it is neither TOPIC/PARTITION/OFFSET/DIGEST nor THREAD@REVISION", param_hint="ID")
    return ref


def _missing(record_id: str) -> str:
    return f"there is no {record_id}; `intention rejected ls` lists them"


def _run(work: Callable[[Redrives], Awaitable[_Answer]]) -> _Answer:
    async def connected() -> _Answer:
        async with open_redrives(addresses(database=True).database_url) as redrives:
            return await work(redrives)

    return asyncio.run(connected())


def _fail(code: int, message: str) -> NoReturn:
    click.echo(message, err=True)
    click.get_current_context().exit(code)


def _find(record_id: str) -> Document | None:
    ref = _named(record_id)
    if isinstance(ref, SetAsideRef):
        return read(lambda reading: reading.set_aside_turn(ref.thread_id, ref.revision))
    return read(lambda reading: reading.rejected_request(ref.topic, ref.partition, ref.offset, ref.digest))

"""`intention queue claim | release | snooze | comment | evidence | probe`: work before a decision (interface 4).

Exit codes: 0 done, 2 usage, 4 no such receipt, 5 another person has it or worked on it, 6 not possible now.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import click

from intention_kernel.cli.exit_codes import CONFLICT, DENIED, USAGE
from intention_kernel.cli.queue_running import actor_option, fail, fail_held, fail_not_found, run, table_or_json, text
from intention_kernel.cli.queue_text import moment
from intention_kernel.ports.queue_work import Held, NoteKind
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.queue import Invalid, NotFound, VersionChanged

_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

_receipt = click.argument("receipt_id", metavar="RECEIPT")
_version = click.option(
    "--expected-version",
    type=int,
    metavar="N",
    help="The version of the work that you were shown; by default as it is.",
)
_operation = click.option(
    "--operation-id", metavar="ID", help="The same id again is the same operation; by default a new one."
)


class Span(click.ParamType[float]):
    """`90s`, `15m`, `2h`, `3d` as seconds."""

    name = "span"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _SPAN.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not a number with s, m, h or d, as in 2h", param, ctx)
        return float(int(found[1]) * _SECONDS[found[2]])


@click.command("claim")
@_receipt
@click.option(
    "--for", "seconds", type=Span(), default="15m", show_default=True, help="How long, as in 90s, 15m, 2h, 1d."
)
@click.option("--takeover", "reason", metavar="REASON", help="Also where another person has it; they can read why.")
@actor_option
@_version
@_operation
@table_or_json
def claim(
    receipt_id: str,
    *,
    seconds: float,
    reason: str | None,
    actor: str,
    expected_version: int | None,
    operation_id: str | None,
    output: str,
) -> None:
    """Work on a receipt alone for a while; nobody else decides it meanwhile. Once more makes it longer.

    Example: intention queue claim 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --for 30m
    """
    task = work.Task(receipt_id, actor, expected_version, operation_id)
    if reason is None:
        answer = run(lambda store, _: work.claim(store, task, seconds))
    else:
        answer = run(lambda store, _: work.takeover(store, task, reason, seconds))
    _tell(answer, receipt_id, output, "yours")


@click.command("release")
@_receipt
@actor_option
@_version
@_operation
@table_or_json
def release(
    receipt_id: str, *, actor: str, expected_version: int | None, operation_id: str | None, output: str
) -> None:
    """Give a claim of yours back.

    Example: intention queue release 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """
    task = work.Task(receipt_id, actor, expected_version, operation_id)
    _tell(run(lambda store, _: work.release(store, task)), receipt_id, output, "released")


@click.command("snooze")
@_receipt
@click.option("--for", "seconds", type=Span(), help="How long, as in 2h.")
@click.option("--until-change", is_flag=True, help="Until a resolver answers something else.")
@click.option("--end", is_flag=True, help="Back into sight now.")
@click.option("--reason", metavar="TEXT", help="Why.")
@actor_option
@_version
@_operation
@table_or_json
def snooze(
    receipt_id: str,
    *,
    seconds: float | None,
    until_change: bool,
    end: bool,
    reason: str | None,
    actor: str,
    expected_version: int | None,
    operation_id: str | None,
    output: str,
) -> None:
    """Take a receipt out of sight for a while. Resolvers go on, and what contradicts the record brings it back at once.

    Example: intention queue snooze 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --for 2h --reason "the bank answers after noon"
    """
    if (seconds is not None) + until_change + end != 1:
        raise click.UsageError("say one of --for, --until-change and --end")
    task = work.Task(receipt_id, actor, expected_version, operation_id)
    if end:
        _tell(run(lambda store, _: work.wake(store, task)), receipt_id, output, "in sight again")
        return
    words = "out of sight" if seconds is not None else "out of sight until a resolver answers something else"
    _tell(run(lambda store, _: work.snooze(store, task, seconds, reason)), receipt_id, output, words)


@click.command("probe")
@_receipt
@actor_option
@_version
@_operation
@table_or_json
def probe(receipt_id: str, *, actor: str, expected_version: int | None, operation_id: str | None, output: str) -> None:
    """Have the effect's resolver look now: the reconciler does at its next round. `show` tells what it saw.

    Example: intention queue probe 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """
    task = work.Task(receipt_id, actor, expected_version, operation_id)
    answer = run(lambda store, effect_of: work.probe(store, task, effect_of))
    _tell(answer, receipt_id, output, "a reconciler looks at its next round")


@click.command("comment")
@_receipt
@click.argument("words", metavar="TEXT")
@actor_option
@_operation
@table_or_json
def comment(receipt_id: str, words: str, *, actor: str, operation_id: str | None, output: str) -> None:
    """Say something to whoever works on it next.

    Example: intention queue comment 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c "called the bank, they look into it"
    """
    task = work.Task(receipt_id, actor, None, operation_id)
    _tell_note(run(lambda store, _: work.comment(store, task, words)), receipt_id, output)


@click.command("evidence")
@_receipt
@click.option("--link", metavar="URL", help="An http or https address.")
@click.option("--ticket", metavar="TEXT", help="A ticket's number.")
@click.option("--quotation", metavar="TEXT", help="What somebody wrote, word for word.")
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file: its SHA-256 and its name are kept.",
)
@actor_option
@_operation
@table_or_json
def evidence(
    receipt_id: str, *, file: Path | None, actor: str, operation_id: str | None, output: str, **given: str | None
) -> None:
    """Keep what shows what became of the effect: one of a link, a ticket, a quotation and a file.

    Example: intention queue evidence 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --ticket OPS-7
    """
    kept = {kind: said for kind, said in given.items() if said is not None}
    if file is not None:
        kept["digest"] = work.digest_of(file.read_bytes(), file.name)
    if len(kept) != 1:
        raise click.UsageError("say one of --link, --ticket, --quotation and --file")
    [(kind, said)] = kept.items()
    task = work.Task(receipt_id, actor, None, operation_id)
    _tell_note(run(lambda store, _: work.evidence(store, task, cast("NoteKind", kind), said)), receipt_id, output)


def _tell(answer: work.WorkResult, receipt_id: str, output: str, words: str) -> None:
    match answer:
        case work.Done(version=version, until=until):
            ends = None if until is None else until.isoformat()
            document = text({"receiptId": receipt_id, "workVersion": version, "until": ends})
            ending = "" if until is None else f" until {moment(until)}"
            click.echo(document if output == "json" else f"{words}{ending}")
        case NotFound():
            fail_not_found(receipt_id)
        case Held():
            fail_held(answer, receipt_id)
        case VersionChanged(why=why):
            fail(CONFLICT, why)
        case work.NotPossible(why=why):
            fail(DENIED, why)
        case Invalid(problem=problem):
            fail(USAGE, problem)


def _tell_note(answer: work.NoteResult, receipt_id: str, output: str) -> None:
    match answer:
        case work.Kept(note_id=note_id):
            click.echo(text({"receiptId": receipt_id, "noteId": note_id}) if output == "json" else "kept")
        case NotFound():
            fail_not_found(receipt_id)
        case work.NotPossible(why=why):
            fail(DENIED, why)
        case Invalid(problem=problem):
            fail(USAGE, problem)


COMMANDS = (claim, release, snooze, comment, evidence, probe)
"""What the group `queue` has of this module."""

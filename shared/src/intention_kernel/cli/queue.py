"""`intention queue ls | show | resolve | contest` beside queue_work and queue_approving: the operator queue (interface 4).

Exit codes: 0 done, 1 failed, 2 usage, 4 no such receipt, 5 the receipt changed or another has it, 6 refused by protocol R22,
or it needs a second person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from intention_kernel.cli import queue_approving, queue_work
from intention_kernel.cli.arguments import json_or_file
from intention_kernel.cli.exit_codes import CONFLICT, DENIED, USAGE
from intention_kernel.cli.output import Format, output_option
from intention_kernel.cli.queue_running import actor_option, fail, fail_held, fail_not_found, run, table_or_json, text
from intention_kernel.cli.queue_text import consequence_lines, plain, print_items, shown_lines
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ports.approvals import OtherProposal
from intention_kernel.ports.operator_queue import QueueItem
from intention_kernel.ports.queue_work import Held
from intention_kernel.reconciliation import contest as contests
from intention_kernel.reconciliation import queue as operations
from intention_kernel.reconciliation import showing
from intention_kernel.reconciliation.document import (
    consequences_document,
    item_document,
    shown_document,
    verdict_document,
)
from intention_kernel.reconciliation.filtering import FilterProblem
from intention_kernel.reconciliation.listing import BadCursor, Page, list_items

_SETTLED = {
    "applied": "settled as applied; the turns that wait for it go on with this result",
    "not_applied": "settled as not applied; the turns that wait for it go on, and their program may try it again",
}
_CONTESTED = (
    "contested: no attempt is made and its value is not handed out until another person decides, with "
    "--applied or --not-applied and --evidence"
)


@click.group()
def queue() -> None:
    """Receipts whose outcome nobody knows, and what to do about them."""


for _command in (*queue_work.COMMANDS, *queue_approving.COMMANDS):
    queue.add_command(_command)


@queue.command("ls")
@click.argument("query", metavar="[QUERY]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many at most.")
@click.option("--cursor", metavar="TEXT", help="Where the last page ended, as it said.")
@actor_option
@output_option
def ls(*, query: tuple[str, ...], limit: int, cursor: str | None, actor: str, output: Format) -> None:
    """List what needs a person: contradicted receipts on top, then what most turns wait for, then whose provider forgets
    the key first, then the oldest. What is done or snoozed is left out, unless the query names it.

    A query is terms that all must hold: status:uncertain provider:stripe owner:me age>2h amount>100 -currency:EUR "free
    words". Quote it for the shell, or write `--` before a term that begins with a minus.

    Example: intention queue ls 'status:uncertain age>2h owner:none' -o ids
    """
    asked = " ".join(query)
    match run(lambda store, _: list_items(store, asked, reader=actor, cursor=cursor, limit=limit)):
        case FilterProblem() as problem:
            fail(USAGE, f"{asked}\n{' ' * problem.position}^ {problem}")
        case BadCursor():
            fail(USAGE, "--cursor: it is none that a page of this version ended with")
        case Page(items=items, cursor=following):
            _print_items(items, output)
            if following is not None:
                click.echo(f"the first {limit}; --limit shows more, --cursor {following} the next", err=True)


def _print_items(items: Sequence[QueueItem], output: Format) -> None:
    if output == "table":
        print_items(items)
    elif output == "json":
        click.echo(text([item_document(item) for item in items]))
    else:
        for item in items:
            click.echo(item.receipt_id if output == "ids" else dumps(item_document(item)).decode())


@queue.command("show")
@click.argument("receipt_id", metavar="RECEIPT")
@table_or_json
def show(receipt_id: str, output: str) -> None:
    """Show a receipt: its history, what was seen, who waits, what may be decided and why.

    Example: intention queue show 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """
    shown = run(lambda store, effect_of: showing.show(store, receipt_id, effect_of))
    if shown is None:
        fail_not_found(receipt_id)
    if output == "json":
        click.echo(text(shown_document(shown)))
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
@actor_option
@click.option(
    "--expected-version", type=int, metavar="N", help="The version that you were shown; by default the one now."
)
@click.option("--dry-run", is_flag=True, help="Only say what would happen; nothing is written.")
@table_or_json
def resolve(
    receipt_id: str, *, applied: bool | None, value: str | None, dry_run: bool, output: str, **given: object
) -> None:
    """Decide what became of an effect. The turns that wait for it go on by themselves.

    `intention queue show` says what may be decided now. "Not applied" is refused while the call may still take effect. Where a
    rule asks for a second person it is proposed instead, and the exit code is 6.

    Example: intention queue resolve 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --applied --value '{"charged": 500}' --reason "it is
    in the bank's list"
    """
    if applied is None:
        raise click.UsageError("say --applied or --not-applied")
    if applied and value is None:
        raise click.UsageError("--applied needs --value, the effect's result")
    decision = _decision(receipt_id, value, given, applied=applied)
    _tell(
        run(lambda store, effect_of: operations.resolve(store, decision, effect_of, dry_run=dry_run)), decision, output
    )


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
@actor_option
@click.option(
    "--expected-version", type=int, metavar="N", help="The version that you were shown; by default the one now."
)
@table_or_json
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
    answer = run(lambda store, effect_of: operations.resolve(store, decision, effect_of, contested=True))
    _tell(answer, decision, output)


def _tell_contest(receipt_id: str, value: str | None, output: str, given: Mapping[str, object]) -> None:
    """Open the contest, and say what became of it."""
    if value is not None or any(given[name] for name in ("reference", "workers_stopped", "evidence")):
        raise click.UsageError("say --applied or --not-applied, too: those options belong to a decision")
    doubt = contests.Doubt(
        receipt_id,
        **{name: given[name] for name in ("reason", "actor", "expected_version")},  # type: ignore[arg-type]  # click's
    )
    match run(lambda store, _: contests.contest(store, doubt)):
        case contests.ContestOpened(version=version):
            document: JsonValue = {"receiptId": receipt_id, "contested": True, "version": version}
            click.echo(text(document) if output == "json" else _CONTESTED)
        case operations.NotFound():
            fail_not_found(receipt_id)
        case Held() as held:
            fail_held(held, receipt_id)
        case operations.VersionChanged(why=why):
            fail(CONFLICT, f"nothing was contested: {why}; `intention queue show {receipt_id}` shows it")
        case operations.Invalid(problem=problem):
            fail(USAGE, problem)


def _decision(receipt_id: str, value: str | None, given: Mapping[str, object], *, applied: bool) -> operations.Decision:
    return operations.Decision(
        receipt_id=receipt_id,
        resolution="applied" if applied else "not_applied",
        value=None if value is None else json_or_file("--value", value),
        **given,  # type: ignore[arg-type]  # click made them of the declared options
    )


def _tell(answer: operations.ResolveAnswer, decision: operations.Decision, output: str) -> None:
    show_it = f"`intention queue show {decision.receipt_id}` shows it"
    match answer:
        case operations.Resolved(settlement=settlement, version=version):
            resolution = decision.resolution
            document: JsonValue = {
                "receiptId": decision.receipt_id,
                "resolution": resolution,
                "settlement": settlement,
                "version": version,
            }
            click.echo(text(document) if output == "json" else _SETTLED[resolution])
        case operations.WouldResolve(consequences=follows):
            words = "\n".join(("it would be settled", *consequence_lines(follows)))
            click.echo(text(consequences_document(follows)) if output == "json" else words)
        case operations.NeedsSecondPerson(proposal=proposal):
            queue_approving.fail_second_person(proposal, output)
        case operations.WouldPropose():
            queue_approving.fail_would_propose(answer, output)
        case OtherProposal(proposer=proposer):
            fail(CONFLICT, f"another decision waits already, proposed by {proposer}; {show_it}")
        case operations.NotFound():
            fail_not_found(decision.receipt_id)
        case Held() as held:
            fail_held(held, decision.receipt_id)
        case operations.VersionChanged(why=why):
            fail(CONFLICT, f"nothing was settled: {why}; {show_it}")
        case operations.Invalid(problem=problem):
            fail(USAGE, problem)
        case operations.Refused(verdict=verdict):
            if output == "json":
                click.echo(text(verdict_document(verdict)))
            fail(DENIED, f"not admitted: {verdict.reason}")

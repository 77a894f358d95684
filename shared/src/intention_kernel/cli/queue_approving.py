"""`intention queue approve | reject | withdraw | proposals`: the second person's part of the queue (interface 4).

Exit codes: 0 done, 2 usage, 4 no such receipt, 5 the receipt or what is proposed changed, or another has it, 6 refused by a rule.
"""

from __future__ import annotations

from typing import NoReturn

import click

from intention_kernel.cli.exit_codes import CONFLICT, DENIED, USAGE
from intention_kernel.cli.output import Document, Format, output_option
from intention_kernel.cli.queue_running import actor_option, fail, fail_held, fail_not_found, run, table_or_json, text
from intention_kernel.cli.queue_text import consequence_lines, moment, plain, proposal_lines
from intention_kernel.cli.tables import print_list
from intention_kernel.ports.approvals import (
    Closed,
    DecidingQueue,
    HashDiffers,
    NoSuchProposal,
    NotOpen,
    NotProposer,
    Proposal,
    SelfApproval,
)
from intention_kernel.ports.queue_work import Held
from intention_kernel.reconciliation import approving
from intention_kernel.reconciliation.document import consequences_document, proposal_document
from intention_kernel.reconciliation.listing import EVERYTHING
from intention_kernel.reconciliation.queue import (
    Invalid,
    NotFound,
    Refused,
    Resolved,
    VersionChanged,
    WouldPropose,
)
from intention_kernel.reconciliation.workbench import EffectOf

_receipt = click.argument("receipt_id", metavar="RECEIPT")
_COLUMNS = {
    "RECEIPT": "receiptId",
    "PROPOSED": "resolution",
    "BY": "proposer",
    "TITLE": "title",
    "AMOUNT": "amount",
    "CURRENCY": "currency",
    "RULES": "rules",
    "EXPIRES": "expiresAt",
    "HASH": "decisionHash",
}


@click.command("approve")
@_receipt
@click.option(
    "--hash", "decision_hash", metavar="H", required=True, help="The hash of what you approve, as `show` has it."
)
@click.option("--reason", metavar="TEXT", help="Why, in your words.")
@actor_option
@table_or_json
def approve(receipt_id: str, *, decision_hash: str, reason: str | None, actor: str, output: str) -> None:
    """Approve what another person proposes about a receipt. It is settled as it was proposed, if nothing has changed.

    Example: intention queue approve 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --hash 4f1c… --as ben
    """

    async def approved(store: DecidingQueue, effect_of: EffectOf | None) -> approving.ApproveResult:
        proposal = await _proposal(store, receipt_id)
        return await approving.approve(store, proposal.proposal_id, decision_hash, actor, reason, effect_of)

    match run(approved):
        case Resolved(settlement=settlement, version=version):
            document = text({"receiptId": receipt_id, "settlement": settlement, "version": version})
            click.echo(document if output == "json" else "approved and settled; the turns that wait for it go on")
        case HashDiffers() | NotOpen() | NoSuchProposal() as problem:
            fail(CONFLICT, approving.closing_problem(problem))
        case SelfApproval() as problem:
            fail(DENIED, approving.closing_problem(problem))
        case VersionChanged(why=why):
            fail(CONFLICT, f"nothing was settled: {why}; what was proposed cannot be approved any more")
        case Held() as held:
            fail_held(held, receipt_id)
        case Refused(verdict=verdict):
            fail(DENIED, f"not admitted now: {verdict.reason}; the proposal stays open")
        case NotFound():
            fail_not_found(receipt_id)
        case Invalid(problem=said):
            fail(USAGE, said)


@click.command("reject")
@_receipt
@click.option("--reason", metavar="TEXT", required=True, help="Why, in your words.")
@actor_option
def reject(receipt_id: str, *, reason: str, actor: str) -> None:
    """Reject what is proposed about a receipt. Nothing is decided; it waits as before.

    Example: intention queue reject 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c --reason "the bank's list is of yesterday"
    """

    async def rejected(store: DecidingQueue, _: EffectOf | None) -> approving.CloseResult:
        return await approving.reject(store, (await _proposal(store, receipt_id)).proposal_id, actor, reason)

    _tell_closed(run(rejected))


@click.command("withdraw")
@_receipt
@click.option("--reason", metavar="TEXT", help="Why, in your words.")
@actor_option
def withdraw(receipt_id: str, *, reason: str | None, actor: str) -> None:
    """Take back what you proposed about a receipt.

    Example: intention queue withdraw 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """

    async def withdrawn(store: DecidingQueue, _: EffectOf | None) -> approving.CloseResult:
        return await approving.withdraw(store, (await _proposal(store, receipt_id)).proposal_id, actor, reason)

    _tell_closed(run(withdrawn))


@click.command("proposals")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many at most.")
@output_option
def proposals(*, limit: int, output: Format) -> None:
    """List what waits for a second person, the next to expire first. `-o ids` are receipts' ids.

    Example: intention queue proposals -o json
    """
    found = run(lambda store, _: store.proposals(EVERYTHING, limit))
    documents: list[Document] = [proposal_document(proposal) for proposal in found]
    print_list(documents, output, columns=_COLUMNS, id_member="receiptId")


async def _proposal(store: DecidingQueue, receipt_id: str) -> Proposal:
    found = await store.proposal_of(receipt_id)
    if found is not None:
        return found
    if await store.case(receipt_id) is None:
        fail_not_found(receipt_id)
    fail(CONFLICT, approving.closing_problem(NoSuchProposal()))


def _tell_closed(answer: approving.CloseResult) -> None:
    match answer:
        case Closed(proposal=proposal):
            click.echo(proposal.state)
        case NotOpen() | NoSuchProposal() as problem:
            fail(CONFLICT, approving.closing_problem(problem))
        case NotProposer() as problem:
            fail(DENIED, approving.closing_problem(problem))
        case Invalid(problem=said):
            fail(USAGE, said)


def fail_second_person(proposal: Proposal, output: str) -> NoReturn:
    """Exit code 6: a decision was proposed instead of made; its id and its hash are on stdout."""
    if output == "json":
        click.echo(text(proposal_document(proposal)))
    else:
        click.echo("\n".join(map(plain, proposal_lines(proposal))))
    how = (
        f"`intention queue approve {proposal.receipt_id} --hash {proposal.decision_hash}` by another person settles it"
    )
    fail(DENIED, f"it needs a second person and is {proposal.state} until {moment(proposal.expires_at)}: {how}")


def fail_would_propose(answer: WouldPropose, output: str) -> NoReturn:
    """Exit code 6, of a dry run."""
    rules = ", ".join(answer.rules)
    if output == "json":
        follows = consequences_document(answer.consequences)
        click.echo(text({**follows, "rules": list(answer.rules), "decisionHash": answer.decision_hash}))
    else:
        lines = (f"it would be proposed, with hash {answer.decision_hash}", *consequence_lines(answer.consequences))
        click.echo("\n".join(lines))
    fail(DENIED, f"it would need a second person: {rules}")


COMMANDS = (approve, reject, withdraw, proposals)
"""What the group `queue` has of this module."""

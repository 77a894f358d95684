"""`intention receipts ls` and `show`."""

from __future__ import annotations

import click

from intention_kernel.cli.output import Format, output_option
from intention_kernel.cli.tables import print_list
from intention_kernel.cli.threads import read, show_document

_COLUMNS = {
    "RECEIPT": "receiptId",
    "STATE": "state",
    "ATTEMPT": "attempt",
    "THREAD": "threadId",
    "EFFECT KEY": "effectKey",
    "TITLE": "title",
    "AMOUNT": "amount",
    "CURRENCY": "currency",
    "PREPARED": "preparedAt",
}


@click.group()
def receipts() -> None:
    """Look at receipts, the records of external effects."""


@receipts.command("ls")
@click.option(
    "--state", type=click.Choice(["prepared", "completed", "failed", "uncertain"]), help="Only in this state."
)
@click.option("--limit", type=click.IntRange(1, 100_000), default=200, show_default=True, help="How many at most.")
@output_option
def list_receipts(state: str | None, limit: int, output: Format) -> None:
    """List receipts by thread and effect key.

    Example: intention receipts ls --state uncertain -o ids
    """
    found = read(lambda reading: reading.receipts(state, limit + 1))
    print_list(found[:limit], output, columns=_COLUMNS, id_member="receiptId")
    if len(found) > limit:
        click.echo(f"the first {limit}; --limit shows more", err=True)


@receipts.command("show")
@click.argument("receipt_id", metavar="ID")
@click.pass_context
def show_receipt(context: click.Context, receipt_id: str) -> None:
    """Print a receipt as JSON: payload, value, history, and the turns that wait for it.

    Example: intention receipts show 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """
    known = len(receipt_id) == 32 and receipt_id.isascii() and receipt_id.isalnum()
    document = read(lambda reading: reading.receipt(receipt_id)) if known else None
    show_document(context, document, f"there is no receipt {receipt_id}; `intention receipts ls` lists them")

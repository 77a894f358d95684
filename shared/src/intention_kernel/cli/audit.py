"""`intention audit ls`: who did what (interface 4)."""

from __future__ import annotations

import click

from intention_kernel.cli.output import Document, Format, output_option
from intention_kernel.cli.queue_running import run
from intention_kernel.cli.tables import print_list
from intention_kernel.ports.queue_work import AuditQuery
from intention_kernel.reconciliation.document import audit_document

_COLUMNS = {
    "LINE": "id",
    "AT": "at",
    "ACTOR": "actor",
    "ACTION": "action",
    "THREAD": "threadId",
    "EFFECT KEY": "effectKey",
    "DETAIL": "detail",
}


@click.group()
def audit() -> None:
    """Who decided, claimed, redrove or deleted what."""


@audit.command("ls")
@click.option("--receipt", "receipt_id", metavar="RECEIPT", help="Only lines of this receipt.")
@click.option("--actor", metavar="NAME", help="Only what this person or resolver did.")
@click.option("--action", metavar="WORD", help="Only this action, such as settle or claim.")
@click.option("--before", type=int, metavar="LINE", help="Only lines older than this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many at most.")
@output_option
def ls(
    *, receipt_id: str | None, actor: str | None, action: str | None, before: int | None, limit: int, output: Format
) -> None:
    """List the audit log, the newest line first. Nothing in it is ever changed.

    Example: intention audit ls --actor ana --limit 20
    """
    query = AuditQuery(receipt_id, actor, action, before, limit + 1)
    lines = run(lambda store, _: store.audit(query))
    documents: list[Document] = [audit_document(line) for line in lines[:limit]]
    print_list(documents, output, columns=_COLUMNS, id_member="id")
    if len(lines) > limit:
        click.echo(f"the first {limit}; --before {lines[limit - 1].id} shows the next", err=True)

"""What became of a redrive or a drop, in people's words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import click

from intention_kernel.cli.output import Format, pretty, visible
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ports.redrives import ReceiptsOpen, RedriveView, TurnRedriven, WouldRunLate
from intention_kernel.reconciliation.given_up import Outcome, outcome_document, outcome_of

_SAID = {
    "redriven": "its request is on its way again",
    "would_redrive": "nothing was changed; without --dry-run its request would be on its way",
    "dropped": "given up for ever",
}


def print_outcome(record_id: str, answer: Outcome, output: Format, *, dry_run: bool = False) -> None:
    """On stdout; why nothing was done is the caller's to say."""
    outcome = outcome_of(answer, dry_run=dry_run)
    if output == "ids":
        if outcome in ("redriven", "dropped"):
            click.echo(visible(record_id))
    elif output == "table":
        for line in _lines(answer, outcome):
            click.echo(line)
    else:
        document = outcome_document(record_id, answer, dry_run=dry_run)
        click.echo(pretty(document) if output == "json" else dumps(document))


def _lines(answer: Outcome, outcome: str) -> Iterator[str]:
    if isinstance(answer, TurnRedriven | ReceiptsOpen | WouldRunLate):
        yield from _view_lines(answer.view)
    if outcome in _SAID:
        yield _SAID[outcome]


def _view_lines(view: RedriveView) -> Iterator[str]:
    yield f"turn {visible(view.turn_id)}"
    yield f"later turns: {view.later_count or 'none'}"
    yield from (f"  {visible(turn_id)}" for turn_id in view.later_turns)
    if view.later_count > len(view.later_turns):
        yield f"  and {view.later_count - len(view.later_turns)} more"
    if view.is_rebased:
        yield "the thread's memory changed since: of what the turn recorded it keeps only which effects it has to meet"
    yield f"receipts: {len(view.receipts) or 'none'}"
    for receipt in view.receipts:
        flag = ", CONTRADICTED" if receipt.contradicted else ""
        yield f"  {receipt.receipt_id} {receipt.state}{flag} {visible(receipt.effect_key)}"

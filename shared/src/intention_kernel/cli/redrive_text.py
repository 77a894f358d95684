"""What became of a redrive or a drop, in people's words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import click

from intention_kernel.cli.output import Document, Format, pretty, visible
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ports.redrives import (
    DropAnswer,
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    RedriveRecordAnswer,
    RedriveTurnAnswer,
    RedriveView,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
)

Answer = RedriveTurnAnswer | RedriveRecordAnswer | DropAnswer

_OUTCOMES: dict[type[Answer], str] = {
    TurnRedriven: "redriven",
    RecordRedriven: "redriven",
    Dropped: "dropped",
    ReceiptsOpen: "receipts_open",
    WouldRunLate: "later_turns",
    Unsendable: "unsendable",
    NotOpen: "not_open",
    NoSuchRecord: "not_found",
}
_SAID = {
    "redriven": "its request is on its way again",
    "would_redrive": "nothing was changed; without --dry-run its request would be on its way",
    "dropped": "given up for ever",
}


def print_outcome(record_id: str, answer: Answer, output: Format, *, dry_run: bool = False) -> None:
    """On stdout; why nothing was done is the caller's to say."""
    outcome = _OUTCOMES[type(answer)]
    if outcome == "redriven" and dry_run:
        outcome = "would_redrive"
    if output == "ids":
        if outcome in ("redriven", "dropped"):
            click.echo(visible(record_id))
    elif output == "table":
        for line in _lines(answer, outcome):
            click.echo(line)
    else:
        document = _document(record_id, answer, outcome)
        click.echo(pretty(document) if output == "json" else dumps(document))


def _lines(answer: Answer, outcome: str) -> Iterator[str]:
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


def _document(record_id: str, answer: Answer, outcome: str) -> Document:
    document: Document = {"id": record_id, "outcome": outcome}
    if isinstance(answer, NotOpen):
        document["state"] = answer.state
    elif isinstance(answer, Unsendable):
        document["problem"] = answer.problem
    elif isinstance(answer, TurnRedriven | ReceiptsOpen | WouldRunLate):
        document |= _view_document(answer.view)
    return document


def _view_document(view: RedriveView) -> Document:
    return {
        "turnId": view.turn_id,
        "laterCount": view.later_count,
        "laterTurns": list(view.later_turns),
        "memoryChanged": view.is_rebased,
        "receipts": [
            {
                "receiptId": receipt.receipt_id,
                "effectKey": receipt.effect_key,
                "state": receipt.state,
                "contradicted": receipt.contradicted,
            }
            for receipt in view.receipts
        ],
    }

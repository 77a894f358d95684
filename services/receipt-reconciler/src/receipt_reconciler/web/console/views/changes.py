"""What happened to a receipt since somebody looked at it."""

from __future__ import annotations

from intention_kernel.reconciliation.showing import Shown

from receipt_reconciler.web.console.views.times import when
from receipt_reconciler.web.console.views.wording import cause_words, receipt_badge


def changes_since(shown: Shown, seen_version: int | None) -> tuple[str, ...]:
    """One sentence for each version that the reader has not seen, the oldest first."""
    if seen_version is None:
        return ()
    case, now = shown.case, shown.case.open.looked_at
    decided = {made.settlement: made for made in case.decisions}
    sentences = []
    for move in case.transitions:
        if move.version > seen_version:
            state = receipt_badge(move.state, contradicted=False).word
            sentences.append(f"Version {move.version}, {when(move.at, now).words}: {state}; {cause_words(move.cause)}.")
    last = decided.get(case.open.receipt.settlements)
    if sentences and last is not None:
        sentences.append(f"Decided by {last.actor}, {when(last.at, now).words}: {last.resolution.replace('_', ' ')}.")
    return tuple(sentences)

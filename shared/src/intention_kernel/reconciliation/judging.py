"""Pure: what a person may decide of a receipt as it was read (protocol R22, R25)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.reconciliation.admissible import Look, Terms, Verdict, not_applied


def verdict(case: ReceiptCase, terms: Terms) -> Verdict:
    """On a person's word that the effect is not there, with what has been stated so far."""
    now = case.open.looked_at
    look = Look(now, _closed(case, terms), by_person=True, workers_stopped_at=case.workers_stopped_at)
    return not_applied(case.open.attempts, terms, look, now)


def with_workers_stopped(case: ReceiptCase) -> ReceiptCase:
    """As if a person had just said that the workers are stopped; said before, it stands."""
    just_now = case.workers_stopped_at or case.open.looked_at - timedelta.resolution
    return replace(case, workers_stopped_at=just_now)


def not_decidable(case: ReceiptCase) -> str | None:
    """Why nobody decides what became of it now; None where a person may."""
    receipt = case.open.receipt
    if receipt.contradicted:
        return "what is recorded is in doubt; only a contest with evidence, decided by a second person, moves it"
    if receipt.state != "uncertain":
        return f"the receipt is {receipt.state}"
    return None


def not_contested(case: ReceiptCase) -> str | None:
    """Why there is no contest to decide; None where there is one."""
    receipt = case.open.receipt
    if not receipt.contradicted:
        return "nothing contests what is recorded"
    return "an attempt is under way" if receipt.state == "prepared" else None


def _closed(case: ReceiptCase, terms: Terms) -> bool:
    """A lookup of this attempt found nothing, and closed the key for ever by that (R22 b)."""
    version = case.open.receipt.version
    absent = (seen for seen in case.observations if seen.source == "lookup" and seen.finding == "absent")
    return terms.lookup_closes_key and any(seen.receipt_version == version for seen in absent)

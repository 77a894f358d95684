"""The reconciler's side of a receipt: scan and settle (protocol 4)."""

from __future__ import annotations

from typing import Literal

from intention_kernel.memory.effects import settle_receipt
from intention_kernel.memory.rows import ReceiptRow
from intention_kernel.memory.tables import Tables, move_receipt, open_item


def scan(tables: Tables, limit: int) -> int:
    """Up to `limit` receipts that need attention: prepared ones without their lease become uncertain, and every
    uncertain or contradicted one gets its item (protocol R27). Returns how many had none."""
    found = 0
    for (thread_id, _), receipt in sorted(tables.receipts.items()):
        if found == limit:
            break
        if receipt.state == "prepared" and not _attempt_is_live(tables, receipt):
            move_receipt(tables, receipt, "uncertain", "scan")
        needs = receipt.state == "uncertain" or receipt.contradicted
        if needs and (thread_id, receipt.effect_key, receipt.settlements + 1, "effect") not in tables.items:
            open_item(tables, receipt, "contradicted" if receipt.contradicted else "uncertain")
            found += 1
    return found


def settle(
    tables: Tables,
    receipt_id: str,
    seen_version: int,
    outcome: Literal["completed", "failed"],
    value: bytes | None,
    reference: str | None,
) -> bool:
    """Move an uncertain receipt on evidence, if it is as it was when the evidence was gathered (protocol R23).

    Whether "not applied" is admitted is decided before (protocol R22). Raises KeyError for an unknown receipt.
    """
    receipt = next((row for row in tables.receipts.values() if row.receipt_id == receipt_id), None)
    if receipt is None:
        raise KeyError(receipt_id)
    if receipt.state != "uncertain" or receipt.version != seen_version or receipt.contradicted:
        return False
    receipt.reference = reference
    settle_receipt(tables, receipt, outcome, value, "settle")
    return True


def _attempt_is_live(tables: Tables, receipt: ReceiptRow) -> bool:
    """The attempt that prepared it holds the thread, by the live lease on the head (protocol R27)."""
    head = tables.heads[receipt.thread_id]
    return head.fence == receipt.fence and tables.lease_is_live(head)

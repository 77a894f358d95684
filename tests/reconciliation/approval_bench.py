"""Receipts that need a second person, and the people who decide about them."""

from __future__ import annotations

from typing import Any

from intention_kernel.ports.approvals import ApprovalRule, Proposal
from intention_kernel.reconciliation.queue import Decision, NeedsSecondPerson, resolve

from tests.reconciliation.bench import Ledger

VALUE: dict[str, Any] = {"charge": "ch-9"}
EVERYTHING = ApprovalRule("everything")


def applied(receipt: str, actor: str = "ana", **more: Any) -> Decision:
    """What `actor` concludes: it went through."""
    return Decision(
        receipt,
        "applied",
        "seen at the provider",
        actor,
        **{"value": VALUE, "reference": "p-1", "evidence": "e"} | more,
    )


def not_applied(receipt: str, actor: str = "ana", **more: Any) -> Decision:
    """What `actor` concludes: it did not."""
    return Decision(receipt, "not_applied", "not at the provider", actor, **more)


async def waiting(db: Ledger, rule: ApprovalRule = EVERYTHING, **more: Any) -> str:
    """A receipt with its item, any decision about which needs a second person."""
    await db.receipts.set_rule(rule, "root")
    receipt = await db.uncertain(**{"returned": True} | more)
    await db.receipts.scan(10)
    return receipt


async def proposed(db: Ledger, decision: Decision) -> Proposal:
    """What became a proposal."""
    answer = await resolve(db.receipts, decision)
    assert isinstance(answer, NeedsSecondPerson), answer
    return answer.proposal


async def lines(db: Ledger) -> list[tuple[str, str]]:
    """Who did what, but for the rules."""
    return [(line["actor"], line["action"]) for line in await db.all("audit_log") if line["action"] != "set_rule"]

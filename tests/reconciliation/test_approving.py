"""Four eyes: what one person proposes, another settles by its hash, exactly once and exactly so (design 7)."""

from __future__ import annotations

from intention_kernel.reconciliation import approving
from intention_kernel.reconciliation.queue import (
    Resolved,
    resolve,
)

from tests.reconciliation.approval_bench import VALUE, applied, lines, proposed, waiting
from tests.reconciliation.bench import Ledger, ledger


async def approve(db: Ledger, proposal: object, actor: str = "ben", **more: object) -> approving.ApproveResult:
    """By the hash that the proposal has."""
    return await approving.approve(
        db.receipts,
        proposal.proposal_id,  # type: ignore[attr-defined]
        proposal.decision_hash,  # type: ignore[attr-defined]
        actor,
        **more,  # type: ignore[arg-type]
    )


async def test_what_one_proposes_another_settles_in_one_transaction(fresh_database: str) -> None:
    """I-330: as it was proposed, as the proposer's decision; the audit log has both."""
    async with ledger(fresh_database) as db:
        receipt = await waiting(db)
        proposal = await proposed(db, applied(receipt, reason_code="provider_confirms"))
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert await db.all("decisions") == []
        assert await db.outbox("turns.requests") == []
        answer = await approve(db, proposal, reason="it is there")
        assert answer == Resolved(1, 3)
        assert (await db.value(receipt), (await db.receipt(receipt))["reference"]) == (VALUE, "p-1")
        [made] = await db.all("decisions")
        assert (made["actor"], made["reason"], made["evidence"], made["reason_code"]) == (
            "ana",
            b"seen at the provider",
            b"e",
            "provider_confirms",
        )
        assert await lines(db) == [("ana", "propose"), ("ana", "settle"), ("ben", "approve")]
        assert len(await db.outbox("turns.requests")) == 1
        kept = await db.receipts.proposal(proposal.proposal_id)
        assert kept is not None
        assert (kept.state, kept.closed_by, kept.closing_reason) == ("approved", "ben", "it is there")
        writers = await db.connection.fetch(
            "select xmin::text from proposals union select xmin::text from decisions"
            " union select xmin::text from receipts union select xmin::text from audit_log where action = 'approve'"
        )
        assert len(writers) == 1
        assert await resolve(db.receipts, applied(receipt, reason_code="provider_confirms")) == Resolved(1, 3)

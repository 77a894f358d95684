"""The Approvals port in Postgres: one function call writes, which may be repeated (protocol R11)."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from intention_kernel.ids import random_id
from intention_kernel.ports.approvals import (
    ApprovalRule,
    ApproveAnswer,
    CloseAnswer,
    Closed,
    NewProposal,
    NoSuchProposal,
    NotOpen,
    NotProposer,
    Proposal,
    ProposeAnswer,
    Proposed,
)
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.receipt_ledger import Unknown
from intention_kernel.postgres import approval_rows as rows
from intention_kernel.postgres.identity_rows import reach
from intention_kernel.postgres.reconciliation import PostgresReceipts
from intention_kernel.postgres.text import clean, clean_or_none


class PostgresApprovals(PostgresReceipts):
    """Rules and proposals, over the pool of the receipts."""

    async def rules(self) -> tuple[ApprovalRule, ...]:
        return tuple(map(rows.rule, await self._fetch("approval_rules")))

    async def set_rule(self, rule: ApprovalRule, actor: str) -> None:
        await self._fetch("approval_rule_set", *rows.rule_columns(rule), clean(actor), random_id().hex)

    async def propose(self, proposal: NewProposal, *, look_only: bool) -> ProposeAnswer:
        [row] = await self._fetch("approval_propose", *rows.proposal_columns(proposal), look_only)
        if row["outcome"] != "proposed":
            return rows.propose_answer(row)
        kept = await self.proposal(row["proposal_id"])
        return Unknown() if kept is None else Proposed(kept)

    async def proposal(self, proposal_id: str) -> Proposal | None:
        return self._one(await self._fetch("approval_proposal", clean(proposal_id)))

    async def proposal_of(self, receipt_id: str) -> Proposal | None:
        return self._one(await self._fetch("approval_proposal_of", clean(receipt_id)))

    async def proposals(self, scope: Scope, limit: int) -> tuple[Proposal, ...]:
        return tuple(map(rows.proposal, await self._fetch("approval_proposals", limit, *reach(scope))))

    async def approve(
        self, proposal_id: str, decision_hash: str, actor: str, reason: str | None, not_after: datetime | None
    ) -> ApproveAnswer:
        words = (clean(decision_hash), clean(actor), clean_or_none(reason))
        [row] = await self._fetch("approval_approve", clean(proposal_id), *words, not_after)
        if row["outcome"] == "settled":
            self._wake()
        return rows.approve_answer(row)

    async def reject(self, proposal_id: str, actor: str, reason: str) -> CloseAnswer:
        return await self._close(proposal_id, "rejected", actor, reason)

    async def withdraw(self, proposal_id: str, actor: str, reason: str | None) -> CloseAnswer:
        return await self._close(proposal_id, "withdrawn", actor, reason)

    async def _close(self, proposal_id: str, word: str, actor: str, reason: str | None) -> CloseAnswer:
        [row] = await self._fetch("approval_close", clean(proposal_id), word, clean(actor), clean_or_none(reason))
        closed = await self.proposal(proposal_id) if row["outcome"] == "closed" else None
        if closed is not None:
            return Closed(closed)
        match row["outcome"]:
            case "not_open":
                return NotOpen(row["state"])
            case "not_proposer":
                return NotProposer(row["proposer"])
            case _:
                return NoSuchProposal()

    @staticmethod
    def _one(found: list[asyncpg.Record]) -> Proposal | None:
        return rows.proposal(found[0]) if found else None

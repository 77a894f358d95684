"""Finds receipts whose outcome is unknown, finds the outcome out, and sees to it that the conversation goes on (design 7)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from intention_kernel.agent.effect import IdempotentRetry, Lookup, Manual
from intention_kernel.errors import InfrastructureError, words_of
from intention_kernel.ports.receipt_ledger import Cared, OpenReceipt, Scanned
from intention_kernel.reconciliation.lookup import work_lookup
from intention_kernel.reconciliation.retry import work_retry
from intention_kernel.reconciliation.workbench import Workbench, Worked, logger

SCAN_LIMIT = 200
CARE_LIMIT = 200
AT_ONCE = 8
"""Items that one process works on at the same time."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What one round did."""

    scanned: Scanned
    cared: Cared
    settled: int
    waiting: int


class Reconciler:
    """The rounds of one reconciler process; several work side by side. Everything is taken up again after a crash."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def run_once(self) -> Counts:
        """Scan, care, and look at up to AT_ONCE items that are due. Raises InfrastructureError."""
        scanned, cared = await self.scan(), await self.care()
        due = await self.claim(AT_ONCE)
        worked = await asyncio.gather(*(self.work(item) for item in due))
        return Counts(scanned, cared, worked.count("settled"), worked.count("waiting"))

    async def scan(self) -> Scanned:
        """Open items for receipts that need attention (protocol R27)."""
        return await self._bench.ledger.scan(SCAN_LIMIT)

    async def care(self) -> Cared:
        """See decided items through to their continuation's commit (protocol R31)."""
        return await self._bench.ledger.care(CARE_LIMIT, self._bench.pace.care)

    async def claim(self, limit: int) -> tuple[OpenReceipt, ...]:
        """Items that are due, each for this process alone for a while."""
        return await self._bench.ledger.claim(limit, self._bench.pace.hold_seconds)

    async def work(self, due: OpenReceipt) -> Worked:
        """Do what the effect's resolver can do about one item. Raises InfrastructureError; then it is due again later.

        Whatever else goes wrong is told on the item, and it is looked at again.
        """
        try:
            return await self._look(due)
        except InfrastructureError:
            raise
        except Exception as error:  # noqa: BLE001 - told on the item, and logged
            logger.exception("a look failed", extra={"receipt_id": due.receipt.receipt_id})
            return await self._bench.wait(due, f"the look failed: {words_of(error)}")

    async def _look(self, due: OpenReceipt) -> Worked:
        bench, receipt = self._bench, due.receipt
        if receipt.contradicted:
            return await bench.ask_person(due, "an answer of the provider contradicts what is recorded")
        if receipt.state != "uncertain":
            return await bench.wait(due, f"the receipt is {receipt.state}")
        effect = bench.effect_of(receipt.agent_id, receipt.effect_id)
        if effect is None:
            missing = f"the application declares no effect {receipt.effect_id!r} of agent {receipt.agent_id!r}"
            return await bench.ask_person(due, missing, look_again=True)
        match effect.resolver:
            case Lookup() as lookup:
                return await work_lookup(bench, due, effect, lookup)
            case IdempotentRetry():
                return await work_retry(bench, due, effect)
            case Manual():
                return await bench.ask_person(due, "the effect has no way to ask its provider")

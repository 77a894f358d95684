"""What every resolver works with, and the few moves that they share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.compiled import AnyAgent
from intention_kernel.agent.effect import Effect, Ports, ReceiptView
from intention_kernel.clock import Clock
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.durability.operations import AbandonedOperations
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import derived_id
from intention_kernel.ports.receipt_ledger import (
    Finding,
    Observation,
    OpenReceipt,
    ReceiptLedger,
    Resolution,
    Settled,
    Settlement,
)
from intention_kernel.reconciliation.pace import PERSON_AFTER_LOOKS, Pace

Worked = Literal["settled", "waiting"]
"""What became of an item that was looked at."""

EffectOf = Callable[[str, str], Effect | None]
"""Agent id, effect id -> what the application declares, None where it declares nothing."""

NEEDS_PERSON = "needs a person: "

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workbench:
    """One process's: the store, what the application declares, its opened ports."""

    ledger: ReceiptLedger
    effect_of: EffectOf
    ports: Ports
    pace: Pace
    clock: Clock
    abandoned: AbandonedOperations

    async def observe(
        self,
        due: OpenReceipt,
        source: str,
        finding: Finding,
        detail: str,
        value: JsonValue = None,
        reference: str | None = None,
    ) -> None:
        """Keep what a resolver saw."""
        await self.ledger.observe(
            Observation(
                thread_id=due.receipt.thread_id,
                effect_key=due.receipt.effect_key,
                settlement=due.settlement,
                receipt_version=due.receipt.version,
                source=source,
                finding=finding,
                detail=detail,
                value=dumps(value) if finding == "found" else None,
                reference=reference,
                started_at=due.looked_at,
            )
        )

    async def settle(self, settlement: Settlement, receipt_id: str) -> Worked:
        """Settle; where the receipt is not as it was seen, the next look begins afresh."""
        answer = await self.ledger.settle(settlement)
        if isinstance(answer, Settled):
            await failpoint("reconciler.after_settle")
            logger.info("settled: %s", settlement.reason, extra={"receipt_id": receipt_id})
            return "settled"
        logger.info("not settled, since it is not as it was seen: %s", answer, extra={"receipt_id": receipt_id})
        return "waiting"

    async def wait(self, due: OpenReceipt, reason: str, *, at_most_seconds: float | None = None) -> Worked:
        """Look again after a while, at most after `at_most_seconds`; after many looks say that a person is needed."""
        seconds = self.pace.pause(due.looks)
        if at_most_seconds is not None:
            seconds = min(seconds, max(at_most_seconds, self.pace.first_seconds))
        asks = due.looks + 1 >= PERSON_AFTER_LOOKS
        await self.ledger.postpone(due, f"{NEEDS_PERSON}{reason}" if asks else reason, seconds)
        return "waiting"

    async def ask_person(self, due: OpenReceipt, reason: str, *, look_again: bool = False) -> Worked:
        """Leave the item to people; `look_again`: rarely, since another build may know what to do."""
        seconds = self.pace.longest_seconds if look_again else None
        await self.ledger.postpone(due, f"{NEEDS_PERSON}{reason}", seconds)
        return "waiting"


def effects_of(agents: Iterable[AnyAgent]) -> EffectOf:
    """What these agents declare."""
    declared = {(agent.id, effect.id): effect for agent in agents for effect in agent.effects}

    def effect_of(agent_id: str, effect_id: str) -> Effect | None:
        return declared.get((agent_id, effect_id))

    return effect_of


def settlement_of(
    due: OpenReceipt,
    actor: str,
    resolution: Resolution,
    reason: str,
    value: JsonValue = None,
    reference: str | None = None,
) -> Settlement:
    """A resolver's decision. Its id follows from what was seen, so that a repeat is the same decision."""
    return Settlement(
        thread_id=due.receipt.thread_id,
        effect_key=due.receipt.effect_key,
        seen_version=due.receipt.version,
        resolution=resolution,
        value=dumps(value) if resolution == "applied" else None,
        reference=reference,
        decision_id=derived_id(actor, due.receipt.receipt_id, str(due.receipt.version), resolution),
        reason_code=None,
        reason=reason,
        evidence=None,
        actor=actor,
    )


def view_of(due: OpenReceipt) -> ReceiptView:
    """The receipt as a resolver sees it."""
    receipt = due.receipt
    return ReceiptView(
        receipt_id=receipt.receipt_id,
        thread_id=receipt.thread_id,
        turn_id=receipt.turn_id,
        agent_id=receipt.agent_id,
        tenant_id=receipt.tenant_id,
        key=receipt.effect_key,
        payload=receipt.payload,
        state=receipt.state,
        version=receipt.version,
        attempt=receipt.attempt,
        prepared_at=receipt.prepared_at,
        call_deadline=receipt.call_deadline,
        host_context=due.host_context,
    )

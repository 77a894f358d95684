"""Real values in place of shapes: for one receipt, turn or thread, on record with who and why (design 7).

The line is in the audit log before anybody is shown anything; whoever is told `Revealed` may be shown the documents as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.ports.conversations import Conversations
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.receipt_ledger import Unknown


@dataclass(frozen=True, slots=True)
class Revealed:
    """It is on record."""


@dataclass(frozen=True, slots=True)
class NoReason:
    """Nobody said why."""


@dataclass(frozen=True, slots=True)
class BoundedByEffects:
    """A conversation holds values of every effect; who may see those of some sees them at their receipts."""


RevealAnswer = Revealed | NoReason | Unknown
RevealTurnAnswer = RevealAnswer | BoundedByEffects


async def reveal(conversations: Conversations, receipt_id: str, scope: Scope, actor: str, reason: str) -> RevealAnswer:
    """A receipt's; Unknown where there is none within reach."""
    if not reason.strip():
        return NoReason()
    noted = await conversations.note_reveal_of_receipt(receipt_id, scope, actor, reason)
    return Revealed() if noted else Unknown()


async def reveal_turn(
    conversations: Conversations, thread_id: str, turn_id: str | None, scope: Scope, actor: str, reason: str
) -> RevealTurnAnswer:
    """A turn's, or with None its whole thread's; Unknown where there is none within reach. Never to somebody whose reach is
    bounded by effects."""
    if scope.effects is not None:
        return BoundedByEffects()
    if not reason.strip():
        return NoReason()
    noted = await conversations.note_reveal_of_turn(thread_id, turn_id, scope, actor, reason)
    return Revealed() if noted else Unknown()

"""Pure: what follows from a decision, before anybody makes it. A dry run asks the store, and says the same."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.contracts.identifiers import RESERVED_TURN_PREFIX
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.ports.receipt_ledger import Resolution


@dataclass(frozen=True, slots=True)
class Consequences:
    """The receipt gets this state and version, and turn `continuation` is asked for.

    `turns` are those that wait for the receipt and go on by it, oldest first; `may_try_again`: their program may make
    another attempt, under the same key.
    """

    settlement: int
    state: ReceiptState
    version: int
    continuation: str
    turns: tuple[str, ...]
    may_try_again: bool


def consequences(case: ReceiptCase, resolution: Resolution) -> Consequences:
    """What follows, if the receipt is as it was read and the decision is admitted."""
    receipt = case.open.receipt
    settlement = receipt.settlements + 1
    return Consequences(
        settlement=settlement,
        state="completed" if resolution == "applied" else "failed",
        version=receipt.version + 1,
        continuation=f"{RESERVED_TURN_PREFIX}{receipt.receipt_id}:{settlement}:1",
        turns=case.blocked_turns,
        may_try_again=resolution == "not_applied",
    )

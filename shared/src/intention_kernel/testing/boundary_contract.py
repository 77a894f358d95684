"""The contract of the durable boundary, for every adapter, ours and yours.

In a test module (pytest with pytest-asyncio in auto mode) write a fixture `boundary` that gives a BoundaryHarness, and
subclass each suite:

    class TestEffects(EffectStoreContract): ...
"""

from __future__ import annotations

from intention_kernel.testing.continuation_contract import ContinuationContract
from intention_kernel.testing.effect_contract import EffectStoreContract
from intention_kernel.testing.redrive_contract import RedrivesContract
from intention_kernel.testing.rejection_contract import RejectionsContract
from intention_kernel.testing.retention_contract import RetentionContract
from intention_kernel.testing.settlement_contract import SettlementContract
from intention_kernel.testing.turn_contract import TurnStoreContract
from intention_kernel.testing.value_contract import ManyThreadsContract, ValueContract

__all__ = [
    "ContinuationContract",
    "EffectStoreContract",
    "ManyThreadsContract",
    "RedrivesContract",
    "RejectionsContract",
    "RetentionContract",
    "SettlementContract",
    "TurnStoreContract",
    "ValueContract",
]

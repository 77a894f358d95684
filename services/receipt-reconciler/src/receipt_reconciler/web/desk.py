"""What every request works with: one process's, opened once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from intention_kernel.clock import Clock
from intention_kernel.ports.operator_queue import OperatorQueue
from intention_kernel.reconciliation.workbench import EffectOf


@dataclass(frozen=True, slots=True)
class Desk:
    """The stores, what the application declares, and whether anything may be changed.

    `stopping` is set once the process is told to stop: streams say farewell and end.
    """

    queue: OperatorQueue
    effect_of: EffectOf
    clock: Clock
    stopping: asyncio.Event
    read_only: bool = False

"""What every request works with: one process's, opened once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from intention_kernel.clock import Clock
from intention_kernel.ports.approvals import DecidingQueue
from intention_kernel.ports.conversations import Conversations
from intention_kernel.ports.identity import Identity
from intention_kernel.ports.redrives import Redrives
from intention_kernel.reconciliation.workbench import EffectOf

from receipt_reconciler.web.watching import Watcher


@dataclass(frozen=True, slots=True)
class Desk:
    """The stores, what the application declares, and whether anything may be changed.

    `stopping` is set once the process is told to stop: streams say farewell and end.
    """

    queue: DecidingQueue
    identity: Identity
    conversations: Conversations
    redrives: Redrives
    watcher: Watcher
    effect_of: EffectOf
    clock: Clock
    stopping: asyncio.Event
    read_only: bool = False

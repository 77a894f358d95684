"""The process that makes attempts: who calls providers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from intention_kernel.ports.effect_store import EffectStore
from intention_kernel.ports.rejections import Rejections
from intention_kernel.ports.turn_store import TurnStore


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """`instance` names a place to run, `boot` one life of it.

    A newer boot of the same instance proves that an older one is dead (protocol R22 c): never give two processes that
    may live at once the same instance.
    """

    instance: str
    boot: UUID


class DurableStore(TurnStore, EffectStore, Rejections, Protocol):
    """The whole boundary; an adapter is one of these."""

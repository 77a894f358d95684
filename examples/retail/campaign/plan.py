"""What a campaign is asked to do, and the draws that its seed decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from intention_kernel.ids import derived_id

from examples.retail.conversations import Conversation

Kind = Literal["turn-runner", "outbox-relay", "receipt-reconciler"]

PROCESSES: Mapping[Kind, int] = {"turn-runner": 3, "outbox-relay": 2, "receipt-reconciler": 2}


@dataclass(frozen=True, slots=True)
class Plan:
    """One campaign: `conversations` of `file`, over the shop's records in `data`.

    `in_flight` bounds the conversations that are played at once; `processes` says how many of each kind run.
    """

    data: Path
    file: Path
    conversations: tuple[Conversation, ...]
    seed: int
    kills: int = 0
    shop_faults: bool = False
    in_flight: int = 64
    processes: Mapping[Kind, int] = field(default_factory=lambda: PROCESSES)


@dataclass(frozen=True, slots=True)
class Draws:
    """Numbers that look random and depend on the seed and on what they are drawn for alone."""

    seed: int

    def fraction(self, *what: str) -> float:
        """At least 0 and below 1."""
        return int(derived_id(str(self.seed), *what)[:12], 16) / float(1 << 48)

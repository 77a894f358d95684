"""What a campaign is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from intention_kernel.testing.fleet import PROCESSES, Kind

from examples.retail.conversations import Conversation


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

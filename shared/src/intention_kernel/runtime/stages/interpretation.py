"""What a message means: the value that the interpret stage ends in (contract 2.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.intentions import IntentionBatch


@dataclass(frozen=True, slots=True)
class Interpretation:
    """A reviewed batch. `answer_source` says where its answer to the active question comes from."""

    source: Literal["model", "structured_selection"]
    batch: IntentionBatch
    answer_source: Literal["structured_selection", "model"] | None = None

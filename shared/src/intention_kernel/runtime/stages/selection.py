"""Which capabilities a message is about: the value that the select stage ends in (contract 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.intentions import IntentionEvidence

SelectionMode = Literal["selected", "selected_with_control", "no_match", "conversational", "control", "open"]
"""`open`: nothing was selected because there is only one capability; the message may mean it, control, or nothing."""
SelectionSource = Literal["model", "kernel_boundary", "structured_selection", "single_capability"]
AdjustmentCode = Literal["ACTIVE_INTERACTION_CONTRACT_AVAILABLE", "ACTIVE_CONFIRMATION_OWNER_RETAINED"]


@dataclass(frozen=True, slots=True)
class ReviewedChoice:
    """An option that a review found the message to mean, bound to the message and the question."""

    interaction_id: str
    option_id: str
    message_index: int
    evidence: str
    rationale: str


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A contract that the kernel added so that an answer can be understood; it authorises nothing."""

    code: AdjustmentCode
    capability_id: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The shortlist for interpretation. It authorises nothing."""

    source: SelectionSource
    mode: SelectionMode
    capability_ids: tuple[str, ...]
    rationale: str
    evidence: tuple[IntentionEvidence, ...] = ()
    reviewed_choice: ReviewedChoice | None = None
    adjustments: tuple[Adjustment, ...] = ()

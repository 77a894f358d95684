"""The shortlist as models of interpretation see it."""

from __future__ import annotations

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.selection import Selection


def selection_json(selection: Selection) -> JsonValue:
    """Mode, capabilities, and why; it authorises nothing."""
    return {
        "mode": selection.mode,
        "capabilityIds": list(selection.capability_ids),
        "rationale": selection.rationale,
        "evidence": [entry.to_json() for entry in selection.evidence],
    }

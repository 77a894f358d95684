"""What a reconciler counts."""

from __future__ import annotations

from prometheus_client import Counter

BECAME_UNCERTAIN = Counter("intention_reconciler_uncertain", "Prepared receipts whose attempt was over")
ITEMS_OPENED = Counter("intention_reconciler_items_opened", "Items opened by the scan")
LOOKS = Counter("intention_reconciler_looks", "Looks at an item, by what became of it", ["outcome"])
CONTINUATIONS = Counter("intention_reconciler_continuations", "Decided items, by what was done about them", ["what"])
FAILURES = Counter("intention_reconciler_failures", "Rounds that failed, by what was tried", ["what"])
RESOLUTIONS = Counter(
    "intention_reconciler_resolutions",
    "Records of receipts.resolutions: settled, proposed, or why they were rejected",
    ["outcome"],
)

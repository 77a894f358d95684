"""Pure: for how long the provider still knows our key, so that the same call is the same effect (protocol R26)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from intention_kernel.ports.receipt_ledger import OpenReceipt
from intention_kernel.reconciliation.admissible import Terms, window_end

KeyWindowState = Literal["open", "closing", "closed", "none"]
"""open: a call that is sent now is certain to be the same effect; closing: the provider knows the key still, but a call that is
sent now may arrive when it does not; closed: it has forgotten the key; none: it keeps none."""


@dataclass(frozen=True, slots=True)
class KeyWindow:
    """What the window is at a look. It is open until `relied_until`, and the provider forgets the key at `closes_at`."""

    state: KeyWindowState
    relied_until: datetime | None = None
    closes_at: datetime | None = None

    @property
    def is_over(self) -> bool:
        """Whether there was one that can be relied on no more: a repeat may be another effect."""
        return self.state in ("closing", "closed")


def key_window(receipt: OpenReceipt, terms: Terms) -> KeyWindow:
    """The window as it was when the receipt was read, on the store's clock."""
    facts, now = receipt.attempts, receipt.looked_at
    until = window_end(facts, terms)
    if until is None or facts.key_window_seconds is None:
        return KeyWindow("none")
    closes = facts.first_prepared_at + timedelta(seconds=facts.key_window_seconds)
    if now <= until:
        return KeyWindow("open", until, closes)
    return KeyWindow("closing" if now < closes else "closed", until, closes)

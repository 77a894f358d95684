"""What the relay is told; it needs nothing beyond what every process is told."""

from __future__ import annotations

from intention_kernel.settings import ProcessSettings


class RelaySettings(ProcessSettings):
    """Settings of `outbox-relay` (interface 5)."""

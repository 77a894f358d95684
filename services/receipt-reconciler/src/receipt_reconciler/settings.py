"""What a receipt-reconciler is told by its environment (interface 5)."""

from __future__ import annotations

from intention_kernel.reconciliation.pace import Pace
from intention_kernel.settings import ProcessSettings, Seconds
from pydantic import Field


class ReconcilerSettings(ProcessSettings):
    """Read once by `bootstrap`."""

    application: str = Field(
        min_length=1, description="The application, as module:attribute; its effects say how to ask"
    )
    reconcile_seconds: Seconds = Field(
        default=1, description="The longest pause between two looks for receipts that need attention"
    )
    reconcile_lookup_seconds: Seconds = Field(default=10, description="How long one lookup at a provider may take")
    reconcile_backoff_seconds: Seconds = Field(
        default=1, description="Pause between the first two looks at one receipt; it doubles up to the next setting"
    )
    reconcile_backoff_limit_seconds: Seconds = Field(
        default=300, description="The longest pause between two looks at one receipt"
    )
    reconcile_continuation_seconds: Seconds = Field(
        default=30, description="After this long a continuation that nobody committed is requested again"
    )
    accept_resolutions: bool = Field(
        default=False,
        description="Decisions are taken from receipts.resolutions too: whoever may write to that topic may settle",
    )
    console_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port of the console and of its API; 0 takes a free one and prints it, empty serves neither",
    )
    console_host: str = Field(default="127.0.0.1", description="Address of the console and of its API")
    console_read_only: bool = Field(
        default=False, description="The console and its API show everything and change nothing"
    )
    console_pool_size: int = Field(
        default=4, ge=1, le=1000, description="Database connections that the console and its API hold at most"
    )
    console_session_seconds: Seconds = Field(default=43_200, description="How long a sign-in at the console lasts")

    @property
    def pace(self) -> Pace:
        """The settings that say how often."""
        return Pace(
            first_seconds=self.reconcile_backoff_seconds,
            longest_seconds=self.reconcile_backoff_limit_seconds,
            lookup_seconds=self.reconcile_lookup_seconds,
            again_seconds=self.reconcile_continuation_seconds,
        )

"""The six topics of interface 2 and the consumer group, with the installation's prefix before each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topics:
    """Names under one `INTENTION_TOPIC_PREFIX` (empty by default); every topic's record key is a thread id as UTF-8."""

    prefix: str = ""

    @property
    def requests(self) -> str:
        """Turn requests, partitioned by thread."""
        return f"{self.prefix}turns.requests"

    @property
    def events(self) -> str:
        """Committed events: the durable truth."""
        return f"{self.prefix}turns.events"

    @property
    def traces(self) -> str:
        """Live events, best effort."""
        return f"{self.prefix}turns.traces"

    @property
    def rejected(self) -> str:
        """Requests that can never become a turn, byte for byte."""
        return f"{self.prefix}turns.rejected"

    @property
    def reconciliation(self) -> str:
        """Notices about uncertain receipts."""
        return f"{self.prefix}receipts.reconciliation"

    @property
    def resolutions(self) -> str:
        """Decisions about receipts from outside."""
        return f"{self.prefix}receipts.resolutions"

    @property
    def all(self) -> tuple[str, ...]:
        """All six, in the order of interface 2."""
        return (self.requests, self.events, self.traces, self.rejected, self.reconciliation, self.resolutions)

    def consumer_group(self, name: str = "turn-runner") -> str:
        """The group's name with the prefix; `name` is `INTENTION_CONSUMER_GROUP`."""
        return f"{self.prefix}{name}"

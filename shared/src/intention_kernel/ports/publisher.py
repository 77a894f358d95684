"""What takes rows to the broker and says, for each, what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from intention_kernel.ports.outbox import OutboxRow


@dataclass(frozen=True, slots=True)
class Published:
    """Every record of the row is acknowledged by all replicas in sync."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The broker will never accept one of the row's records; `reason` says why. Nothing after it was published."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unsent:
    """Not acknowledged, and may be tried again; a part of the row may be on the topic."""

    reason: str


PublishOutcome = Published | Refused | Unsent


class Publisher(Protocol):
    """An ordered way to the broker. Rows of different calls may mix; a stream must not be in two calls at once."""

    async def publish(self, rows: Sequence[OutboxRow], may_send: Callable[[], bool]) -> Sequence[PublishOutcome]:
        """The outcome of each row, in the order of `rows`.

        Within a stream (thread and topic) order is kept and nothing is published past a row that was not. Returns only
        when nothing of `rows` is under way: what was handed to the broker has been answered for, however long that
        takes. `may_send` is asked before anything is handed over; once it says no, nothing more is.
        """
        ...

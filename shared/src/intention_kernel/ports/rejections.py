"""Records that are refused: kept byte for byte, and published by the same statement (protocol R5, R34)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from intention_kernel.ports.turn_store import CommitAnswer, Origin


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that is refused, with a stable `reason` and a `detail` for people. Identity: origin and bytes (R34)."""

    origin: Origin
    reason: str
    detail: str
    thread_id: str | None = None
    turn_id: str | None = None


class RecordKeeper(Protocol):
    """For whoever reads records and runs no turns."""

    async def reject(self, rejection: Rejection) -> None:
        """Keep a record that nobody can do what it asks for, and publish it, once. Raises InfrastructureError."""
        ...


class Rejections(RecordKeeper, Protocol):
    """Both calls are idempotent: the same record is kept and published once."""

    async def reject_begun(self, rejection: Rejection, *, fence: int, revision: int) -> CommitAnswer:
        """Reject a request that can be decoded: a fenced commit without result or events (R5)."""
        ...

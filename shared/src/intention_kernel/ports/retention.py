"""What may be forgotten of a thread, and when it may not (protocol R38)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Deletion = Literal["deleted", "busy", "receipts", "items", "outbox", "not_found"]
"""What became of a deletion: done (or done before), refused since the thread is held, has open receipts, unfinished items or
unpublished records, or there is no such thread."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """How many turns became tombstones, and how many receipts lost their payload."""

    turns: int
    receipts: int


class Retention(Protocol):
    """Both calls may be repeated, and raise InfrastructureError where the store cannot answer."""

    async def thin(self, thread_id: str, older_seconds: float, limit: int) -> Thinned:
        """Keep of turns and receipts that are that old only what a redelivery or a later call needs, up to `limit` of each.

        A turn keeps id, digest, revision and status, and is replayed with a result without a response; a receipt keeps key,
        fingerprint, state and value. What waits, is open or not published stays whole.
        """
        ...

    async def delete(self, thread_id: str, actor: str, reason: str) -> Deletion:
        """Forget all of a thread but that it is deleted, which every later begin is told."""
        ...

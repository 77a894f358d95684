"""What people read of conversations: threads, turns, their events, and what was given up (design 7).

Everything is a JSON document with camelCase members, with its real values: `reconciliation.masking` says what of it people
see. Every call raises InfrastructureError where the store cannot answer, and may then be repeated.

What is out of the reader's `scope` is answered as what is not there. A thread's tenant is that of its first committed turn. A
turn that was set aside before that, and every rejected request, is of no known tenant: whose a record is that names a thread
is exactly what nobody could establish. Such are within reach only of a scope without tenants. Receipts of effects that are
out of scope are left out of the lists of receipts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.redrives import RejectedRef, SetAsideRef

Document = dict[str, JsonValue]

LAST_TURNS = 20
"""How many turns a page of a thread holds."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Committed events of a thread in their order. `after` is where the next page begins; `more`: it is there already.

    The `turn.failed` of a turn that was set aside is on the topic only: its number is skipped here.
    """

    events: tuple[Document, ...]
    after: int
    more: bool


@dataclass(frozen=True, slots=True)
class GivenUpPlace:
    """Where a page of what was given up ended: when the last line was written, and its id."""

    at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """One line of that list, and its place."""

    place: GivenUpPlace
    document: Document


@dataclass(frozen=True, slots=True)
class RejectedPrefix:
    """A rejected record as people name it: its origin, and the first hex digits of the digest of its bytes."""

    topic: str
    partition: int
    offset: int
    digest: str


@dataclass(frozen=True, slots=True)
class GivenUpRecord:
    """One of them with its record byte for byte, and what Redrives knows it by."""

    ref: SetAsideRef | RejectedRef
    document: Document


class Conversations(Protocol):
    """See the module."""

    async def thread(self, thread_id: str, scope: Scope, *, before: int | None = None) -> Document | None:
        """Head, memory, unsettled receipts, what waits for which receipt, and the last turns; of those older than
        revision `before`, where it is said."""
        ...

    async def turn(self, thread_id: str, turn_id: str, scope: Scope) -> Document | None:
        """A turn that is committed, with its events, in progress or set aside; None where nothing is known of it."""
        ...

    async def events(self, thread_id: str, scope: Scope, *, after: int, limit: int) -> EventPage | None:
        """Events with a sequence over `after`, at most `limit` of them. What it costs does not grow with what is older."""
        ...

    async def given_up(self, scope: Scope, after: GivenUpPlace | None, limit: int) -> tuple[GivenUp, ...]:
        """Set-aside turns and rejected requests, the newest first, settled ones too."""
        ...

    async def given_up_record(self, ref: SetAsideRef | RejectedPrefix, scope: Scope) -> GivenUpRecord | None:
        """One of them; None where there is none, or where the digits are those of several."""
        ...

    async def note_reveal_of_receipt(self, receipt_id: str, scope: Scope, actor: str, reason: str) -> bool:
        """An audit line, action `revealed`: somebody is shown a receipt's real values. False where it is not there."""
        ...

    async def note_reveal_of_turn(
        self, thread_id: str, turn_id: str | None, scope: Scope, actor: str, reason: str
    ) -> bool:
        """The same, of a turn; of None: of the thread, its memory and all of its events. False where the thread is not there."""
        ...

"""What people do about a receipt before they decide: who works on it, when it is in sight, what was said of it (design 7).

Such work compares with a version of its own, not with the receipt's: a resolver that looks meanwhile takes nothing from
a person, and a claim settles nothing. Every operation has its caller's id, by which a repeat is known as one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.receipt_ledger import Unknown

Act = Literal["claim", "takeover", "release", "snooze", "wake", "probe"]
NoteKind = Literal["comment", "link", "ticket", "quotation", "digest"]
MOST_NOTES = 1_000
"""Of one receipt: they are read together."""


@dataclass(frozen=True, slots=True)
class Work:
    """Who works on a receipt. `version` 0: nobody ever did. A claim counts until `claimed_until`, on the store's clock.

    `snoozed_until_change`: out of sight until a resolver answers something else; then `snoozed_until` is None.
    """

    version: int = 0
    claimed_by: str | None = None
    claimed_until: datetime | None = None
    snoozed_until: datetime | None = None
    snoozed_until_change: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One act. `seconds` is how long a claim or a snooze lasts; of a snooze None: until a resolver answers something else."""

    receipt_id: str
    act: Act
    operation_id: str
    actor: str
    seen_version: int | None = None
    seconds: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Worked:
    """Done, now or by an earlier call with this id. `until`: when the claim or the snooze ends."""

    version: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Held:
    """Another person works on it until then."""

    owner: str
    until: datetime


@dataclass(frozen=True, slots=True)
class NotHeld:
    """There is no claim to release."""


@dataclass(frozen=True, slots=True)
class WorkChanged:
    """Somebody worked on it since that version."""

    version: int


@dataclass(frozen=True, slots=True)
class NothingOpen:
    """Nothing of the receipt waits for anybody."""


@dataclass(frozen=True, slots=True)
class NotLookedAt:
    """No resolver looks at it: it is settled or in doubt, or the identical call is being repeated."""


@dataclass(frozen=True, slots=True)
class IdTaken:
    """The caller's id names another operation."""


@dataclass(frozen=True, slots=True)
class NotesFull:
    """The receipt has MOST_NOTES already."""


WorkAnswer = Worked | Held | NotHeld | WorkChanged | NothingOpen | NotLookedAt | IdTaken | Unknown


@dataclass(frozen=True, slots=True)
class Note:
    """What a person says of a receipt. `note_id` makes it repeatable."""

    receipt_id: str
    note_id: str
    kind: NoteKind
    actor: str
    text: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Kept, now or by an earlier call."""


@dataclass(frozen=True, slots=True)
class Written:
    """A note that was kept."""

    note_id: str
    kind: NoteKind
    actor: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who did what; `detail` is as the writer left it."""

    id: int
    at: datetime
    actor: str
    action: str
    thread_id: str | None
    effect_key: str | None
    detail: JsonValue


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Lines of one receipt, actor or action (None: of all), older than line `before`, at most `limit`.

    A bounded `scope` leaves the lines of receipts within it. `of_access` False: no lines of what belongs to no conversation,
    such as sign-ins, users and refused attempts. Who asks for one receipt has seen to its being within reach.
    """

    receipt_id: str | None = None
    actor: str | None = None
    action: str | None = None
    before: int | None = None
    limit: int = 200
    scope: Scope = field(default_factory=Scope)
    of_access: bool = True

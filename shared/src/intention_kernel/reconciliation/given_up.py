"""Set-aside turns and rejected requests as every surface lists them, and what people do about one (protocol R33, design 7)."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from intention_kernel.contracts.json_codec import dumps, loads
from intention_kernel.errors import JsonError
from intention_kernel.ports.conversations import (
    Conversations,
    Document,
    GivenUpPlace,
    GivenUpRecord,
    RejectedPrefix,
)
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.redrives import (
    DropAnswer,
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    RedriveRecordAnswer,
    Redrives,
    RedriveTurnAnswer,
    RedriveView,
    Ruling,
    SetAsideRef,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
)
from intention_kernel.reconciliation.places import moment

Outcome = RedriveTurnAnswer | RedriveRecordAnswer | DropAnswer

OUTCOMES: dict[type[Outcome], str] = {
    TurnRedriven: "redriven",
    RecordRedriven: "redriven",
    Dropped: "dropped",
    ReceiptsOpen: "receipts_open",
    WouldRunLate: "later_turns",
    Unsendable: "unsendable",
    NotOpen: "not_open",
    NoSuchRecord: "not_found",
}
"""The words of `outcome_document`; of a look that would succeed `would_redrive`."""

_CURSOR_VERSION = 1
_REJECTED = re.compile(r"([A-Za-z0-9._-]+)/([0-9]{1,9})/([0-9]{1,18})/([0-9a-f]{1,64})")
_SET_ASIDE = re.compile(r"(.+)@([0-9]{1,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GivenUpPage:
    """Lines, the newest first; `cursor` is where the next page begins, None: there is none. Pages neither skip nor repeat."""

    documents: tuple[Document, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class BadCursor:
    """No cursor of this build."""


async def list_given_up(
    conversations: Conversations, scope: Scope, *, cursor: str | None = None, limit: int = 200
) -> GivenUpPage | BadCursor:
    """What is within reach of what was given up."""
    place = None if cursor is None else _place(cursor)
    if cursor is not None and place is None:
        return BadCursor()
    found = await conversations.given_up(scope, place, limit + 1)
    documents = tuple(line.document for line in found[:limit])
    return GivenUpPage(documents, _cursor(found[limit - 1].place) if len(found) > limit else None)


def ref_of(record_id: str) -> SetAsideRef | RejectedPrefix | None:
    """What the `id` of a line names: THREAD@REVISION or TOPIC/PARTITION/OFFSET/DIGEST; None: no such id."""
    if (request := _REJECTED.fullmatch(record_id)) is not None:
        topic, partition, offset, digest = request.groups()
        return RejectedPrefix(topic, int(partition), int(offset), digest)
    if (turn := _SET_ASIDE.fullmatch(record_id)) is not None:
        return SetAsideRef(turn[1], int(turn[2]))
    return None


async def find_given_up(conversations: Conversations, record_id: str, scope: Scope) -> GivenUpRecord | None:
    """One with its record; None where there is none within reach."""
    ref = ref_of(record_id)
    return None if ref is None else await conversations.given_up_record(ref, scope)


async def redrive(
    conversations: Conversations,
    redrives: Redrives,
    record_id: str,
    scope: Scope,
    ruling: Ruling,
    *,
    after_later_turns: bool = False,
    dry_run: bool = False,
) -> RedriveTurnAnswer | RedriveRecordAnswer:
    """Send it again as it came; the actor and the reason are in the audit log."""
    found = await find_given_up(conversations, record_id, scope)
    if found is None:
        return NoSuchRecord()
    if isinstance(found.ref, SetAsideRef):
        return await redrives.redrive_turn(found.ref, ruling, after_later_turns=after_later_turns, look_only=dry_run)
    return await redrives.redrive_record(found.ref, ruling, look_only=dry_run)


async def drop(
    conversations: Conversations, redrives: Redrives, record_id: str, scope: Scope, ruling: Ruling
) -> DropAnswer:
    """Give it up for ever; the actor and the reason are in the audit log."""
    found = await find_given_up(conversations, record_id, scope)
    if found is None:
        return NoSuchRecord()
    return await (
        redrives.drop_turn(found.ref, ruling)
        if isinstance(found.ref, SetAsideRef)
        else redrives.drop_record(found.ref, ruling)
    )


def outcome_of(answer: Outcome, *, dry_run: bool = False) -> str:
    """The word for it."""
    outcome = OUTCOMES[type(answer)]
    return "would_redrive" if outcome == "redriven" and dry_run else outcome


def outcome_document(record_id: str, answer: Outcome, *, dry_run: bool = False) -> Document:
    """What became of a redrive or a drop, with what a person needs to know of the turn."""
    document: Document = {"id": record_id, "outcome": outcome_of(answer, dry_run=dry_run)}
    match answer:
        case NotOpen(state=state):
            document["state"] = state
        case Unsendable(problem=problem):
            document["problem"] = problem
        case TurnRedriven(view=view) | ReceiptsOpen(view=view) | WouldRunLate(view=view):
            document |= _view_document(view)
    return document


def _view_document(view: RedriveView) -> Document:
    return {
        "turnId": view.turn_id,
        "laterCount": view.later_count,
        "laterTurns": list(view.later_turns),
        "memoryChanged": view.is_rebased,
        "receipts": [
            {
                "receiptId": receipt.receipt_id,
                "effectKey": receipt.effect_key,
                "state": receipt.state,
                "contradicted": receipt.contradicted,
            }
            for receipt in view.receipts
        ],
    }


def _cursor(place: GivenUpPlace) -> str:
    return base64.urlsafe_b64encode(dumps([_CURSOR_VERSION, place.at.isoformat(), place.id])).decode().rstrip("=")


def _place(cursor: str) -> GivenUpPlace | None:
    """None for whatever `_cursor` did not make."""
    try:
        members = loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        match members:
            case [1, str(at), str(record)] if (time := moment(at)) is not None:
                return GivenUpPlace(time, record)
    except (binascii.Error, ValueError, JsonError):
        pass
    return None

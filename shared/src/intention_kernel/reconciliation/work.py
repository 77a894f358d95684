"""Work on a receipt before it is decided: claim, snooze, comment, evidence, a look of its resolver (design 7).

Every operation has an id of its caller's, by which a repeat is known as one; None: a new one each time.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from intention_kernel.agent.effect import Manual
from intention_kernel.ids import random_id
from intention_kernel.ports.operator_queue import OperatorQueue
from intention_kernel.ports.queue_work import (
    MOST_NOTES,
    Act,
    Held,
    IdTaken,
    Note,
    Noted,
    NoteKind,
    NotesFull,
    NotHeld,
    NothingOpen,
    NotLookedAt,
    Operation,
    WorkAnswer,
    WorkChanged,
    Worked,
)
from intention_kernel.ports.receipt_ledger import Unknown
from intention_kernel.reconciliation.queue import Invalid, NotFound, VersionChanged
from intention_kernel.reconciliation.workbench import EffectOf

CLAIM_SECONDS = 900.0
LONGEST_CLAIM_SECONDS = 86_400.0
LONGEST_SNOOZE_SECONDS = 90 * 86_400.0
LONGEST_NOTE_BYTES = 10_000
LONGEST_LINK_BYTES = 2_000

_LINK = re.compile(r"https?://[^\s/]+(?:/\S*)?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}( .{1,255})?")


@dataclass(frozen=True, slots=True)
class Done:
    """Done, with its audit line. `version` is the work's own now; `until` when the claim or the snooze ends."""

    version: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class NotPossible:
    """It cannot be done to this receipt as it is."""

    why: str


@dataclass(frozen=True, slots=True)
class IdReused(Invalid):
    """The caller's id names another operation."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The note is kept, with its audit line."""

    note_id: str


@dataclass(frozen=True, slots=True)
class Task:
    """One operation of `actor` on a receipt; `expected_version` is the work's version that was shown (None: as it is)."""

    receipt_id: str
    actor: str
    expected_version: int | None = None
    operation_id: str | None = None


WorkResult = Done | NotFound | Held | VersionChanged | NotPossible | Invalid
NoteResult = Kept | NotFound | NotPossible | Invalid


async def claim(queue: OperatorQueue, task: Task, seconds: float = CLAIM_SECONDS) -> WorkResult:
    """Work on it alone for a while; again by the same person, for longer. Others are told who has it and until when."""
    return await _act(queue, task, "claim", seconds=seconds, most=LONGEST_CLAIM_SECONDS)


async def takeover(queue: OperatorQueue, task: Task, reason: str, seconds: float = CLAIM_SECONDS) -> WorkResult:
    """Claim it whoever has it, with a reason that the other can read."""
    if not reason.strip():
        return Invalid("a reason is needed")
    return await _act(queue, task, "takeover", seconds=seconds, most=LONGEST_CLAIM_SECONDS, reason=reason)


async def release(queue: OperatorQueue, task: Task) -> WorkResult:
    """Give an own claim back."""
    return await _act(queue, task, "release")


async def snooze(queue: OperatorQueue, task: Task, seconds: float | None, reason: str | None = None) -> WorkResult:
    """Out of sight for a while; None: until a resolver answers something else. What contradicts the record wakes it anyway."""
    return await _act(queue, task, "snooze", seconds=seconds, most=LONGEST_SNOOZE_SECONDS, reason=reason)


async def wake(queue: OperatorQueue, task: Task) -> WorkResult:
    """Back into sight."""
    return await _act(queue, task, "wake")


async def probe(queue: OperatorQueue, task: Task, effect_of: EffectOf | None = None) -> WorkResult:
    """Have the effect's resolver look: a reconciler does at its next round, with its own ports and rules.

    Nothing is asked in this call. Without `effect_of` nobody knows here whether the effect has a resolver.
    """
    if effect_of is not None:
        case = await queue.case(task.receipt_id)
        if case is None:
            return NotFound()
        effect = effect_of(case.open.receipt.agent_id, case.open.receipt.effect_id)
        if effect is None or isinstance(effect.resolver, Manual):
            return NotPossible("its effect has no resolver: nobody but a person can find it out")
    return await _act(queue, task, "probe")


async def comment(queue: OperatorQueue, task: Task, text: str) -> NoteResult:
    """Say something to whoever works on it next."""
    return await _note(queue, task, "comment", text)


async def evidence(queue: OperatorQueue, task: Task, kind: NoteKind, text: str) -> NoteResult:
    """Keep what shows it: an http(s) link, a ticket's number, a quotation, or a file's digest (see `digest_of`)."""
    return await _note(queue, task, kind, text)


def digest_of(content: bytes, name: str) -> str:
    """A file as evidence: its hash and its name; the file itself is not kept."""
    return f"sha256:{hashlib.sha256(content).hexdigest()} {name[:255]}"


async def _act(
    queue: OperatorQueue,
    task: Task,
    act: Act,
    *,
    seconds: float | None = None,
    most: float = 0.0,
    reason: str | None = None,
) -> WorkResult:
    if not task.actor.strip():
        return Invalid("who does it is needed")
    if seconds is not None and not 1 <= seconds <= most:
        return Invalid(f"a {'snooze' if act == 'snooze' else 'claim'} lasts from 1 to {most:g} seconds")
    operation_id = task.operation_id or str(random_id())
    operation = Operation(task.receipt_id, act, operation_id, task.actor, task.expected_version, seconds, reason)
    return _told(await queue.work(operation))


def _told(answer: WorkAnswer) -> WorkResult:
    match answer:
        case Worked(version=version, until=until):
            return Done(version, until)
        case Held():
            return answer
        case WorkChanged(version=version):
            return VersionChanged(f"somebody worked on it meanwhile: its work has version {version} now")
        case NotHeld():
            return NotPossible("nobody has claimed it")
        case NothingOpen():
            return NotPossible("nothing of it waits for anybody")
        case NotLookedAt():
            return NotPossible("no resolver looks at it now: it is settled or in doubt, or its call is being repeated")
        case IdTaken():
            return IdReused("the operation's id names another operation")
        case Unknown():
            return NotFound()


async def _note(queue: OperatorQueue, task: Task, kind: NoteKind, text: str) -> NoteResult:
    problem = _problem(kind, text) if task.actor.strip() else "who says it is needed"
    if problem is not None:
        return Invalid(problem)
    note = Note(task.receipt_id, task.operation_id or str(random_id()), kind, task.actor, text)
    match await queue.note(note):
        case Noted():
            return Kept(note.note_id)
        case NotesFull():
            return NotPossible(f"it has {MOST_NOTES} comments and pieces of evidence, and takes no more")
        case IdTaken():
            return IdReused("the note's id names another operation")
        case Unknown():
            return NotFound()


def _problem(kind: NoteKind, text: str) -> str | None:
    size = len(text.encode("utf-8", "surrogatepass"))
    most = LONGEST_LINK_BYTES if kind in ("link", "ticket") else LONGEST_NOTE_BYTES
    if not text.strip():
        return "there is nothing in it"
    if size > most:
        return f"a {kind} has at most {most} bytes"
    if kind == "link" and not _LINK.fullmatch(text):
        return "a link begins with http:// or https:// and has no spaces"
    if kind == "digest" and not _DIGEST.fullmatch(text):
        return "a digest is sha256: with 64 hexadecimal digits, and may be followed by a name"
    return None

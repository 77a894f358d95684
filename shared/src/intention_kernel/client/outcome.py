"""How a turn ended, as the topics tell it (interface 3): a closed union, and how it is read out of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from intention_kernel.client.reader import TopicRecord
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import JsonError


@dataclass(frozen=True, slots=True)
class Committed:
    """The turn is durable. `result` is the data of `turn.completed`, as the application's `redact` left it."""

    result: JsonValue

    @property
    def status(self) -> str:
        """`completed`, `blocked` or `failed`."""
        return _text(self.result, "status") or "completed"


@dataclass(frozen=True, slots=True)
class Replayed:
    """It was durable before this request; nothing ran. `result` is the stored result with `replayed` true."""

    result: JsonValue

    @property
    def status(self) -> str:
        """`completed`, `blocked` or `failed`."""
        return _text(self.result, "status") or "completed"


@dataclass(frozen=True, slots=True)
class Conflict:
    """The turn id is taken by other content; nothing was executed."""

    detail: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The request can never run. `reason` is a stable code, `detail` is for people."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn was set aside. `data` is that of `turn.failed`, or reason and detail where it was set aside before."""

    data: JsonValue

    @property
    def reason(self) -> str:
        """A stable code: `attempts_used_up`, `held_too_long`."""
        return _text(self.data, "reason")


Outcome: TypeAlias = Committed | Replayed | Conflict | Rejected | Failed


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request is on its topic: what tells one of two requests with one turn id from the other."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """The turn whose outcome is looked for. With an `origin`, a rejection counts only if it is of that very record."""

    thread_id: str
    turn_id: str
    origin: Origin | None = None


def outcome_of_event(record: TopicRecord, wanted: Wanted) -> Outcome | None:
    """What a record of `turns.events` says of the wanted turn, if anything."""
    kind = record.header("ce_type")
    if kind not in ("turn.completed", "turn.failed"):
        return None
    envelope = _envelope(record, wanted)
    if envelope is None:
        return None
    data = envelope.get("data")
    return Committed(data) if kind == "turn.completed" else Failed(data)


def outcome_of_trace(record: TopicRecord, wanted: Wanted) -> Outcome | None:
    """What a record of `turns.traces` says. Only a replay counts: every other trace may be of a turn never committed."""
    if record.header("ce_type") != "turn.replayed":
        return None
    envelope = _envelope(record, wanted)
    return None if envelope is None else Replayed(envelope.get("data"))


def outcome_of_rejection(record: TopicRecord, wanted: Wanted) -> Outcome | None:
    """What a record of `turns.rejected` says of the wanted turn's request."""
    if wanted.origin is None:
        if _envelope(record, wanted) is None:
            return None
    elif _origin(record) != wanted.origin:
        return None
    reason, detail = record.header("reason"), record.header("detail")
    return Conflict(detail) if reason == "conflict" else Rejected(reason, detail)


def _origin(record: TopicRecord) -> Origin | None:
    partition, offset = record.header("origin_partition"), record.header("origin_offset")
    if not (partition.isdecimal() and offset.isdecimal()):
        return None
    return Origin(record.header("origin_topic"), int(partition), int(offset))


def _envelope(record: TopicRecord, wanted: Wanted) -> Mapping[str, JsonValue] | None:
    """The record's document, where it is of the wanted turn."""
    if record.key != wanted.thread_id.encode() or record.value is None:
        return None
    try:
        document = loads(record.value)
    except JsonError:
        return None
    is_wanted = isinstance(document, dict) and document.get("turnId") == wanted.turn_id
    return document if is_wanted and isinstance(document, dict) else None


def _text(document: JsonValue, member: str) -> str:
    found = document.get(member) if isinstance(document, dict) else None
    return found if isinstance(found, str) else ""

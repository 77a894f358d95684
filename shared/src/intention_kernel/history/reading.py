"""Requests and events as anybody may read them who knows the documented form, and nothing of the runtime."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from intention_kernel.history.values import Headers, History, Record, Rejected

CONTINUATION = "reconciliation:"

TurnKey = tuple[str, str]
"""Thread and turn id."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `content` is equal for equal content; `settles` is (receipt id, settlement) of a continuation."""

    thread_id: str
    turn_id: str
    content: object
    settles: tuple[str, int] | None

    @property
    def id(self) -> TurnKey:
        """Thread and turn id."""
        return self.thread_id, self.turn_id


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the request topic: what it asks (None: it is no request), whether a client sent it, what refused it."""

    record: Record
    asked: Asked | None
    is_sent: bool
    refused: Rejected | None

    @property
    def place(self) -> Place:
        """Partition and offset."""
        return self.record.partition, self.record.offset

    def __str__(self) -> str:
        turn = f" (turn {self.asked.turn_id} of {self.asked.thread_id})" if self.asked else ""
        return f"record {self.record.partition}/{self.record.offset}{turn}"


class Log:
    """The request topic in its order, and what became of every record."""

    def __init__(self, history: History) -> None:
        kinds = {(sent.key, sent.value): sent.good for sent in history.sent}
        refused = {row.place: row for row in history.rejected}
        records = sorted(history.requests, key=lambda record: (record.partition, record.offset))
        self.entries = tuple(_entry(record, kinds, refused) for record in records)

    @cached_property
    def places(self) -> Mapping[Place, Entry]:
        """Every record by its place."""
        return {entry.place: entry for entry in self.entries}

    @cached_property
    def accepted(self) -> Mapping[TurnKey, Sequence[Entry]]:
        """Requests that were not refused, by what they ask for; the first of each is the one that counts."""
        turns: dict[TurnKey, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            if entry.asked is not None and entry.refused is None:
                turns[entry.asked.id].append(entry)
        return turns


def _entry(
    record: Record, kinds: Mapping[tuple[bytes | None, bytes | None], bool], refused: Mapping[Place, Rejected]
) -> Entry:
    good = kinds.get((record.key, record.value))
    asked = None if good is False else read_request(record.key, record.value)
    return Entry(record, asked, good is not None, refused.get((record.partition, record.offset)))


def read_request(key: bytes | None, value: bytes | None) -> Asked | None:
    """What a record asks for, or None where it is no request."""
    try:
        document = json.loads((value or b"").decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    thread_id, turn_id = document.get("threadId"), document.get("turnId")
    if not isinstance(thread_id, str) or not isinstance(turn_id, str) or key != _utf8(thread_id):
        return None
    trigger = document.get("trigger") or {"kind": "user"}
    content = (document.get("agentId"), document.get("tenantId"), _given(document.get("input")), _given(trigger))
    return Asked(thread_id, turn_id, comparable(list(content)), _settles(trigger))


def comparable(value: object) -> object:
    """Equal exactly for equal JSON values: 1 and 1.0 are, 1 and true are not, and the order of members is nothing."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, dict):
        return "object", frozenset((name, comparable(member)) for name, member in value.items())
    if isinstance(value, list):
        return "array", tuple(map(comparable, value))
    return value


def _given(value: object) -> object:
    # A member that may be left out is the same as one that is null.
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if member is not None}
    return value


def _settles(trigger: object) -> tuple[str, int] | None:
    if not isinstance(trigger, dict) or trigger.get("kind") != "reconciliation":
        return None
    receipt_id, settlement = trigger.get("receiptId"), trigger.get("settlement")
    if not isinstance(receipt_id, str) or not isinstance(settlement, int) or isinstance(settlement, bool):
        return None
    return receipt_id, settlement


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


@dataclass(frozen=True, slots=True)
class Told:
    """An event by its headers, with its bytes; `said` is what its value says of thread, sequence and type."""

    thread_id: str
    sequence: int
    type: str
    incarnation: str
    turn_id: object
    said: tuple[object, object, object]
    headers: Headers
    value: bytes | None


def read_event(headers: Headers, value: bytes | None) -> Told | None:
    """An event in CloudEvents binary mode, or None where the headers that order it cannot be read."""
    named, members = dict(headers), _members(value)
    said = members.get("threadId"), members.get("sequence"), members.get("type")
    try:
        texts = [named[name].decode() for name in ("ce_subject", "ce_sequence", "ce_type", "ce_incarnation")]
        return Told(texts[0], int(texts[1]), texts[2], texts[3], members.get("turnId"), said, headers, value)
    except (KeyError, ValueError):
        return None


def _members(value: bytes | None) -> Mapping[str, object]:
    """Of an event's envelope; none where it is no JSON object."""
    try:
        document = json.loads((value or b"").decode())
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}

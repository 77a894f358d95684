"""Everything that can be wrong with a record, sent between good ones on one partition, and what became of it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
from intention_kernel.contracts.turn_request import MAX_REQUEST_BYTES, TurnInput, TurnRequest
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.testing.broker import Headers, LogRecord, Place
from intention_kernel.testing.system import Installation, System, open_system

APPLICATION = "tests.support.echo:application"
ATTEMPTS = 3
_ROOT = Path(__file__).parents[2]
_RECEIPT = "0123456789abcdef0123456789abcdef"
_BAD_UTF8 = b"\xff\xfe\x80"
HEADERS: Headers = (("traceparent", b"\xff\xfe"), ("empty", None))


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that can never become a turn: why, and words that its detail must have."""

    key: bytes | None
    value: bytes | None
    reason: str
    detail: str = ""


def document(thread_id: str, **members: Any) -> dict[str, Any]:
    """A request that is good but for what `members` make of it."""
    good = {"schemaVersion": 1, "threadId": thread_id, "turnId": "t", "agentId": "echo", "input": {"text": "say 1 hi"}}
    return good | members


def bad(reason: str, detail: str = "", thread_id: str = "wrong", **members: Any) -> Bad:
    """A record whose value is JSON and a request nevertheless not."""
    return Bad(thread_id.encode(), json.dumps(document(thread_id, **members)).encode(), reason, detail)


def _continuation(turn_id: str) -> dict[str, Any]:
    return {
        "turnId": turn_id,
        "input": None,
        "trigger": {"kind": "reconciliation", "receiptId": _RECEIPT, "settlement": 1},
    }


def without_input(record: Bad) -> Bad:
    """The member `input` left out."""
    assert record.value is not None
    members = {name: value for name, value in json.loads(record.value).items() if name != "input"}
    return Bad(record.key, json.dumps(members).encode(), record.reason, record.detail)


def _unknown_members(count: int) -> dict[str, Any]:
    return {f"u{number}": 1 for number in range(count)}


BAD: dict[str, Bad] = {
    "undecodable bytes": Bad(b"wrong", b"\x00\xff{", "not_json"),
    "JSON that is no object": Bad(b"wrong", b"[1, 2]", "invalid"),
    "a duplicate member": Bad(b"wrong", b'{"threadId": "a", "threadId": "b"}', "not_json", "threadId"),
    "absurd depth": Bad(b"wrong", b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "not_json"),
    "a null value": Bad(b"wrong", None, "missing_value"),
    "an empty value": Bad(b"wrong", b"", "missing_value"),
    "a key that is not the thread id": Bad(b"other", json.dumps(document("wrong")).encode(), "key_mismatch"),
    "a key that is not UTF-8": Bad(_BAD_UTF8, json.dumps(document("wrong")).encode(), "key_mismatch"),
    "no key": Bad(None, json.dumps(document("wrong")).encode(), "key_mismatch"),
    "an unknown member": bad("invalid", "hostContxt", hostContxt={}),
    "an unknown schema version": bad("invalid", "schemaVersion", schemaVersion=2),
    "an id of too many characters": bad("invalid", "turnId", turnId="x" * 201),
    "an id of too many bytes": bad("invalid", "turnId", turnId="\N{KATAKANA LETTER A}" * 171),
    "a NUL in an id": bad("invalid", "turnId", turnId="a\0b"),
    "a NUL in the thread id": bad("invalid", "threadId", thread_id="a\0b"),
    "an empty id": bad("invalid", "agentId", agentId=""),
    "too large a request": bad("too_large", str(MAX_REQUEST_BYTES), input={"text": "say 1 " + "x" * MAX_REQUEST_BYTES}),
    "a reserved turn id": bad("reserved_turn_id", turnId="reconciliation:mine"),
    "a continuation whose id is not the derived one": without_input(
        bad("forged_continuation", **_continuation(f"reconciliation:{_RECEIPT}:2:1"))
    ),
    "a settlement that no column holds": without_input(
        bad(
            "invalid",
            "settlement",
            turnId=f"reconciliation:{_RECEIPT}:{10**20}:1",
            trigger={"kind": "reconciliation", "receiptId": _RECEIPT, "settlement": 10**20},
        )
    ),
    "an issue that no column holds": without_input(
        bad("forged_continuation", **_continuation(f"reconciliation:{_RECEIPT}:1:{10**20}"))
    ),
    "a schema version that is true": bad("invalid", "schemaVersion", schemaVersion=True),
    "more unknown members than a header holds": bad("invalid", "u0", **_unknown_members(50_000)),
    "a continuation without a settlement": without_input(
        bad("forged_continuation", _RECEIPT, **_continuation(f"reconciliation:{_RECEIPT}:1:1"))
    ),
    "an unknown agent": bad("unknown_agent", "nobody", agentId="nobody"),
    "an agent that does not have the thread": bad("agent_mismatch", "echo", thread_id="bound", agentId="nobody"),
    "a tenant that does not have the thread": bad("tenant_mismatch", thread_id="bound", tenantId="other"),
    "a turn id with other content": bad(
        "conflict", thread_id="bound", turnId="first", input={"text": "say 1 something else"}
    ),
}
"""By what is wrong. The thread `bound` has a turn `first` of the agent `echo`, sent before all of them."""


@dataclass(frozen=True, slots=True)
class Became:
    """What was found of one bad record: its row, if any, and its records on turns.rejected."""

    place: Place
    row: asyncpg.Record | None
    published: tuple[LogRecord, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What became of everything."""

    bad: dict[str, Became]
    neighbours_missing: list[str]
    committed: dict[str, asyncpg.Record]
    bound_turns: list[str]
    set_aside: list[asyncpg.Record]
    event_types: dict[str, list[str]]


def neighbours(partition: int, partitions: int, count: int) -> list[str]:
    """Thread ids that belong on the partition."""
    names = (f"neighbour-{number}" for number in range(10_000))
    found = (name for name in names if partition_for(name.encode(), partitions) == partition)
    return [next(found) for _ in range(count)]


def turn(thread_id: str, turn_id: str, text: str) -> TurnRequest:
    """A good request."""
    return TurnRequest(
        schema_version=1, thread_id=thread_id, turn_id=turn_id, agent_id="echo", input=TurnInput(text=text)
    )


@asynccontextmanager
async def echo_system(database_url: str, bootstrap: str, prefix: str) -> AsyncIterator[System]:
    """An installation of the echo application; nothing runs yet."""
    environment = {
        "INTENTION_TURN_ATTEMPTS": str(ATTEMPTS),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
    }
    async with open_system(Installation(database_url, bootstrap, prefix, APPLICATION, environment)) as system:
        yield system


async def send_everything(system: System) -> Findings:
    """All on one partition: the bound thread's turn, one whose event is too large, then bad records and neighbours in turns.

    They are there before a runner is, so that it gets all of them at once.
    """
    topic = system.topics.requests
    partitions = len(await system.broker.ends(topic))
    partition = partition_for(b"bound", partitions)
    large_thread, header_thread, *names = neighbours(partition, partitions, len(BAD) + 2)
    bound, large = turn("bound", "first", "say 1 hello"), turn(large_thread, "large", "say 950000 x")
    await system.send(bound)
    await system.send(large)
    key, value = header_thread.encode(), json.dumps(document(header_thread)).encode()
    await system.broker.send(topic, key, value, headers=HEADERS)
    places: dict[str, Place] = {}
    for name, (what, record) in zip(names, BAD.items(), strict=True):
        places[what] = await system.broker.send(topic, record.key, record.value, headers=HEADERS, partition=partition)
        await system.send(turn(name, "t", "say 1 hi"))
    await system.start_runner()
    await system.start_relay()
    good = [turn(name, "t", "say 1 hi") for name in (header_thread, *names)]
    await system.await_quiet([bound, large, *good])
    return await _findings(system, places, [one.thread_id for one in good])


async def _findings(system: System, places: dict[str, Place], good: list[str]) -> Findings:
    rows = await system.fetch("select * from rejected_requests")
    published = await system.broker.read(system.topics.rejected)
    turns = await system.fetch("select * from turns")
    committed = {row["thread_id"]: row for row in turns}
    events: dict[str, list[str]] = {}
    for record in await system.broker.read(system.topics.events):
        events.setdefault(record.header("ce_subject"), []).append(record.header("ce_type"))
    return Findings(
        bad={what: _became(place, rows, published) for what, place in places.items()},
        neighbours_missing=[thread_id for thread_id in good if thread_id not in committed],
        committed=committed,
        bound_turns=[row["turn_id"] for row in turns if row["thread_id"] == "bound"],
        set_aside=await system.fetch("select * from set_aside_turns"),
        event_types=events,
    )


def _became(place: Place, rows: list[asyncpg.Record], published: list[LogRecord]) -> Became:
    origin = (place.topic, place.partition, place.offset)
    row = next(
        (row for row in rows if (row["origin_topic"], row["origin_partition"], row["origin_offset"]) == origin), None
    )
    return Became(place, row, tuple(record for record in published if _origin(record) == origin))


def _origin(record: LogRecord) -> tuple[str, int, int]:
    return (
        record.header("origin_topic"),
        int(record.header("origin_partition")),
        int(record.header("origin_offset")),
    )

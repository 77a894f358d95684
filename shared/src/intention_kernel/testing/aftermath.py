"""What must be true of an installation once it is quiet, whatever was done to its processes before (design 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from intention_kernel.contracts.event import WireRecord, unpack_records
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.postgres.packing import unpack
from intention_kernel.testing.broker import LogRecord
from intention_kernel.testing.system import System

_TURNS = (
    "select thread_id, turn_id, revision, first_sequence, event_count, events from turns order by thread_id, revision"
)
_HEADS = "select thread_id, revision, next_sequence, lease_nonce is not null as leased from threads"
_RECEIPTS = "select effect_key, state, contradicted from receipts order by effect_key"
_GIVEN_UP = "select turn_id, reason from set_aside_turns union all select turn_id, reason from rejected_requests"


async def check_aftermath(system: System, requests: Sequence[TurnRequest], *, contradicted: bool = False) -> None:
    """Raises AssertionError with everything that is wrong.

    One commit per requested turn id and none for others but continuations; every committed event on the topic, in
    thread order, without a gap and with one content; every receipt completed and undisputed, or with `contradicted` at
    least one of them disputed.
    """
    problems = [
        *await _turn_problems(system, requests),
        *await _event_problems(system),
        *await _receipt_problems(system, contradicted=contradicted),
        *(f"{row['turn_id']} was given up: {row['reason']}" for row in await system.fetch(_GIVEN_UP)),
    ]
    assert not problems, "after the crash:\n" + "\n".join(problems)


def effects_problems(ledger: Iterable[str], expected: Iterable[str], what: str) -> list[str]:
    """What the provider counted against what should have been: every effect once, nothing else."""
    found, wanted = Counter(ledger), Counter(expected)
    return [
        f"{key} {what} {found[key]} times, not {wanted[key]}" for key in found | wanted if found[key] != wanted[key]
    ]


async def _turn_problems(system: System, requests: Sequence[TurnRequest]) -> list[str]:
    rows = await system.fetch(_TURNS)
    committed = Counter((row["thread_id"], row["turn_id"]) for row in rows)
    wanted = {(request.thread_id, request.turn_id) for request in requests}
    problems = [f"turn {turn_id} has no commit" for thread_id, turn_id in wanted if not committed[thread_id, turn_id]]
    problems += [
        f"nobody asked for turn {turn_id}"
        for thread_id, turn_id in committed
        if (thread_id, turn_id) not in wanted and not turn_id.startswith("reconciliation:")
    ]
    for head in await system.fetch(_HEADS):
        revisions = [row["revision"] for row in rows if row["thread_id"] == head["thread_id"]]
        if revisions != list(range(1, head["revision"] + 1)):
            problems.append(f"thread {head['thread_id']} has revision {head['revision']} and turns {revisions}")
        if head["leased"]:
            problems.append(f"thread {head['thread_id']} is still leased")
    return problems


async def _receipt_problems(system: System, *, contradicted: bool) -> list[str]:
    rows = await system.fetch(_RECEIPTS)
    problems = [f"{row['effect_key']} is {row['state']}" for row in rows if row["state"] != "completed"]
    disputed = [row["effect_key"] for row in rows if row["contradicted"]]
    if contradicted and not disputed:
        problems.append("an answer disagrees with what was settled, and no receipt says so")
    return problems + [f"{effect_key} is contradicted" for effect_key in disputed if not contradicted]


async def _event_problems(system: System) -> list[str]:
    published, problems = read_once(await system.broker.read(system.topics.events))
    rows = await system.fetch(_TURNS)
    for thread_id in {row["thread_id"] for row in rows}:
        committed = [
            record for row in rows if row["thread_id"] == thread_id for record in unpack_records(unpack(row["events"]))
        ]
        found = published.pop(thread_id, [])
        if found != committed:
            problems.append(f"thread {thread_id} has {len(committed)} events, the topic tells {len(found)} or others")
        completed = [record for record in committed if dict(record.headers)["ce_type"] == b"turn.completed"]
        if len(completed) != sum(row["thread_id"] == thread_id for row in rows):
            problems.append(f"thread {thread_id} has {len(completed)} turn.completed events, one a turn is right")
    return problems + [f"thread {thread_id} has events and no turn" for thread_id in published]


def read_once(records: Iterable[LogRecord]) -> tuple[dict[str, list[WireRecord]], list[str]]:
    """Events as a reader keeps them (protocol R37): each sequence once, in order; and what it complains of."""
    threads: dict[str, list[WireRecord]] = {}
    problems: list[str] = []
    for record in records:
        thread_id, sequence = record.header("ce_subject"), int(record.header("ce_sequence") or 0)
        event = WireRecord(tuple((name, value or b"") for name, value in record.headers), record.value)
        seen = threads.setdefault(thread_id, [])
        if sequence == len(seen) + 1:
            seen.append(event)
        elif not 1 <= sequence <= len(seen):
            problems.append(f"thread {thread_id}: event {sequence} came after {len(seen)}")
        elif seen[sequence - 1] != event:
            problems.append(f"thread {thread_id}: two events have sequence {sequence}")
    return threads, problems

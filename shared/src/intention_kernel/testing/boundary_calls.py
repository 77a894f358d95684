"""Calls of the durable boundary with everything filled in, so that a test names only what it is about."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Literal

from intention_kernel.contracts.event import WireRecord, pack_records
from intention_kernel.contracts.receipt import Summary
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import EndAttempt, Prepare, Prepared
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import (
    Begin,
    Begun,
    BlockedStep,
    Commit,
    Committed,
    ContinuationOf,
    JournalEntry,
    Origin,
    SetAside,
)
from intention_kernel.testing.boundary_harness import BoundaryStore

LEASE_SECONDS = 30.0
REQUESTED_AT_MS = 1_767_225_600_000
FINGERPRINT = "build-1"
ATTEMPTS_LIMIT = 5
BOOT = random_id()


def new_thread() -> str:
    """A thread id that no other test has."""
    return f"thread-{random_id().hex}"


def digest_of(content: str) -> bytes:
    """The digest of a request with that content."""
    return hashlib.sha256(content.encode()).digest()


def begin_of(thread_id: str, turn_id: str, content: str = "hello") -> Begin:
    """One attempt of that turn by the build that fits, with a nonce of its own."""
    return Begin(
        thread_id=thread_id,
        turn_id=turn_id,
        digest=digest_of(content),
        nonce=random_id(),
        agent_id="agent",
        tenant_id="tenant",
        accepts=(FINGERPRINT,),
        schema_revision=1,
        attempts_limit=ATTEMPTS_LIMIT,
        lease_seconds=LEASE_SECONDS,
    )


async def begun(store: BoundaryStore, thread_id: str, turn_id: str, content: str = "hello") -> Begun:
    """Begin and expect the thread."""
    answer = await store.begin(begin_of(thread_id, turn_id, content))
    assert isinstance(answer, Begun), answer
    return answer


def claim(effect_key: str) -> JournalEntry:
    """The line that says that the turn prepared the key (R15)."""
    return JournalEntry(entry=f"claim:{effect_key}", kind="claim", effect_key=effect_key)


def outcome_line(
    effect_key: str, outcome: Literal["value", "uncertain", "failed"], body: bytes = b"{}", ordinal: int = 0
) -> JournalEntry:
    """The line that says what the program saw of the key (R16)."""
    return JournalEntry(f"outcome:{effect_key}:{ordinal}", "outcome", effect_key, outcome, b"fingerprint", body)


def recorded_line(name: str, body: bytes) -> JournalEntry:
    """A model's or a step's result."""
    return JournalEntry(entry=f"recorded:{name}:0", kind="recorded", request_digest=digest_of(name), body=body)


def prepare_of(thread_id: str, turn_id: str, fence: int, order: str = "1", *, payload: bytes | None = None) -> Prepare:
    """An attempt of the effect `reserve:<order>` with its claim; equal orders have equal payloads, others differ."""
    effect_key = f"reserve:{order}"
    payload = order.encode("utf-8", "surrogatepass") if payload is None else payload
    return Prepare(
        thread_id=thread_id,
        turn_id=turn_id,
        effect_key=effect_key,
        effect_id="reserve",
        fingerprint=hashlib.sha256(payload).digest(),
        payload=payload,
        host_context=b"{}",
        summary=Summary(title=f"Reserve {order}"),
        fence=fence,
        attempt_id=random_id(),
        agent_id="agent",
        tenant_id="tenant",
        lease_seconds=LEASE_SECONDS,
        call_timeout_seconds=10.0,
        deduplicates=False,
        key_window_seconds=None,
        twins=False,
        instance="runner-1",
        boot=BOOT,
        requested_at_ms=REQUESTED_AT_MS,
        journal=(claim(effect_key),),
    )


async def prepared(store: BoundaryStore, thread_id: str, turn_id: str, fence: int, order: str = "1") -> Prepare:
    """Prepare and expect permission to call; returns what was asked, for its `end`."""
    ask = prepare_of(thread_id, turn_id, fence, order)
    answer = await store.prepare(ask)
    assert isinstance(answer, Prepared), answer
    return ask


def end_of(
    ask: Prepare, outcome: Literal["completed", "failed", "uncertain"], value: bytes | None = None
) -> EndAttempt:
    """What became of that attempt, with the line of what the program sees."""
    if outcome == "completed" and value is None:
        value = b'{"done":true}'
    seen: Literal["value", "failed", "uncertain"] = "value" if outcome == "completed" else outcome
    return EndAttempt(
        thread_id=ask.thread_id,
        turn_id=ask.turn_id,
        effect_key=ask.effect_key,
        attempt_id=ask.attempt_id,
        fence=ask.fence,
        outcome=outcome,
        value=value,
        detail="",
        returned=True,
        requested_at_ms=ask.requested_at_ms,
        journal=(outcome_line(ask.effect_key, seen),),
    )


def event_records(thread_id: str, first_sequence: int, count: int) -> tuple[WireRecord, ...]:
    """That many final records, each with its sequence in a header, as the relay sends them."""
    numbers = range(first_sequence, first_sequence + count)
    return tuple(
        WireRecord((("ce_subject", thread_id.encode()), ("ce_sequence", str(number).encode())), b'{"event":1}')
        for number in numbers
    )


def commit_of(
    thread_id: str,
    turn_id: str,
    begun: Begun,
    *,
    content: str = "hello",
    events: int = 2,
    blocked: tuple[str, ...] = (),
    claimed: tuple[str, ...] = (),
    continuation: ContinuationOf | None = None,
) -> Commit:
    """The end of that attempt. `blocked` are effect keys, whose steps belong to the resumed turn of a continuation."""
    home = continuation.resumed_turn_id if continuation and continuation.resumed_turn_id else turn_id
    return Commit(
        thread_id=thread_id,
        turn_id=turn_id,
        digest=digest_of(content),
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=begun.next_sequence,
        agent_id="agent",
        tenant_id="tenant",
        fingerprint=FINGERPRINT,
        schema_revision=1,
        checkpoint=b'{"messages":[]}',
        request=f'{{"request":"{turn_id}"}}'.encode(),
        requested_at_ms=REQUESTED_AT_MS,
        result=f'{{"result":"{turn_id}"}}'.encode(),
        status="blocked" if blocked else "completed",
        events=pack_records(event_records(thread_id, begun.next_sequence, events)),
        event_count=events,
        blocked=tuple(BlockedStep(key, home) for key in blocked),
        claimed=claimed,
        continuation=continuation,
    )


async def committed(store: BoundaryStore, commit: Commit) -> int:
    """Commit and expect it to be durable; the revision."""
    answer = await store.commit(commit)
    assert isinstance(answer, Committed), answer
    return answer.revision


async def blocked_turn(store: BoundaryStore, thread_id: str, turn_id: str, order: str = "1") -> Prepare:
    """A turn whose call nobody knows the outcome of, committed as blocked on its receipt."""
    attempt = await begun(store, thread_id, turn_id)
    ask = await prepared(store, thread_id, turn_id, attempt.fence, order)
    await store.end(end_of(ask, "uncertain"))
    done = commit_of(thread_id, turn_id, attempt, blocked=(ask.effect_key,), claimed=(ask.effect_key,))
    await committed(store, done)
    return ask


def origin_of(offset: int = 7, *, partition: int = 3, value: bytes | None = b"{") -> Origin:
    """Where a record came from."""
    return Origin(
        topic="turns.requests",
        partition=partition,
        offset=offset,
        key=b"key",
        value=value,
        headers=(("name", b"\x00\xff"), ("none", None)),
        timestamp_ms=REQUESTED_AT_MS,
    )


def set_aside_of(thread_id: str, turn_id: str, begun: Begun, *, content: str = "hello", events: int = 1) -> SetAside:
    """Give that attempt's turn up."""
    return SetAside(
        thread_id=thread_id,
        turn_id=turn_id,
        digest=digest_of(content),
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=begun.next_sequence,
        reason="attempts_used_up",
        detail="the program failed",
        attempts=begun.attempt,
        origin=replace(origin_of(), key=thread_id.encode()),
        events=pack_records(event_records(thread_id, begun.next_sequence, events)),
        event_count=events,
    )


def rejection_of(origin: Origin, thread_id: str | None = None, turn_id: str | None = None) -> Rejection:
    """Refuse that record."""
    return Rejection(
        origin=origin, reason="not_json", detail="at the top: ends early", thread_id=thread_id, turn_id=turn_id
    )

"""Rows as JSON documents for people and scripts: bytes unpacked, nothing lost (design 5)."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import asyncpg

from intention_kernel.contracts.event import rfc3339, unpack_records
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.ports.conversations import LAST_TURNS, Document
from intention_kernel.postgres.origin_rows import unpack_headers
from intention_kernel.postgres.packing import unpack

_DIGEST_DIGITS = 12
_ASIDE_STATES = {"open": "set_aside", "redriven": "redriven", "dropped": "dropped"}


def thread_document(
    head: asyncpg.Record,
    *,
    turns: list[asyncpg.Record],
    receipts: list[asyncpg.Record],
    blocked: list[asyncpg.Record],
    asides: list[asyncpg.Record],
) -> Document:
    """A thread: its head, its memory, what it waits for, what was set aside of it, and `LAST_TURNS` turns.

    `nextBefore` is where the next page of turns begins; None: there is none.
    """
    in_progress: Document | None = None
    if head["turn_id"] is not None:
        in_progress = {
            "turnId": head["turn_id"],
            "attempts": head["attempts"],
            "crashes": head["crashes"],
            "isLeased": head["is_leased"],
            "leaseUntil": _time(head["lease_until"]),
        }
    return {
        "threadId": head["thread_id"],
        "state": head["state"],
        "agentId": head["agent_id"],
        "tenantId": head["tenant_id"],
        "revision": head["revision"],
        "nextSequence": head["next_sequence"],
        "fence": head["fence"],
        "fingerprint": head["fingerprint"],
        "schemaRevision": head["schema_revision"],
        "turnInProgress": in_progress,
        "openReceipts": [receipt_document(receipt) for receipt in receipts],
        "blocked": [_blocked_line(step) for step in blocked],
        "setAside": [_aside_line(aside) for aside in asides],
        "lastTurns": [_turn_line(turn) for turn in turns[:LAST_TURNS]],
        "nextBefore": turns[LAST_TURNS - 1]["revision"] if len(turns) > LAST_TURNS else None,
        "checkpoint": _packed_json(head["checkpoint"]),
    }


def turn_document(turn: asyncpg.Record, receipts: list[asyncpg.Record], asides: list[asyncpg.Record]) -> Document:
    """A committed turn: what was asked, what came of it, and its events as they went out."""
    return {
        "threadId": turn["thread_id"],
        "turnId": turn["turn_id"],
        "state": "committed",
        "revision": turn["revision"],
        "status": turn["status"],
        "digest": turn["digest"].hex(),
        "requestedAt": _time_of_ms(turn["requested_at_ms"]),
        "committedAt": _time(turn["committed_at"]),
        "request": _packed_json(turn["request"]),
        "result": _packed_json(turn["result"]),
        "receipts": [receipt_document(receipt) for receipt in receipts],
        "setAside": [_aside_line(aside) for aside in asides],
        "events": list[JsonValue](turn_events(turn["events"])),
    }


def turn_events(stored: bytes) -> list[JsonValue]:
    """A turn's events as they went out; none where retention has let them go."""
    return [loads(record.value or b"") for record in unpack_records(unpack(stored))]


def unfinished_document(
    thread_id: str,
    turn_id: str,
    head: asyncpg.Record | None,
    receipts: list[asyncpg.Record],
    asides: list[asyncpg.Record],
) -> Document | None:
    """A turn that is not committed: in progress, set aside, redriven or dropped; None where nothing is known of it."""
    runs = head is not None and head["turn_id"] == turn_id
    if not runs and not asides:
        return None
    return {
        "threadId": thread_id,
        "turnId": turn_id,
        "state": "in_progress" if runs else _ASIDE_STATES[asides[-1]["state"]],
        "attempts": head["attempts"] if head is not None and runs else asides[-1]["attempts"],
        "receipts": [receipt_document(receipt) for receipt in receipts],
        "setAside": [_aside_line(aside) for aside in asides],
    }


def receipt_document(receipt: asyncpg.Record) -> Document:
    """A receipt as lists show it."""
    amount = receipt["amount"]
    return {
        "receiptId": receipt["receipt_id"],
        "threadId": receipt["thread_id"],
        "effectKey": receipt["effect_key"],
        "effect": receipt["effect_id"],
        "turnId": receipt["turn_id"],
        "agentId": receipt["agent_id"],
        "tenantId": receipt["tenant_id"],
        "state": receipt["state"],
        "attempt": receipt["attempt"],
        "version": receipt["version"],
        "settlements": receipt["settlements"],
        "contradicted": receipt["contradicted"],
        "title": receipt["title"],
        "provider": receipt["provider"],
        "amount": None if amount is None else str(amount),
        "currency": receipt["currency"],
        "reference": receipt["reference"],
        "preparedAt": _time(receipt["prepared_at"]),
        "cause": receipt["cause"],
    }


def receipt_history_document(
    receipt: asyncpg.Record, transitions: list[asyncpg.Record], waiting: list[asyncpg.Record]
) -> Document:
    """A receipt with its payload, its value, its history and who waits for it."""
    return {
        **receipt_document(receipt),
        "firstPreparedAt": _time(receipt["first_prepared_at"]),
        "callDeadline": _time(receipt["call_deadline"]),
        "returnedAt": _time(receipt["returned_at"]),
        "payload": _packed_json(receipt["payload"]),
        "value": _packed_json(receipt["value"]),
        "hostContext": _packed_json(receipt["host_context"]),
        "transitions": [_transition(transition) for transition in transitions],
        "waitingTurns": [{"turnId": turn["turn_id"], "revision": turn["revision"]} for turn in waiting],
    }


def rejection_document(row: asyncpg.Record) -> Document:
    """A rejected record or set-aside turn as lists show it; its `id` is what `rejected show` takes."""
    origin = f"{row['origin_topic']}/{row['origin_partition']}/{row['origin_offset']}"
    set_aside = row["kind"] == "set_aside"
    return {
        "id": f"{row['thread_id']}@{row['revision']}" if set_aside else f"{origin}/{row['digest'][:_DIGEST_DIGITS]}",
        "kind": row["kind"],
        "threadId": row["thread_id"],
        "turnId": row["turn_id"],
        "state": row["state"],
        "reason": row["reason"],
        "detail": text_of(row["detail"]),
        "at": _time(row["at"]),
        "origin": {
            "topic": row["origin_topic"],
            "partition": row["origin_partition"],
            "offset": row["origin_offset"],
        },
    }


def rejection_record_document(row: asyncpg.Record) -> Document:
    """The same with the record, byte for byte."""
    return {
        **rejection_document(row),
        "digest": row["digest"],
        "record": {
            "timestamp": _time_of_ms(row["record_timestamp_ms"]),
            "key": _bytes(row["record_key"]),
            "value": _bytes(row["record_value"]),
            "headers": [[name, _bytes(value)] for name, value in unpack_headers(row["record_headers"])],
        },
    }


def text_of(detail: bytes) -> str:
    """A text for people that was stored as bytes."""
    return detail.decode("utf-8", "replace")


def _turn_line(turn: asyncpg.Record) -> Document:
    return {
        "turnId": turn["turn_id"],
        "revision": turn["revision"],
        "status": turn["status"],
        "events": turn["event_count"],
        "committedAt": _time(turn["committed_at"]),
    }


def _blocked_line(step: asyncpg.Record) -> Document:
    return {
        "turnId": step["turn_id"],
        "revision": step["revision"],
        "receiptId": step["receipt_id"],
        "effectKey": step["effect_key"],
        "effect": step["effect_id"],
        "state": step["state"],
        "title": step["title"],
    }


def _aside_line(aside: asyncpg.Record) -> Document:
    return {
        "id": f"{aside['thread_id']}@{aside['revision']}",
        "turnId": aside["turn_id"],
        "state": aside["state"],
        "reason": aside["reason"],
        "detail": text_of(aside["detail"]),
        "attempts": aside["attempts"],
        "at": _time(aside["at"]),
    }


def _transition(row: asyncpg.Record) -> Document:
    return {
        "version": row["version"],
        "from": row["from_state"],
        "state": row["state"],
        "attempt": row["attempt"],
        "contradicted": row["contradicted"],
        "settlements": row["settlements"],
        "cause": row["cause"],
        "at": _time(row["at"]),
    }


def _bytes(data: bytes | None) -> JsonValue:
    """Text where the bytes are UTF-8, else base64; both say which."""
    if data is None:
        return None
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _packed_json(stored: bytes | None) -> JsonValue:
    return None if stored is None else loads(unpack(stored))


def _time(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at.astimezone(UTC))


def _time_of_ms(milliseconds: int) -> str:
    return rfc3339(datetime.fromtimestamp(milliseconds / 1000, UTC))

"""Commit and set-aside as parameters, and their outcomes as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from intention_kernel.ports.turn_store import (
    Commit,
    CommitAnswer,
    Committed,
    Fenced,
    Replayed,
    Resequence,
    SetAside,
    Unclaimed,
)
from intention_kernel.postgres.boundary import transposed
from intention_kernel.postgres.journal_rows import journal_columns
from intention_kernel.postgres.origin_rows import origin_parameters
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.text import clean


def commit_columns(rows: Sequence[Commit]) -> Sequence[Any]:
    """The parameters of sql/commit_turns.sql."""
    blocked = [(place, step.effect_key, step.turn_id) for place, row in enumerate(rows, 1) for step in row.blocked]
    return (
        *transposed([_commit(row) for row in rows]),
        [place for place, _, _ in blocked],
        [key for _, key, _ in blocked],
        [turn_id for _, _, turn_id in blocked],
        # a turn that met no effect can leave nothing waiting, so its journal is over
        *journal_columns([row.journal if row.blocked or row.claimed else () for row in rows]),
    )


def _commit(row: Commit) -> tuple[Any, ...]:
    return (
        row.thread_id,
        row.turn_id,
        row.digest,
        row.fence,
        row.revision,
        row.next_sequence,
        row.agent_id,
        row.tenant_id,
        row.fingerprint,
        row.schema_revision,
        pack(row.checkpoint),
        pack(row.request),
        row.requested_at_ms,
        pack(row.result),
        row.status,
        pack(row.events),
        row.event_count,
        row.continuation.effect_key if row.continuation else None,
        row.continuation.resumed_turn_id if row.continuation else None,
        "\x1f".join(row.claimed),
    )


def set_aside_parameters(aside: SetAside) -> tuple[Any, ...]:
    """The parameters of sql/set_aside_turn.sql."""
    origin = aside.origin
    return (
        aside.thread_id,
        aside.turn_id,
        aside.digest,
        aside.fence,
        aside.revision,
        aside.next_sequence,
        clean(aside.reason),
        clean(aside.detail).encode(),
        aside.attempts,
        *origin_parameters(origin),
        pack(aside.events),
        aside.event_count,
    )


def commit_answer(_: object, record: asyncpg.Record) -> CommitAnswer | None:
    """What a row of commit_turns_v1, set_aside_turn_v1 or reject_begun_v1 says; None where it met a foreign lock."""
    match record["outcome"]:
        case "committed":
            return Committed(record["revision"])
        case "replayed":
            return Replayed(unpack(record["result"]), record["revision"])
        case "resequence":
            return Resequence(record["next_sequence"])
        case "unclaimed":
            return Unclaimed(tuple(record["keys"]))
        case "fenced":
            return Fenced()
        case _:
            return None

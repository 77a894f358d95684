"""Begin as columns, and its outcomes as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from intention_kernel.ports.turn_store import (
    AlreadySetAside,
    Begin,
    BeginAnswer,
    Begun,
    Busy,
    Conflict,
    Deleted,
    Exhausted,
    Held,
    Replayed,
)
from intention_kernel.postgres.boundary import transposed
from intention_kernel.postgres.journal_rows import journal_of_arrays
from intention_kernel.postgres.packing import unpack

_PLAIN: dict[str, BeginAnswer] = {"conflict": Conflict(), "busy": Busy(), "deleted": Deleted()}


def begin_columns(rows: Sequence[Begin]) -> Sequence[Any]:
    """The parameters of sql/begin_turns.sql."""
    return transposed(
        [
            (
                row.thread_id,
                row.turn_id,
                row.digest,
                row.nonce,
                row.agent_id,
                row.tenant_id,
                None if row.accepts is None else ",".join(row.accepts),
                row.schema_revision,
                row.attempts_limit,
                row.lease_seconds,
            )
            for row in rows
        ]
    )


def begin_answer(_: Begin, record: asyncpg.Record) -> BeginAnswer | None:
    """What a row of begin_turns_v1 says; None where the head is locked elsewhere."""
    match record["outcome"]:
        case "begun":
            return _begun(record)
        case "exhausted":
            return Exhausted(_begun(record))
        case "replayed":
            return Replayed(unpack(record["result"]), record["revision"])
        case "held":
            return Held(record["fingerprint"], record["schema_revision"])
        case "set_aside":
            return AlreadySetAside(record["reason"])
        case "contended":
            return None
        case outcome:
            return _PLAIN[outcome]


def _begun(record: asyncpg.Record) -> Begun:
    checkpoint = record["checkpoint"]
    return Begun(
        fence=record["fence"],
        attempt=record["attempt"],
        crashes=record["crashes"],
        revision=record["revision"],
        next_sequence=record["next_sequence"],
        incarnation=record["incarnation"],
        checkpoint=None if checkpoint is None else unpack(checkpoint),
        agent_id=record["agent_id"],
        tenant_id=record["tenant_id"],
        journal=journal_of_arrays(record),
        requested_at_ms=record["requested_at_ms"],
    )

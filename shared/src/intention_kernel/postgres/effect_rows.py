"""Prepare and end as columns, and their outcomes as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from intention_kernel.ids import receipt_id
from intention_kernel.ports.effect_store import (
    Completed,
    EndAnswer,
    EndAttempt,
    FailedAlready,
    Prepare,
    PrepareAnswer,
    Prepared,
    Taken,
    Uncertain,
)
from intention_kernel.ports.turn_store import Fenced
from intention_kernel.postgres.boundary import transposed
from intention_kernel.postgres.journal_rows import journal_columns
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.text import clean, clean_or_none

_PLAIN: dict[str, PrepareAnswer] = {"taken": Taken(), "failed": FailedAlready(), "fenced": Fenced()}


def prepare_columns(rows: Sequence[Prepare]) -> Sequence[Any]:
    """The parameters of sql/prepare_effects.sql."""
    return (*transposed([_prepare(row) for row in rows]), *journal_columns([row.journal for row in rows]))


def _prepare(row: Prepare) -> tuple[Any, ...]:
    return (
        row.thread_id,
        row.turn_id,
        row.effect_key,
        receipt_id(row.thread_id, row.effect_key),
        row.effect_id,
        row.fingerprint,
        pack(row.payload),
        pack(row.host_context),
        clean(row.summary.title),
        clean_or_none(row.summary.provider),
        row.summary.amount,
        clean_or_none(row.summary.currency),
        row.fence,
        row.attempt_id,
        row.agent_id,
        row.tenant_id,
        row.lease_seconds,
        row.call_timeout_seconds,
        row.deduplicates,
        row.key_window_seconds,
        row.twins,
        clean(row.instance),
        row.boot,
        row.requested_at_ms,
        row.restored,
    )


def prepare_answer(_: Prepare, record: asyncpg.Record) -> PrepareAnswer | None:
    """What a row of prepare_effects_v1 says; None where something is locked elsewhere."""
    match record["outcome"]:
        case "prepared":
            return Prepared(record["attempt"], record["version"])
        case "completed":
            return Completed(unpack(record["value"]), record["attempt"])
        case "uncertain":
            return Uncertain(record["receipt_id"], record["effect_key"])
        case "contended":
            return None
        case outcome:
            return _PLAIN[outcome]


def end_columns(rows: Sequence[EndAttempt]) -> Sequence[Any]:
    """The parameters of sql/end_effects.sql."""
    return (*transposed([_end(row) for row in rows]), *journal_columns([row.journal for row in rows]))


def _end(row: EndAttempt) -> tuple[Any, ...]:
    return (
        row.thread_id,
        row.turn_id,
        row.effect_key,
        row.attempt_id,
        row.fence,
        row.outcome,
        None if row.value is None else pack(row.value),
        clean(row.detail).encode(),
        row.returned,
        row.requested_at_ms,
    )


def end_answer(row: EndAttempt, record: asyncpg.Record) -> EndAnswer | KeyError | None:
    """What a row of end_effects_v1 says; None where something is locked elsewhere; KeyError: it was never prepared."""
    if record["outcome"] == "contended":
        return None
    if record["outcome"] == "absent":
        return KeyError(row.effect_key)
    return EndAnswer(record["outcome"], record["state"], record["contradicted"])

"""Rows of the operator queue's statements as values."""

from __future__ import annotations

import asyncpg

from intention_kernel.contracts.json_codec import loads
from intention_kernel.contracts.receipt import ReceiptTransition
from intention_kernel.errors import JsonError
from intention_kernel.ports.operator_queue import (
    Alone,
    ContestAnswer,
    Contested,
    DecideAnswer,
    Decided,
    Decides,
    ItemHistory,
    NotSettled,
    QueueItem,
    Seen,
)
from intention_kernel.ports.queue_work import (
    AuditLine,
    Held,
    IdTaken,
    Noted,
    NotesFull,
    NotHeld,
    NothingOpen,
    NotLookedAt,
    WorkAnswer,
    WorkChanged,
    Worked,
    Written,
)
from intention_kernel.ports.receipt_ledger import Changed, Late, Unknown
from intention_kernel.postgres import reconciliation_rows as rows

_SUMMARY = ("title", "provider", "amount", "currency")


def queue_item(row: asyncpg.Record) -> QueueItem:
    """A row of queue_queries.items_query."""
    members = {name: value for name, value in dict(row).items() if name not in _SUMMARY}
    return QueueItem(**members, summary=rows.summary_of(row))


def decide_answer(row: asyncpg.Record) -> DecideAnswer:
    """What decide_receipt_v1 said."""
    match row["outcome"]:
        case "settled":
            return Decides(row["settlement"], row["state"], row["version"], row["continuation"])
        case "held":
            return Held(row["owner"], row["until"])
        case "alone":
            return Alone()
        case "late":
            return Late()
        case "not_found":
            return Unknown()
        case outcome:
            return Changed(row["state"], row["version"], retrying=outcome == "retrying")


def contest_answer(row: asyncpg.Record) -> ContestAnswer:
    """What contest_receipt_v1 said."""
    match row["outcome"]:
        case "contested":
            return Contested(row["version"])
        case "held":
            return Held(row["owner"], row["until"])
        case "not_settled":
            return NotSettled(row["state"])
        case "not_found":
            return Unknown()
        case outcome:
            return Changed(row["state"], row["version"], retrying=outcome == "retrying")


def work_answer(row: asyncpg.Record) -> WorkAnswer:
    """What work_on_receipt_v1 said."""
    match row["outcome"]:
        case "worked":
            return Worked(row["version"], row["until"])
        case "held":
            return Held(row["owner"], row["until"])
        case "not_held":
            return NotHeld()
        case "changed":
            return WorkChanged(row["version"])
        case "nothing_open":
            return NothingOpen()
        case "not_looked_at":
            return NotLookedAt()
        case "id_taken":
            return IdTaken()
        case _:
            return Unknown()


def note_answer(row: asyncpg.Record) -> Noted | IdTaken | NotesFull | Unknown:
    """What note_receipt_v1 said."""
    answers: dict[str, Noted | IdTaken | NotesFull] = {"noted": Noted(), "id_taken": IdTaken(), "full": NotesFull()}
    return answers.get(row["outcome"], Unknown())


def written(row: asyncpg.Record) -> Written:
    """A row of reconciler_queue_notes.sql."""
    return Written(row["note_id"], row["kind"], row["actor"], rows.text_of(row["body"]), row["at"])


def audit_line(row: asyncpg.Record) -> AuditLine:
    """A row of audit_list.sql or reconciler_queue_audit.sql. Details are JSON or, of a person's statement, words."""
    try:
        detail = loads(row["detail"])
    except JsonError:
        detail = rows.text_of(row["detail"])
    return AuditLine(**dict(row) | {"detail": detail})


def item_history(row: asyncpg.Record) -> ItemHistory:
    """A row of reconciler_queue_items.sql."""
    return ItemHistory(**dict(row))


def seen(row: asyncpg.Record) -> Seen:
    """A row of reconciler_queue_observations.sql."""
    return Seen(**dict(row) | {"detail": rows.text_of(row["detail"]), "value": rows.json_of(row["value"])})


def decided(row: asyncpg.Record) -> Decided:
    """A row of reconciler_queue_decisions.sql."""
    evidence = None if row["evidence"] is None else rows.text_of(row["evidence"])
    return Decided(**dict(row) | {"reason": rows.text_of(row["reason"]), "evidence": evidence})


def transition(row: asyncpg.Record) -> ReceiptTransition:
    """A row of reconciler_queue_transitions.sql."""
    return ReceiptTransition(**dict(row))

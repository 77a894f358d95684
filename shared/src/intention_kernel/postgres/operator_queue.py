"""The OperatorQueue port, and over the same pool the approvals', in Postgres: one statement a call, which may be repeated (protocol R11)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.ports.operator_queue import (
    Contest,
    ContestAnswer,
    DecideAnswer,
    Place,
    QueueItem,
    ReceiptCase,
)
from intention_kernel.ports.queue_filter import Filter
from intention_kernel.ports.queue_work import (
    MOST_NOTES,
    AuditLine,
    AuditQuery,
    IdTaken,
    Note,
    Noted,
    NotesFull,
    Operation,
    Work,
    WorkAnswer,
)
from intention_kernel.ports.receipt_ledger import Settlement, Unknown
from intention_kernel.postgres import queue_rows
from intention_kernel.postgres import reconciliation_rows as rows
from intention_kernel.postgres.approvals import PostgresApprovals
from intention_kernel.postgres.identity_rows import reach
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.pool import PATIENCE_SECONDS
from intention_kernel.postgres.queue_queries import items_query
from intention_kernel.postgres.text import clean, clean_or_none

_SHOWN_LINES = 100
"""Audit lines that a case holds."""

IN_ORDER = {"enable_sort": "off", "enable_incremental_sort": "off", "max_parallel_workers_per_gather": "0"}
"""A page is read in the order of its index, and never sorted out of all that is open, whatever the planner thinks of a filter;
and starting helpers takes longer than a page."""


class PostgresQueue(PostgresApprovals):
    """A DecidingQueue over one pool, with what reconcilers do beside what people do."""

    async def items(self, query: Filter, reader: str, after: Place | None, limit: int) -> tuple[QueueItem, ...]:
        return tuple(map(queue_rows.queue_item, await self._run(*items_query(query, reader, after, limit))))

    async def case(self, receipt_id: str) -> ReceiptCase | None:
        """The receipt is read last: a settlement compares with the version that all else led up to."""
        found = await self._fetch("reconciler_queue_receipt", clean(receipt_id))
        if not found:
            return None
        key = (found[0]["thread_id"], found[0]["effect_key"])
        items = await self._fetch("reconciler_queue_items", *key)
        observations = await self._fetch("reconciler_queue_observations", *key)
        decisions = await self._fetch("reconciler_queue_decisions", *key)
        transitions = await self._fetch("reconciler_queue_transitions", *key)
        blocked = await self._fetch("reconciler_queue_blocked", *key)
        work = await self._fetch("reconciler_queue_work", *key)
        notes = await self._fetch("reconciler_queue_notes", *key)
        audit = await self.audit(AuditQuery(receipt_id, limit=_SHOWN_LINES))
        [row] = await self._fetch("reconciler_queue_receipt", clean(receipt_id))
        return ReceiptCase(
            open=rows.open_receipt(row),
            workers_stopped_at=row["stopped_at"],
            items=tuple(map(queue_rows.item_history, items)),
            observations=tuple(map(queue_rows.seen, observations)),
            decisions=tuple(map(queue_rows.decided, decisions)),
            transitions=tuple(map(queue_rows.transition, transitions)),
            blocked_turns=tuple(step["turn_id"] for step in blocked),
            work=Work(**dict(work[0])) if work else Work(),
            notes=tuple(map(queue_rows.written, notes)),
            audit=audit,
        )

    async def decide(self, settlement: Settlement, *, contested: bool, look_only: bool) -> DecideAnswer:
        [row] = await self._fetch(
            "reconciler_decide",
            settlement.thread_id,
            settlement.effect_key,
            settlement.seen_version,
            *rows.settlement_columns(settlement),
            settlement.not_after,
            contested,
            look_only,
        )
        if row["outcome"] == "settled" and not look_only:
            self._wake()
        return queue_rows.decide_answer(row)

    async def contest(self, contest: Contest) -> ContestAnswer:
        place = (contest.thread_id, contest.effect_key, contest.seen_version, contest.contest_id)
        [row] = await self._fetch("reconciler_contest", *place, clean(contest.actor), rows.raw(contest.reason))
        self._wake()
        return queue_rows.contest_answer(row)

    async def state_workers_stopped(self, case: ReceiptCase, actor: str, detail: str) -> None:
        receipt = case.open.receipt
        await self._fetch(
            "reconciler_state_stopped", receipt.thread_id, receipt.effect_key, clean(actor), rows.raw(detail)
        )

    async def work(self, operation: Operation) -> WorkAnswer:
        [row] = await self._fetch(
            "reconciler_work_on",
            clean(operation.receipt_id),
            operation.act,
            operation.seen_version,
            clean(operation.operation_id),
            clean(operation.actor),
            operation.seconds,
            clean_or_none(operation.reason),
        )
        return queue_rows.work_answer(row)

    async def note(self, note: Note) -> Noted | IdTaken | NotesFull | Unknown:
        text = rows.raw(note.text)
        ids = (clean(note.receipt_id), clean(note.note_id))
        [row] = await self._fetch("reconciler_note", *ids, note.kind, clean(note.actor), text, MOST_NOTES)
        return queue_rows.note_answer(row)

    async def audit(self, query: AuditQuery) -> tuple[AuditLine, ...]:
        terms = (clean_or_none(query.actor), clean_or_none(query.action), query.before, query.limit)
        if query.receipt_id is None:
            found = await self._fetch("audit_list", *terms, *reach(query.scope), query.of_access)
        else:
            found = await self._fetch("reconciler_queue_audit", clean(query.receipt_id), *terms)
        return tuple(map(queue_rows.audit_line, found))


@asynccontextmanager
async def open_queue(
    database_url: str,
    *,
    pool_size: int = 4,
    patience_seconds: float = PATIENCE_SECONDS,
) -> AsyncIterator[PostgresQueue]:
    """Both ports over a pool of their own, closed at the end once what is under way is answered.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    opened = open_pool(database_url, pool_size=pool_size, patience_seconds=patience_seconds, settings=IN_ORDER)
    async with opened as (pool, wake):
        yield PostgresQueue(pool, wake)

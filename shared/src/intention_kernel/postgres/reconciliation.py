"""The ReceiptLedger and OperatorQueue ports in Postgres: one statement a call, which may be repeated (protocol R11)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import asyncpg
from cramjam import DecompressionError

from intention_kernel.errors import JsonError
from intention_kernel.ports.operator_queue import Alone, Contest, ContestAnswer, Phase, QueueItem, ReceiptCase
from intention_kernel.ports.receipt_ledger import (
    Cared,
    CareTerms,
    Observation,
    OpenReceipt,
    RetryAnswer,
    RetryBegun,
    RetryRefused,
    Scanned,
    SettleAnswer,
    Settlement,
)
from intention_kernel.postgres import reconciliation_rows as rows
from intention_kernel.postgres.errors import DRIVER_ERRORS, refused
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.pool import PATIENCE_SECONDS, Pool
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean, clean_or_none

RETRY_GRACE_SECONDS = 5.0
"""After its deadline a repeated call may still be cancelled and its answer written; until then nobody settles."""

_LONGEST_REASON = 500


class PostgresReceipts:
    """Both ports. `wake` is called after whatever leaves something in the outbox."""

    def __init__(self, pool: Pool, wake: Callable[[], None]) -> None:
        self._pool = pool
        self._wake = wake

    async def scan(self, limit: int) -> Scanned:
        [row] = await self._fetch("reconciler_scan", limit)
        if row["opened"]:
            self._wake()
        return Scanned(row["uncertain"], row["opened"])

    async def claim(self, limit: int, hold_seconds: float) -> tuple[OpenReceipt, ...]:
        """One that cannot be read stops none of the others: its item says so (protocol R13)."""
        readable = []
        for row in await self._fetch("reconciler_claim", limit, hold_seconds):
            try:
                readable.append(rows.open_receipt(row))
            except (JsonError, ValueError, DecompressionError) as error:
                item = (row["thread_id"], row["effect_key"], row["settlement"])
                await self._postpone(item, f"needs a person: the stored receipt cannot be read: {error}", None)
        return tuple(readable)

    async def observe(self, observation: Observation) -> None:
        await self._fetch(
            "reconciler_observe",
            observation.thread_id,
            observation.effect_key,
            observation.settlement,
            observation.receipt_version,
            clean(observation.source),
            observation.finding,
            rows.raw(observation.detail),
            rows.packed(observation.value),
            clean_or_none(observation.reference),
            observation.started_at,
        )

    async def postpone(self, due: OpenReceipt, reason: str, seconds: float | None) -> None:
        await self._postpone((due.receipt.thread_id, due.receipt.effect_key, due.settlement), reason, seconds)

    async def settle(self, settlement: Settlement) -> SettleAnswer:
        return rows.settle_answer(await self._settled("reconciler_settle", settlement))

    async def contest(self, contest: Contest) -> ContestAnswer:
        place = (contest.thread_id, contest.effect_key, contest.seen_version, contest.contest_id)
        [row] = await self._fetch("reconciler_contest", *place, clean(contest.actor), rows.raw(contest.reason))
        self._wake()
        return rows.contest_answer(row)

    async def decide_contest(self, settlement: Settlement) -> SettleAnswer | Alone:
        row = await self._settled("reconciler_decide_contest", settlement)
        return Alone() if row["outcome"] == "alone" else rows.settle_answer(row)

    async def begin_retry(
        self, due: OpenReceipt, call_seconds: float, margin_seconds: float
    ) -> RetryBegun | RetryRefused:
        [row] = await self._fetch(
            "reconciler_begin_retry",
            due.receipt.thread_id,
            due.receipt.effect_key,
            due.receipt.version,
            call_seconds,
            RETRY_GRACE_SECONDS,
            margin_seconds,
        )
        if row["outcome"] == "begun":
            return RetryBegun(row["version"], row["unfinished"])
        return RetryRefused(window_closed=row["outcome"] == "closed")

    async def answer_retry(self, answer: RetryAnswer) -> Literal["settled", "agrees", "contradicts"]:
        settlement = answer.settlement
        [row] = await self._fetch(
            "reconciler_answer_retry",
            settlement.thread_id,
            settlement.effect_key,
            answer.attempt,
            answer.retry_id,
            answer.ended,
            *rows.settlement_columns(settlement),
        )
        self._wake()
        how: Literal["settled", "agrees", "contradicts"] = row["outcome"]
        return how

    async def end_retry(self, due: OpenReceipt, begun: RetryBegun, *, ended: bool) -> None:
        await self._fetch("reconciler_end_retry", due.receipt.thread_id, due.receipt.effect_key, begun.version, ended)

    async def care(self, limit: int, terms: CareTerms) -> Cared:
        [row] = await self._fetch(
            "reconciler_care",
            limit,
            terms.first_seconds,
            terms.again_seconds,
            terms.longest_seconds,
            terms.most_issues,
        )
        cared = Cared(row["done"], row["reissued"], row["republished"], row["failed"])
        if cared != Cared(0, 0, 0, 0):
            self._wake()
        return cared

    async def items(self, phases: Sequence[Phase], limit: int) -> tuple[QueueItem, ...]:
        return tuple(rows.queue_item(row) for row in await self._fetch("reconciler_queue_list", list(phases), limit))

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
        [row] = await self._fetch("reconciler_queue_receipt", receipt_id)
        return ReceiptCase(
            open=rows.open_receipt(row),
            workers_stopped_at=row["stopped_at"],
            items=tuple(map(rows.item_history, items)),
            observations=tuple(map(rows.seen, observations)),
            decisions=tuple(map(rows.decided, decisions)),
            transitions=tuple(map(rows.transition, transitions)),
            blocked_turns=tuple(step["turn_id"] for step in blocked),
        )

    async def state_workers_stopped(self, case: ReceiptCase, actor: str, detail: str) -> None:
        receipt = case.open.receipt
        await self._fetch(
            "reconciler_state_stopped", receipt.thread_id, receipt.effect_key, clean(actor), rows.raw(detail)
        )

    async def _settled(self, name: str, settlement: Settlement) -> asyncpg.Record:
        [row] = await self._fetch(
            name,
            settlement.thread_id,
            settlement.effect_key,
            settlement.seen_version,
            *rows.settlement_columns(settlement),
            settlement.not_after,
        )
        if row["outcome"] == "settled":
            self._wake()
        return row

    async def _postpone(self, item: tuple[str, str, int], reason: str, seconds: float | None) -> None:
        await self._fetch("reconciler_postpone", *item, clean(reason)[:_LONGEST_REASON], seconds)

    async def _fetch(self, name: str, *parameters: object) -> list[asyncpg.Record]:
        try:
            return await self._pool.fetch(statement(name), parameters)
        except DRIVER_ERRORS as error:
            raise refused(error) from error


@asynccontextmanager
async def open_receipts(
    database_url: str,
    *,
    pool_size: int = 4,
    patience_seconds: float = PATIENCE_SECONDS,
) -> AsyncIterator[PostgresReceipts]:
    """Both ports over a pool of their own, closed at the end once what is under way is answered.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    async with open_pool(database_url, pool_size=pool_size, patience_seconds=patience_seconds) as (pool, wake):
        yield PostgresReceipts(pool, wake)

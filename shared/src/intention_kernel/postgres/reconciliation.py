"""The ReceiptLedger port in Postgres: one statement a call, which may be repeated (protocol R11)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import asyncpg
from cramjam import DecompressionError

from intention_kernel.errors import JsonError
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
    """What reconcilers do. `wake` is called after whatever leaves something in the outbox."""

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
        [row] = await self._fetch(
            "reconciler_settle",
            settlement.thread_id,
            settlement.effect_key,
            settlement.seen_version,
            *rows.settlement_columns(settlement),
            settlement.not_after,
        )
        if row["outcome"] == "settled":
            self._wake()
        return rows.settle_answer(row)

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

    async def _postpone(self, item: tuple[str, str, int], reason: str, seconds: float | None) -> None:
        await self._fetch("reconciler_postpone", *item, clean(reason)[:_LONGEST_REASON], seconds)

    async def _fetch(self, name: str, *parameters: object) -> list[asyncpg.Record]:
        return await self._run(statement(name), parameters)

    async def _run(self, sql: str, parameters: Sequence[object]) -> list[asyncpg.Record]:
        try:
            return await self._pool.fetch(sql, parameters)
        except DRIVER_ERRORS as error:
            raise refused(error) from error


@asynccontextmanager
async def open_receipts(
    database_url: str,
    *,
    pool_size: int = 4,
    patience_seconds: float = PATIENCE_SECONDS,
) -> AsyncIterator[PostgresReceipts]:
    """The port over a pool of its own, closed at the end once what is under way is answered.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    async with open_pool(database_url, pool_size=pool_size, patience_seconds=patience_seconds) as (pool, wake):
        yield PostgresReceipts(pool, wake)

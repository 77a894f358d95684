"""The Redrives port in Postgres: one function a call, which may be repeated (protocol R11, R33)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg

from intention_kernel.ports.redrives import (
    ClaimedReceipt,
    DropAnswer,
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    RedriveRecordAnswer,
    RedriveTurnAnswer,
    RedriveView,
    RejectedRef,
    Ruling,
    SetAsideRef,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
    sent_again,
)
from intention_kernel.postgres.errors import DRIVER_ERRORS, refused
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.pool import PATIENCE_SECONDS, Pool
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean


class PostgresRedrives:
    """See the port. `wake` is called after whatever leaves something in the outbox."""

    def __init__(self, pool: Pool, wake: Callable[[], None]) -> None:
        self._pool = pool
        self._wake = wake

    async def redrive_turn(
        self, ref: SetAsideRef, ruling: Ruling, *, after_later_turns: bool, look_only: bool = False
    ) -> RedriveTurnAnswer:
        place = (ref.thread_id, ref.revision, after_later_turns, look_only)
        row = await self._fetch("redrive_turn", *place, *_columns(ruling))
        match row["outcome"]:
            case "not_found":
                return NoSuchRecord()
            case "not_open":
                return NotOpen(row["state"])
            case "receipts":
                return ReceiptsOpen(_view(row))
            case "later_turns":
                return WouldRunLate(_view(row))
        self._wake()
        return TurnRedriven(_view(row))

    async def drop_turn(self, ref: SetAsideRef, ruling: Ruling) -> DropAnswer:
        return _dropped(await self._fetch("drop_turn", ref.thread_id, ref.revision, *_columns(ruling)))

    async def redrive_record(self, ref: RejectedRef, ruling: Ruling, *, look_only: bool = False) -> RedriveRecordAnswer:
        kept = await self._pool.fetch(statement("rejected_record"), _place(ref))
        if not kept:
            return NoSuchRecord()
        again = sent_again(ref, kept[0]["record_key"], kept[0]["record_value"])
        if isinstance(again, Unsendable):
            return again
        if look_only:
            return RecordRedriven() if kept[0]["state"] == "open" else NotOpen(kept[0]["state"])
        row = await self._fetch("end_rejected", *_place(ref), "redriven", again.topic, again.key, *_columns(ruling))
        if row["outcome"] == "ended":
            self._wake()
            return RecordRedriven()
        return NotOpen(row["state"]) if row["state"] else NoSuchRecord()

    async def drop_record(self, ref: RejectedRef, ruling: Ruling) -> DropAnswer:
        return _dropped(await self._fetch("end_rejected", *_place(ref), "dropped", None, None, *_columns(ruling)))

    async def _fetch(self, name: str, *parameters: object) -> asyncpg.Record:
        try:
            [row] = await self._pool.fetch(statement(name), parameters)
        except DRIVER_ERRORS as error:
            raise refused(error) from error
        return row


def _place(ref: RejectedRef) -> tuple[object, ...]:
    return (ref.topic, ref.partition, ref.offset, ref.digest)


def _columns(ruling: Ruling) -> tuple[object, ...]:
    return (ruling.decision_id, clean(ruling.actor), clean(ruling.reason))


def _dropped(row: asyncpg.Record) -> DropAnswer:
    match row["outcome"]:
        case "not_found":
            return NoSuchRecord()
        case "not_open":
            return NotOpen(row["state"])
    return Dropped()


def _view(row: asyncpg.Record) -> RedriveView:
    receipts = zip(row["receipt_ids"], row["effect_keys"], row["receipt_states"], row["contradictions"], strict=True)
    return RedriveView(
        turn_id=row["turn_id"],
        later_count=row["later_count"],
        later_turns=tuple(row["later_turns"]),
        is_rebased=row["is_rebased"],
        receipts=tuple(ClaimedReceipt(*receipt) for receipt in receipts),
    )


@asynccontextmanager
async def open_redrives(
    database_url: str, *, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[PostgresRedrives]:
    """The port over a connection of its own, closed at the end once what is under way is answered.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    async with open_pool(database_url, pool_size=1, patience_seconds=patience_seconds) as (pool, wake):
        yield PostgresRedrives(pool, wake)

"""The TurnStore port in Postgres: one function call for each boundary, coalesced over threads (protocol 9)."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from intention_kernel.ports.turn_store import (
    Begin,
    BeginAnswer,
    Commit,
    CommitAnswer,
    Committed,
    Contended,
    Continuation,
    HeldReceipt,
    SetAside,
)
from intention_kernel.postgres.begin_rows import begin_answer, begin_columns
from intention_kernel.postgres.boundary import Boundary, transposed
from intention_kernel.postgres.commit_rows import commit_answer, commit_columns, set_aside_parameters
from intention_kernel.postgres.errors import DRIVER_ERRORS, refused
from intention_kernel.postgres.journal_rows import journal_of_rows
from intention_kernel.postgres.packing import unpack
from intention_kernel.postgres.pool import LockedError, Pool, StatementConnection
from intention_kernel.postgres.statements import statement

Renewal = tuple[str, int, float]


class PostgresTurnStore:
    """See the port. `wake` is called after each commit that left something in the outbox."""

    def __init__(
        self,
        *,
        begins: StatementConnection,
        renewals: StatementConnection,
        commits: StatementConnection,
        pool: Pool,
        wake: Callable[[], None],
    ) -> None:
        self._pool = pool
        self._wake = wake
        self._begin: Boundary[Begin, BeginAnswer] = Boundary("begin_turns", begins, pool, begin_columns, begin_answer)
        self._renew: Boundary[Renewal, bool] = Boundary("renew_leases", renewals, pool, transposed, _alive)
        self._commit: Boundary[Commit, CommitAnswer] = Boundary(
            "commit_turns", commits, pool, commit_columns, commit_answer
        )

    async def begin(self, begin: Begin) -> BeginAnswer:
        return await self._begin.answer(begin, begin.thread_id) or Contended()

    async def renew(self, thread_id: str, fence: int, lease_seconds: float) -> bool:
        return bool(await self._renew.answer((thread_id, fence, lease_seconds), thread_id))

    async def commit(self, commit: Commit) -> CommitAnswer:
        return self._ended(await self._commit.answer(commit, commit.thread_id))

    async def set_aside(self, aside: SetAside) -> CommitAnswer:
        return self._ended(await self.ask_alone("set_aside_turn", set_aside_parameters(aside)))

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        parameters = ([thread_id], [fence], [count_attempt], True)
        await self._pool.fetch(statement("release_turns"), parameters)

    async def continuation(self, thread_id: str, receipt_id: str, settlement: int) -> Continuation | None:
        rows = await self._pool.fetch(statement("continuation"), (thread_id, receipt_id, settlement))
        if not rows:
            return None
        (row,) = rows
        journal = await self._pool.fetch(statement("turn_journal"), (thread_id, row["turn_id"]))
        return Continuation(
            effect_key=row["effect_key"],
            receipt_id=row["receipt_id"],
            state=row["state"],
            attempt=row["attempt"],
            resumed_turn_id=row["turn_id"],
            request=None if row["request"] is None else unpack(row["request"]),
            requested_at_ms=row["requested_at_ms"],
            journal=journal_of_rows(journal),
        )

    async def held_receipts(self, thread_id: str, turn_id: str) -> tuple[HeldReceipt, ...]:
        rows = await self._pool.fetch(statement("held_receipts"), (thread_id, turn_id))
        return tuple(HeldReceipt(row["receipt_id"], row["effect_key"], row["state"]) for row in rows)

    async def ask_alone(self, name: str, parameters: tuple[object, ...]) -> CommitAnswer | None:
        """A fenced commit that is rare enough to go alone; None where something stayed locked."""
        try:
            rows = await self._pool.fetch(statement(name), parameters, wait_for_locks=False)
        except LockedError:
            return None
        except DRIVER_ERRORS as error:
            raise refused(error) from error
        return commit_answer(None, rows[0])

    async def drained(self) -> None:
        """Return when nothing is waiting or in flight."""
        await self._begin.drained()
        await self._renew.drained()
        await self._commit.drained()

    def _ended(self, answer: CommitAnswer | None) -> CommitAnswer:
        if isinstance(answer, Committed):
            self._wake()
        return answer or Contended()


def _alive(_: Renewal, record: asyncpg.Record) -> bool:
    return bool(record["alive"])

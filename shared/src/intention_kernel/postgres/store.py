"""The durable boundary in Postgres: the three ports over one set of connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from intention_kernel.errors import InfrastructureError
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt, Prepare, PrepareAnswer
from intention_kernel.ports.partition_progress import PartitionProgress, Progress
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import (
    Begin,
    BeginAnswer,
    Commit,
    CommitAnswer,
    Contended,
    Continuation,
    HeldReceipt,
    SetAside,
)
from intention_kernel.postgres.brief import brief_connection
from intention_kernel.postgres.effect_store import PostgresEffectStore
from intention_kernel.postgres.errors import DRIVER_ERRORS, unanswered
from intention_kernel.postgres.pool import PATIENCE_SECONDS, Pool, StatementConnection
from intention_kernel.postgres.rejections import PostgresRejections
from intention_kernel.postgres.schema import require_schema
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.turn_store import PostgresTurnStore
from intention_kernel.postgres.wakeup import WakeupSender


@dataclass(frozen=True, slots=True)
class Installation:
    """What the first migration fixed."""

    shard_count: int
    partition_count: int
    incarnation: str


class PostgresStore:
    """TurnStore, EffectStore, Rejections and ProgressStore. Opened by `PostgresStore.open`; holds six connections and a pool.

    Beyond the ports' errors, a call raises TurnLimitError where the database cannot hold one of its values.
    """

    def __init__(self, database_url: str, installation: Installation, pool_size: int, patience_seconds: float) -> None:
        begins, renewals, prepares, ends, commits = self._dedicated = [
            StatementConnection(database_url, patience_seconds=patience_seconds) for _ in range(5)
        ]
        self.installation = installation
        self._pool = Pool(database_url, pool_size, patience_seconds=patience_seconds)
        self._hints = StatementConnection(database_url, patience_seconds=0.0, settings={"synchronous_commit": "off"})
        self._wakeup = WakeupSender(self._hints)
        wake = self._wakeup.wake
        self._turns = PostgresTurnStore(begins=begins, renewals=renewals, commits=commits, pool=self._pool, wake=wake)
        self._effects = PostgresEffectStore(prepares=prepares, ends=ends, pool=self._pool, wake=wake)
        self._rejections = PostgresRejections(pool=self._pool, ask_alone=self._turns.ask_alone, wake=wake)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, database_url: str, *, pool_size: int = 4, patience_seconds: float = PATIENCE_SECONDS
    ) -> AsyncIterator[PostgresStore]:
        """The store, closed at the end once everything under way is answered.

        `patience_seconds` is how long one call tries again before it raises InfrastructureError. Raises that where the
        database is away, SchemaVersionError where it does not fit this build.
        """
        store = cls(database_url, await _read_installation(database_url), pool_size, patience_seconds)
        try:
            yield store
        finally:
            await store._close()

    async def _close(self) -> None:
        await self._turns.drained()
        await self._effects.drained()
        await self._pool.close()
        await self._wakeup.drained()
        for connection in (*self._dedicated, self._hints):
            await connection.close()

    async def begin(self, begin: Begin) -> BeginAnswer:
        """See TurnStore."""
        return await self._turns.begin(begin)

    async def renew(self, thread_id: str, fence: int, lease_seconds: float) -> bool:
        """See TurnStore."""
        return await self._turns.renew(thread_id, fence, lease_seconds)

    async def commit(self, commit: Commit) -> CommitAnswer:
        """See TurnStore."""
        return await self._turns.commit(commit)

    async def set_aside(self, aside: SetAside) -> CommitAnswer:
        """See TurnStore."""
        return await self._turns.set_aside(aside)

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        """See TurnStore."""
        await self._turns.release(thread_id, fence, count_attempt=count_attempt)

    async def continuation(self, thread_id: str, receipt_id: str, settlement: int) -> Continuation | None:
        """See TurnStore."""
        return await self._turns.continuation(thread_id, receipt_id, settlement)

    async def held_receipts(self, thread_id: str, turn_id: str) -> tuple[HeldReceipt, ...]:
        """See TurnStore."""
        return await self._turns.held_receipts(thread_id, turn_id)

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        """See EffectStore."""
        return await self._effects.prepare(prepare)

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        """See EffectStore. Raises KeyError where the receipt was never prepared."""
        return await self._effects.end(end)

    async def reject(self, rejection: Rejection) -> None:
        """See Rejections."""
        await self._rejections.reject(rejection)

    async def reject_begun(self, rejection: Rejection, *, fence: int, revision: int) -> CommitAnswer:
        """See Rejections."""
        return await self._rejections.reject_begun(rejection, fence=fence, revision=revision)

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress:
        """See ProgressStore."""
        rows = await self._pool.fetch(statement("progress"), (topic, list(partitions)))
        stored = {
            row["partition"]: PartitionProgress(row["done_offset"], row["restore_until"])
            for row in rows
            if row["done_offset"] is not None
        }
        return Progress(stored, any(row["recovering"] for row in rows))

    async def store_progress(self, topic: str, done_offsets: Mapping[int, int]) -> None:
        """See ProgressStore."""
        parameters = (topic, list(done_offsets), list(done_offsets.values()))
        await self._pool.fetch(statement("store_progress"), parameters)

    async def record_start(self, instance: str, boot: UUID) -> None:
        """A new life of this instance: it proves that an older one is dead (protocol R22 c)."""
        await self._pool.fetch(statement("record_process_start"), (instance, boot))

    async def record_stop(self, instance: str, boot: UUID) -> None:
        """This life has nothing under way any more and is about to end (protocol R22 c)."""
        await self._pool.fetch(statement("record_process_stop"), (instance, boot))


async def _read_installation(database_url: str) -> Installation:
    try:
        async with brief_connection(database_url) as connection:
            await require_schema(connection)
            row = await connection.fetchrow(statement("installation"))
    except DRIVER_ERRORS as error:
        raise unanswered(error) from error
    if row is None:
        raise InfrastructureError("the database holds no installation row: it was not migrated by `intention migrate`")
    return Installation(row["shard_count"], row["partition_count"], row["incarnation"])

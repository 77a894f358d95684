"""The Rejections port in Postgres: what is refused, kept and published by one statement (protocol R5, R34)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from intention_kernel.contracts.event import MAX_EVENT_BYTES, WireRecord, pack_records
from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import CommitAnswer, Committed, Contended
from intention_kernel.postgres.errors import DRIVER_ERRORS, refused
from intention_kernel.postgres.origin_rows import origin_parameters
from intention_kernel.postgres.packing import pack
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean

AskAlone = Callable[[str, tuple[object, ...]], Awaitable[CommitAnswer | None]]


class KeptRecords:
    """See the port RecordKeeper."""

    def __init__(self, pool: Pool, wake: Callable[[], None]) -> None:
        self._pool = pool
        self._wake = wake

    async def reject(self, rejection: Rejection) -> None:
        try:
            await self._pool.fetch(statement("reject_request"), rejection_parameters(rejection))
        except DRIVER_ERRORS as error:
            raise refused(error) from error
        self._wake()


class PostgresRejections(KeptRecords):
    """See the port. `ask_alone` is the turn store's, for the fenced one."""

    def __init__(self, *, pool: Pool, ask_alone: AskAlone, wake: Callable[[], None]) -> None:
        super().__init__(pool, wake)
        self._ask_alone = ask_alone

    async def reject_begun(self, rejection: Rejection, *, fence: int, revision: int) -> CommitAnswer:
        answer = await self._ask_alone("reject_begun", (*rejection_parameters(rejection), fence, revision))
        if isinstance(answer, Committed):
            self._wake()
        return answer or Contended()


def rejection_parameters(rejection: Rejection) -> tuple[object, ...]:
    """The fourteen parameters that sql/reject_request.sql and sql/reject_begun.sql share.

    A record without a thread is published under the digest of its bytes.
    """
    topic, partition, offset, *rest = origin_parameters(rejection.origin)
    digest = hashlib.sha256(rejection.origin.value or b"").digest()
    thread_id = _identifier(rejection.thread_id)
    return (
        thread_id,
        _identifier(rejection.turn_id),
        clean(rejection.reason),
        clean(rejection.detail).encode(),
        topic,
        partition,
        offset,
        digest,
        *rest,
        pack(pack_records((_published(rejection),))),
        thread_id or digest.hex(),
    )


def _identifier(value: str | None) -> str | None:
    return None if value is None or identifier_problem(value) else value


def _published(rejection: Rejection) -> WireRecord:
    """The record on the rejected topic (interface 2); one that the broker would refuse goes without its value."""
    origin = rejection.origin
    headers = (
        ("reason", clean(rejection.reason).encode()),
        ("detail", clean(rejection.detail).encode()),
        ("origin_topic", origin.topic.encode()),
        ("origin_partition", str(origin.partition).encode()),
        ("origin_offset", str(origin.offset).encode()),
    )
    fits = origin.value is not None and len(origin.value) <= MAX_EVENT_BYTES
    return WireRecord(headers, origin.value if fits else None)

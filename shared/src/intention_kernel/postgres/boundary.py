"""A boundary: one function over arrays behind a coalescer, with one outcome per row (protocol 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import asyncpg

from intention_kernel.errors import IntentionKernelError
from intention_kernel.postgres.coalescer import Coalescer
from intention_kernel.postgres.errors import refused
from intention_kernel.postgres.pool import LockedError, Pool, StatementConnection
from intention_kernel.postgres.statements import statement

Row = TypeVar("Row")
Answer = TypeVar("Answer")


class Boundary(Generic[Row, Answer]):
    """Calls the statement `name` with the columns of a batch, on a connection of its own.

    `columns` makes its parameters; a last one, which says whether to wait for locks, is added. `read` makes a row's
    answer; None means that the row is locked elsewhere: it is tried again alone, waiting, on another connection, so
    that it stalls nobody (R9). Data that is refused fails its own row only (R11), as does an exception that `read`
    returns.
    """

    def __init__(
        self,
        name: str,
        connection: StatementConnection,
        pool: Pool,
        columns: Callable[[Sequence[Row]], Sequence[Any]],
        read: Callable[[Row, asyncpg.Record], Answer | Exception | None],
    ) -> None:
        self._sql = statement(name)
        self._connection = connection
        self._pool = pool
        self._columns = columns
        self._read = read
        self._coalescer: Coalescer[Row, Answer | None] = Coalescer(self._call)

    async def answer(self, row: Row, key: str) -> Answer | None:
        """The row's answer; None where it stayed locked. `key` is its thread, or its receipt."""
        answer = await self._coalescer.submit(row, key)
        return await self._alone(row) if answer is None else answer

    async def drained(self) -> None:
        """Return when nothing is waiting or in flight."""
        await self._coalescer.drained()

    async def _call(self, rows: Sequence[Row]) -> Sequence[Answer | Exception | None]:
        try:
            records = await self._connection.fetch(self._sql, (*self._columns(rows), False))
        except IntentionKernelError:
            raise
        except Exception as error:  # noqa: BLE001 - a value was refused, by the server, the driver or on the way there
            if len(rows) == 1:
                return [refused(error)]
            return [answer for row in rows for answer in await self._call([row])]
        return self._matched(rows, records)

    async def _alone(self, row: Row) -> Answer | None:
        try:
            records = await self._pool.fetch(self._sql, (*self._columns([row]), True), wait_for_locks=False)
        except LockedError:
            return None
        except IntentionKernelError:
            raise
        except Exception as error:
            raise refused(error) from error
        answer = self._matched([row], records)[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _matched(self, rows: Sequence[Row], records: Sequence[asyncpg.Record]) -> list[Answer | Exception | None]:
        """Answers by ordinal, never by thread (R10)."""
        by_place = {record["ord"]: record for record in records}
        return [self._read(row, by_place[place]) for place, row in enumerate(rows, 1)]


def transposed(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Columns of rows."""
    return [list(column) for column in zip(*rows, strict=True)]

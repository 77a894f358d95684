"""Connections of the turn path: each runs one prepared statement at a time, and none of them is ever cancelled.

asyncpg answers the cancellation of a waiting task with a second connection that may hang; so a statement runs to its
end in a task that nobody cancels, and a server that does not answer loses its connection instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from intention_kernel.clock import SystemClock
from intention_kernel.errors import InfrastructureError, words_of
from intention_kernel.ids import jittered_seconds
from intention_kernel.postgres.errors import DRIVER_ERRORS, Trouble, classify, unanswered

PATIENCE_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 8.0  # more than statement_timeout: the server's own word is better than silence
_KEPT_STATEMENTS = 200
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5

PINNED_PLANS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    "enable_memoize": "off",
    "jit": "off",
}
"""Plans are made once, maybe on empty tables: these keep them from becoming scans as the tables grow."""

SETTINGS = {
    **PINNED_PLANS,
    "application_name": "intention",
    "statement_timeout": "5000",
    "lock_timeout": "1000",
    "idle_in_transaction_session_timeout": "5000",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


class LockedError(InfrastructureError):
    """A lock that is held elsewhere did not come in time."""


class StatementConnection:
    """One connection, made when it is needed and made again when it is lost. Its user runs one statement at a time."""

    def __init__(
        self,
        database_url: str,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._database_url = database_url
        self._patience_seconds = patience_seconds
        self._settings = {**SETTINGS, **(settings or {})}
        self._clock = SystemClock()
        self._connection: asyncpg.Connection | None = None
        self._statements: dict[str, PreparedStatement] = {}

    async def fetch(self, sql: str, arguments: Sequence[Any], *, wait_for_locks: bool = True) -> list[asyncpg.Record]:
        """Run the statement until it is answered, with the same values each time (protocol R11).

        Raises the driver's own error where a value was refused (`errors.Trouble.REFUSED`), LockedError where
        `wait_for_locks` is False and a lock was not to be had, InfrastructureError when patience is over.
        """
        give_up_at = self._clock.monotonic_seconds() + self._patience_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._fetch_once(sql, arguments)
            except DRIVER_ERRORS as error:
                trouble = classify(error)
                if trouble is Trouble.REFUSED:
                    raise
                if trouble is Trouble.LOCKED and not wait_for_locks:
                    raise LockedError(str(error)) from error
                if trouble is Trouble.RECONNECT:
                    self.terminate()
                if trouble is Trouble.SCHEMA or self._clock.monotonic_seconds() >= give_up_at:
                    raise unanswered(error) from error
            await asyncio.sleep(jittered_seconds(pause))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _fetch_once(self, sql: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        connection = await self._connected()
        # What does not answer is cut off, which wakes the statement with an error.
        guard = asyncio.get_running_loop().call_later(_ANSWER_SECONDS, connection.terminate)
        try:
            statement = self._statements.get(sql)
            if statement is None:
                statement = self._statements[sql] = await connection.prepare(sql)
                if len(self._statements) > _KEPT_STATEMENTS:  # queries that people compose have no end
                    del self._statements[next(iter(self._statements))]
            rows: list[asyncpg.Record] = await statement.fetch(*arguments)
        finally:
            guard.cancel()
        return rows

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self.terminate()
            self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> asyncpg.Connection:
        """Raises ConnectionError, whatever the driver said: no value of the statement is to blame (R11)."""
        try:
            return await asyncpg.connect(self._database_url, timeout=_CONNECT_SECONDS, server_settings=self._settings)
        except DRIVER_ERRORS as error:
            raise ConnectionError(f"no connection: {words_of(error)}") from error

    def terminate(self) -> None:
        """Let the connection go without a word; the next statement makes a new one."""
        connection, self._connection = self._connection, None
        self._statements = {}
        if connection is not None:
            connection.terminate()

    async def close(self) -> None:
        """Say goodbye to the server. Nothing may be running."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=1.0)
            except DRIVER_ERRORS:
                connection.terminate()


class Pool:
    """A few connections for statements that are not coalesced."""

    def __init__(
        self,
        database_url: str,
        size: int,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._connections = [
            StatementConnection(database_url, patience_seconds=patience_seconds, settings=settings) for _ in range(size)
        ]
        self._idle: asyncio.LifoQueue[StatementConnection] = asyncio.LifoQueue()
        for connection in self._connections:
            self._idle.put_nowait(connection)
        self._running: set[asyncio.Task[list[asyncpg.Record]]] = set()

    async def fetch(self, sql: str, arguments: Sequence[Any], *, wait_for_locks: bool = True) -> list[asyncpg.Record]:
        """As StatementConnection.fetch, on the next idle connection. A cancelled caller does not stop the statement."""
        task = asyncio.get_running_loop().create_task(self._fetch(sql, arguments, wait_for_locks=wait_for_locks))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _fetch(self, sql: str, arguments: Sequence[Any], *, wait_for_locks: bool) -> list[asyncpg.Record]:
        connection = await self._idle.get()
        try:
            return await connection.fetch(sql, arguments, wait_for_locks=wait_for_locks)
        finally:
            self._idle.put_nowait(connection)

    async def close(self) -> None:
        """Wait for what is running, then close."""
        if self._running:
            await asyncio.wait(self._running)
        for connection in self._connections:
            await connection.close()

"""Seeing from outside that a statement waits, and ending a connection under it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

_WAITING = (
    "select count(*) from pg_stat_activity"
    " where datname = current_database() and wait_event_type = 'Lock' and application_name = 'intention'"
)


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 20.0) -> None:
    """Return as soon as `condition` is true; AssertionError after `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, f"not true after {seconds} s"
        await asyncio.sleep(0.005)


async def until_a_statement_waits(connection: asyncpg.Connection, count: int = 1) -> None:
    """Return when that many of the store's statements wait for a lock."""

    async def waits() -> bool:
        await connection.execute("select pg_stat_clear_snapshot()")  # inside a transaction it would be the first look's
        return bool(await connection.fetchval(_WAITING) >= count)

    await until(waits)


async def end_connections(connection: asyncpg.Connection) -> int:
    """Kill the server's side of every connection of the store; how many there were."""
    ended: int = await connection.fetchval(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where datname = current_database() and application_name = 'intention'"
    )
    return ended

"""Hints to the relay that the outbox has something: after the commit, coalesced, and harmless when lost (design 6)."""

from __future__ import annotations

import asyncio

import asyncpg

from intention_kernel.errors import InfrastructureError
from intention_kernel.postgres.pool import StatementConnection
from intention_kernel.postgres.statements import statement


class WakeupSender:
    """Sends at most one hint at a time, on a connection of its own; hints that come meanwhile become one."""

    def __init__(self, connection: StatementConnection) -> None:
        self._connection = connection
        self._wanted = False
        self._sender: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Say that something was committed. Returns at once."""
        self._wanted = True
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send())

    async def drained(self) -> None:
        """Return when no hint is under way."""
        while self._sender is not None:
            await asyncio.wait({self._sender})

    async def _send(self) -> None:
        try:
            while self._wanted:
                self._wanted = False
                try:
                    await self._connection.fetch(statement("wake_relays"), ())
                except (InfrastructureError, asyncpg.PostgresError):
                    return  # the relay polls
        finally:
            self._sender = None

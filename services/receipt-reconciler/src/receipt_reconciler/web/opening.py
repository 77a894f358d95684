"""Wires the console and its API together; the only module of theirs that names adapters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from intention_kernel.clock import SystemClock
from intention_kernel.identity.passwords import Passwords
from intention_kernel.postgres.conversations import PostgresConversations
from intention_kernel.postgres.identity import PostgresIdentity
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.operator_queue import IN_ORDER, PostgresQueue
from intention_kernel.postgres.redrives import PostgresRedrives
from intention_kernel.reconciliation.workbench import EffectOf

from receipt_reconciler.settings import ReconcilerSettings
from receipt_reconciler.web.app import web_application
from receipt_reconciler.web.console.application import is_loopback
from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.serving import serving
from receipt_reconciler.web.watching import Watcher

_PATIENCE_SECONDS = 3.0
"""How long a request waits for an absent database before it says so."""


@asynccontextmanager
async def open_console(settings: ReconcilerSettings, effect_of: EffectOf, stop: asyncio.Event) -> AsyncIterator[int]:
    """Serves until the context ends; the port it listens on. `stop` ends its streams.

    Raises ConfigurationError, SchemaVersionError among them, and InfrastructureError.
    """
    opened = open_desk(
        settings.database_url,
        effect_of,
        stop,
        pool_size=settings.console_pool_size,
        read_only=settings.console_read_only,
    )
    with closing(Passwords()) as passwords:
        async with opened as desk:
            app = web_application(
                desk,
                passwords,
                secure=not is_loopback(settings.console_host),
                session_seconds=settings.console_session_seconds,
            )
            async with serving(app, settings.console_host, port=settings.console_port or 0, stopping=stop) as port:
                yield port


@asynccontextmanager
async def open_desk(
    database_url: str, effect_of: EffectOf, stop: asyncio.Event, *, pool_size: int = 4, read_only: bool = False
) -> AsyncIterator[Desk]:
    """The stores over one pool, closed at the end once what is under way is answered.

    Raises InfrastructureError where the database is away, SchemaVersionError where it does not fit this build.
    """
    opened = open_pool(database_url, pool_size=pool_size, patience_seconds=_PATIENCE_SECONDS, settings=IN_ORDER)
    async with opened as (pool, wake):
        queue = PostgresQueue(pool, wake)
        yield Desk(
            queue=queue,
            identity=PostgresIdentity(pool),
            conversations=PostgresConversations(pool),
            redrives=PostgresRedrives(pool, wake),
            watcher=Watcher(queue, stop),
            effect_of=effect_of,
            clock=SystemClock(),
            stopping=stop,
            read_only=read_only,
        )

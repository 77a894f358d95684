"""Wires the console and its API together; the only module of theirs that names adapters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.clock import SystemClock
from intention_kernel.postgres.operator_queue import open_queue
from intention_kernel.reconciliation.workbench import EffectOf

from receipt_reconciler.settings import ReconcilerSettings
from receipt_reconciler.web.app import web_application
from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.serving import serving

_PATIENCE_SECONDS = 3.0
"""How long a request waits for an absent database before it says so."""


@asynccontextmanager
async def open_console(settings: ReconcilerSettings, effect_of: EffectOf, stop: asyncio.Event) -> AsyncIterator[int]:
    """Serves until the context ends; the port it listens on. `stop` ends its streams.

    Raises ConfigurationError, SchemaVersionError among them, and InfrastructureError.
    """
    opened = open_queue(settings.database_url, pool_size=settings.console_pool_size, patience_seconds=_PATIENCE_SECONDS)
    async with opened as queue:
        desk = Desk(
            queue=queue,
            effect_of=effect_of,
            clock=SystemClock(),
            stopping=stop,
            read_only=settings.console_read_only,
        )
        app = web_application(desk)
        async with serving(app, settings.console_host, port=settings.console_port or 0, stopping=stop) as port:
            yield port

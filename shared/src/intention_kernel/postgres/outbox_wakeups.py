"""Hints that there is something to relay: LISTEN on a connection of its own. Polling stays the truth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import asyncpg

from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import jittered_seconds
from intention_kernel.lifecycle import set_or_after
from intention_kernel.postgres.outbox_connections import store_errors

WAKEUP_CHANNEL = "intention_outbox"
"""Whoever has committed outbox rows notifies it, never inside that transaction; who releases shards, with `shards`."""

_log = logging.getLogger(__name__)

_PROBE_SECONDS = 10.0
_PROBE_PATIENCE_SECONDS = 5.0
_RETRY_SECONDS = 1.0


async def listen_for_wakeups(database_url: str, on_wakeup: Callable[[str], None]) -> None:
    """Calls `on_wakeup` with each payload, until cancelled.

    A connection that ended, or that is only half there, is replaced, and `on_wakeup` is called after every new
    connection, since what was said meanwhile is lost. Behind a pooler in transaction mode nothing is ever heard.
    """
    while True:
        try:
            with store_errors("listening for wake-ups"):
                await _listen_once(database_url, on_wakeup)
        except InfrastructureError as error:
            _log.warning("polling until it can be listened again: %s", error)
        await asyncio.sleep(jittered_seconds(_RETRY_SECONDS))


async def _listen_once(database_url: str, on_wakeup: Callable[[str], None]) -> None:
    connection = await asyncpg.connect(
        database_url, timeout=_PROBE_PATIENCE_SECONDS, server_settings={"application_name": "outbox-relay wake-up"}
    )
    ended = asyncio.Event()
    connection.add_termination_listener(lambda _: ended.set())
    try:
        # The driver gives this statement no time of its own.
        guard = asyncio.get_running_loop().call_later(_PROBE_PATIENCE_SECONDS, connection.terminate)
        await connection.add_listener(WAKEUP_CHANNEL, lambda _connection, _pid, _channel, payload: on_wakeup(payload))
        guard.cancel()
        on_wakeup("")
        while not ended.is_set():
            await set_or_after(ended, _PROBE_SECONDS)
            if not ended.is_set():
                await connection.execute("select 1", timeout=_PROBE_PATIENCE_SECONDS)
    finally:
        connection.terminate()

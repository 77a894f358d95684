"""A database that takes a connection and then says nothing more, as behind a line that died: nobody waits for it for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from intention_kernel.errors import InfrastructureError
from intention_kernel.postgres import brief, outbox_wakeups
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.outbox_connections import require_migrated
from intention_kernel.postgres.store import PostgresStore

_GREETING = b"".join(
    kind + (len(body) + 4).to_bytes(4, "big") + body
    for kind, body in ((b"R", bytes(4)), (b"S", b"server_version\x0018.0\0"), (b"Z", b"I"))
)
_BOUND_SECONDS = 10.0


@pytest.fixture
async def silent_url() -> AsyncIterator[str]:
    """Of a server that greets, and no more."""
    writers: list[asyncio.StreamWriter] = []

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.read(1 << 16)
        writer.write(_GREETING)

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    yield f"postgresql://user@127.0.0.1:{server.sockets[0].getsockname()[1]}/any?sslmode=disable"
    server.close()
    for writer in writers:
        writer.transport.abort()


async def _open_store(url: str) -> None:
    async with PostgresStore.open(url):
        pass


async def _open_pool(url: str) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(open_pool(url, pool_size=1))


@pytest.mark.parametrize("start", [_open_store, _open_pool, require_migrated])
async def test_a_process_that_starts_gives_up_and_may_try_again(
    start: Callable[[str], Awaitable[None]], silent_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brief, "_LOOK_SECONDS", 0.1)
    with pytest.raises(InfrastructureError):
        await asyncio.wait_for(start(silent_url), _BOUND_SECONDS)


class _Said(logging.Handler):
    """Sets an event once anything is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.event.set()


async def test_a_relay_that_listens_gives_up_and_connects_again(
    silent_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_wakeups, "_PROBE_PATIENCE_SECONDS", 0.3)
    said, logger = _Said(), logging.getLogger(outbox_wakeups.__name__)
    logger.addHandler(said)
    listening = asyncio.create_task(outbox_wakeups.listen_for_wakeups(silent_url, lambda _: None))
    try:
        await asyncio.wait_for(said.event.wait(), _BOUND_SECONDS)
    finally:
        logger.removeHandler(said)
        listening.cancel()
        await asyncio.wait({listening})

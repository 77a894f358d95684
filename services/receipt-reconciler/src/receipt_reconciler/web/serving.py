"""Serves the web application inside the process's own event loop, and ends its streams before it ends itself."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from intention_kernel.errors import ConfigurationError
from starlette.types import ASGIApp

_FAREWELL_SECONDS = 1.5
"""Open streams have this long to say farewell; what is still open then is cut, within the 2 s of operator-ux 8."""

_WAITING_CONNECTIONS = 2048


class _Server(uvicorn.Server):
    """Signals are the process's affair."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(app: ASGIApp, host: str, port: int, stopping: asyncio.Event) -> AsyncIterator[int]:
    """The port it listens on (`port` 0 takes a free one). At the end `stopping` is set, and open requests finish.

    Raises ConfigurationError where the port is taken.
    """
    listener = _listener(host, port)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config)
    task = asyncio.get_running_loop().create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        stopping.set()
        server.should_exit = True
        await asyncio.wait({task}, timeout=_FAREWELL_SECONDS)
        server.force_exit = True
        await task


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_WAITING_CONNECTIONS)  # who is told the port may come before the server has begun
    except OSError as error:
        listener.close()
        raise ConfigurationError(f"INTENTION_CONSOLE_PORT: cannot listen on {host}:{port}: {error}") from error
    return listener

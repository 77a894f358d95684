"""A small HTTP server on loopback that says where it listens and can lose a reply on request."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_LOOPBACK = "127.0.0.1"
_GRACE_SECONDS = 5
_ABORT_CONNECTION = "abort_connection"


class NoReply(Response):
    """Closes the connection without a byte of reply, as a crash or a broken network would."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"][_ABORT_CONNECTION]()
        while (await receive())["type"] != "http.disconnect":
            pass  # the rest of the request, if any is left


class RouteOnRawPath:
    """Routes see the path as it was sent, so that `%2F` in a key is not a `/` and no byte of a key is lost."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": scope["raw_path"].decode("ascii")}
        await self._app(scope, receive, send)


class _AbortableProtocol(H11Protocol):
    """Gives the application a way to close its connection without a reply, which ASGI has not."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(transport)
        self.app_state = {**self.app_state, _ABORT_CONNECTION: transport.abort}


class _Server(uvicorn.Server):
    """Says where it listens once it does; SIGTERM and SIGINT end it in order, with exit code 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's own version raises the signal again after the shutdown, which would look like a kill.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"listening on http://{_LOOPBACK}:{port}", flush=True)


def serve(app: ASGIApp, port: int) -> None:
    """Serve `app` on loopback until SIGTERM or SIGINT. Port 0 takes a free one. Exits with 3 where it cannot listen."""
    config = uvicorn.Config(
        app,
        host=_LOOPBACK,
        port=port,
        http=_AbortableProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    _Server(config).run()

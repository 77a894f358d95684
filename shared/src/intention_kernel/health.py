"""Liveness, readiness and metrics over HTTP, so small that a process pays nothing for it at start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.registry import CollectorRegistry

Probe = Callable[[], str | None]
"""None when all is well, else the reason for people."""

_REQUEST_SECONDS = 5.0
_LONGEST_HEAD_BYTES = 16_384


class HealthServer:
    """Serves `/livez`, `/readyz` (200 `ok`, or 503 and the reason) and `/metrics` (Prometheus text).

    `live` and `ready` are asked on every request, in the process's own event loop: they must not wait. A process
    that is not live should be restarted; one that is not ready only waits for something.
    """

    def __init__(
        self,
        port: int,
        live: Probe,
        ready: Probe,
        *,
        host: str = "127.0.0.1",
        registry: CollectorRegistry = REGISTRY,
    ) -> None:
        """`port` 0 takes a free one; `port` of the started server tells which."""
        self._wanted_port = port
        self._host = host
        self._probes = {"/livez": live, "/readyz": ready}
        self._registry = registry
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port it listens on; meaningful once started."""
        if self._server is None:
            return self._wanted_port
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Listen. Raises OSError where the port is taken."""
        self._server = await asyncio.start_server(self._serve, self._host, self._wanted_port, limit=_LONGEST_HEAD_BYTES)

    async def stop(self) -> None:
        """Stop listening; requests in hand are let go."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def __aenter__(self) -> HealthServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked has gone, or never finished asking
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0].decode("ascii", "replace")
        if method not in {b"GET", b"HEAD"}:
            return _response("405 Method Not Allowed", b"only GET\n")
        if path == "/metrics":
            return _response("200 OK", generate_latest(self._registry), CONTENT_TYPE_LATEST)
        probe = self._probes.get(path)
        if probe is None:
            return _response("404 Not Found", b"/livez, /readyz, /metrics\n")
        reason = probe()
        return _response("200 OK", b"ok\n") if reason is None else _response("503 Service Unavailable", _line(reason))


def _line(text: str) -> bytes:
    return f"{text}\n".encode()


def _response(status: str, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body

"""A TCP proxy before Postgres that can be told to do to connections what networks do to them."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, urlsplit

_CHUNK_BYTES = 1 << 16
_SSL_REQUEST = 80877103
_PARSE, _BIND, _QUERY = ord("P"), ord("B"), ord("Q")
_READY_FOR_QUERY, _ERROR = ord("Z"), ord("E")

Direction = Literal["to server", "to client", "both"]


@dataclass(slots=True)
class Messages:
    """Cuts a stream of the Postgres protocol into messages: type (0 where it has none) and payload.

    `untyped` is true while a client's messages have no type: until it has sent its start-up message.
    """

    untyped: bool
    _rest: bytes = b""

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes]]:
        """The messages that are complete now."""
        self._rest += chunk
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> tuple[int, bytes] | None:
        head = 4 if self.untyped else 5
        if len(self._rest) < head:
            return None
        end = head - 4 + int.from_bytes(self._rest[head - 4 : head], "big")
        if len(self._rest) < end:
            return None
        kind, payload = 0 if self.untyped else self._rest[0], self._rest[head:end]
        self._rest = self._rest[end:]
        if self.untyped:
            self.untyped = int.from_bytes(payload[:4], "big") == _SSL_REQUEST
        return kind, payload


@dataclass(eq=False, slots=True)
class Link:
    """One client's connection with the one to the server that belongs to it.

    `running` is the named statement that the client has asked for and that the server has not answered; "" is any other.
    `failed` tells that what was answered last is an error.
    """

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    names: Mapping[str, str]
    asking: Messages = field(default_factory=lambda: Messages(untyped=True))
    answering: Messages = field(default_factory=lambda: Messages(untyped=False))
    is_open: bool = False
    running: str | None = None
    failed: bool = False
    silent: Direction | None = None
    _prepared: dict[bytes, str] = field(default_factory=dict)

    def asked(self, chunk: bytes) -> None:
        """Look at what the client says."""
        for kind, payload in self.asking.feed(chunk):
            if kind == _PARSE:
                name, text = payload.split(b"\0", 2)[:2]
                self._prepared[name] = self.names.get(text.decode(), "")
                self.running, self.failed = "", False
            elif kind == _BIND:
                self.running, self.failed = self._prepared.get(payload.split(b"\0", 2)[1], ""), False
            elif kind == _QUERY:
                self.running = ""

    def answered(self, chunk: bytes) -> bool:
        """Look at what the server says; whether a statement is answered with it."""
        if not self.is_open and chunk == b"N":  # no TLS
            return False
        kinds = [kind for kind, _ in self.answering.feed(chunk)]
        done = _READY_FOR_QUERY in kinds
        self.failed = self.failed or _ERROR in kinds
        self.is_open = self.is_open or done
        return done

    def vanishes(self, direction: Direction) -> bool:
        """Whether bytes of this direction get lost."""
        return self.silent in ("both", direction)

    def reset(self) -> None:
        """RST to both sides, whatever is under way."""
        for writer in (self.client, self.server):
            reset(writer)


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with an RST instead of a goodbye."""
    with suppress(OSError, ValueError):  # it has ended already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Proxy:
    """Made by `open_proxy`; passes everything on until it is told otherwise.

    `statements` are names by the SQL of the statements whose replies may be lost on purpose.
    """

    def __init__(self, upstream: str, statements: Mapping[str, str]) -> None:
        self._upstream = upstream
        self._statements = statements
        self._listening: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._aimed: tuple[str, asyncio.Future[None]] | None = None
        self.port = 0
        self.links: set[Link] = set()
        self.delay_seconds = 0.0
        self.silent: Direction | None = None

    def url(self, database_url: str) -> str:
        """The address under which that database is reached through here."""
        parts = urlsplit(database_url)
        user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return f"postgresql://{user}127.0.0.1:{self.port}{parts.path}?sslmode=disable"

    async def listen(self) -> None:
        """Take connections, at the same port as before."""
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """Whoever connects now is refused; connections that are there go on."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def fall_silent(self, direction: Direction) -> None:
        """Bytes of every connection, the new ones among them, vanish from now on, and nothing closes."""
        self.silent = direction
        for link in self.links:
            link.silent = direction

    def speak_again(self) -> None:
        """For new connections. Those that fell silent stay so for ever; the server's side of them ends, as keepalives
        would end it."""
        self.silent = None
        for link in self.links:
            if link.silent:
                reset(link.server)

    async def lose_a_reply(self, name: str) -> None:
        """Returns once a reply to that statement was lost: the server has done it, and the client gets an RST."""
        self._aimed = (name, asyncio.get_running_loop().create_future())
        try:
            await self._aimed[1]
        finally:
            self._aimed = None

    async def close(self) -> None:
        """End everything."""
        self.refuse()
        for link in tuple(self.links):
            link.reset()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            server_reader, server = await self._connect()
        except OSError:
            reset(client)
            self._serving.discard(task)
            return
        link = Link(client, server, self._statements, silent=self.silent)
        self.links.add(link)
        try:
            await asyncio.gather(self._up(link, client_reader), self._down(link, server_reader))
        finally:
            self.links.discard(link)
            for writer in (client, server):
                writer.transport.abort()
            self._serving.discard(task)

    async def _up(self, link: Link, reader: asyncio.StreamReader) -> None:
        """The client's bytes."""
        while chunk := await _some(reader):
            link.asked(chunk)
            await self._late()
            if not link.vanishes("to server"):
                await _pass_on(link.server, chunk)
        # A client that closes is gone, and nobody hears of it where the line is dead.
        if link.silent is None:
            await _pass_on(link.server, None)
        else:
            reset(link.server)

    async def _down(self, link: Link, reader: asyncio.StreamReader) -> None:
        """The server's bytes."""
        while chunk := await _some(reader):
            done = link.answered(chunk)
            await self._late()
            if self._aimed is not None and link.running == self._aimed[0] and link.silent is None:
                if done:
                    link.reset()
                    if not link.failed and not self._aimed[1].done():
                        self._aimed[1].set_result(None)
                continue
            if done:
                link.running = None
            if not link.vanishes("to client"):
                await _pass_on(link.client, chunk)
        if link.silent is None:
            await _pass_on(link.client, None)

    async def _late(self) -> None:
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(self._upstream)
        host, port = parts.hostname or parse_qs(parts.query).get("host", ["localhost"])[0], parts.port or 5432
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)


async def _some(reader: asyncio.StreamReader) -> bytes:
    """The next bytes; none where the connection has ended, however it did."""
    try:
        return await reader.read(_CHUNK_BYTES)
    except OSError:
        return b""


async def _pass_on(writer: asyncio.StreamWriter, chunk: bytes | None) -> None:
    """Write the chunk, or end the connection where there is none."""
    with suppress(OSError, RuntimeError):
        if chunk is None:
            writer.close()
        else:
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def open_proxy(upstream: str, statements: Mapping[str, str]) -> AsyncIterator[Proxy]:
    """A proxy to the server of that URL, listening; ended at the end with all its connections."""
    proxy = Proxy(upstream, statements)
    await proxy.listen()
    try:
        yield proxy
    finally:
        await proxy.close()

"""What the tests of `intention verify` share: empty databases, what a database holds, a pooler that forgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from intention_kernel.ids import random_id
from intention_kernel.verification.scratch import survey
from intention_kernel.verification.scratch_topics import find_groups, find_topics

from tests.support.servers import SharedServers, create_database, drop_database

_HELD = (
    "select n.nspname || '.' || c.relname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace"
    " where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'"
    " union all select n.nspname || '.' || p.proname from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace"
    " where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'"
    " union all select nspname from pg_namespace where nspname !~ '^pg_' order by 1"
)


@asynccontextmanager
async def empty_database(servers: SharedServers) -> AsyncIterator[str]:
    """The URL of a database without a table."""
    name = f"test_{random_id().hex[:16]}"
    yield await create_database(servers, name)
    await drop_database(servers, name)


async def wrong_answer() -> None:
    """A test that fails, in a module whose assertions pytest leaves alone."""
    answer = int("2")
    assert answer == 1  # as plain Python has it


async def held_by(database_url: str) -> list[str]:
    """Every schema, relation and function that is not the server's own."""
    return [row[0] for row in await rows_of(database_url, _HELD)]


async def rows_of(database_url: str, *statements: str) -> list[asyncpg.Record]:
    """Run the statements; the rows of the last one."""
    connection = await asyncpg.connect(database_url)
    try:
        for statement in statements:
            rows = await connection.fetch(statement)
    finally:
        await connection.close()
    return rows


async def noticed_dead(database_url: str) -> None:
    """Returns once the server has noticed that no run is alive any more."""
    for _ in range(400):
        if not (await survey(database_url)).alive:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("a killed run's connection does not end")


async def left_on_broker(bootstrap: str, prefix: str) -> tuple[str, ...]:
    """Topics and groups under the prefix."""
    return (*await find_topics(bootstrap, prefix), *await find_groups(bootstrap, prefix))


@asynccontextmanager
async def forgetful_pooler(database_url: str) -> AsyncIterator[str]:
    """The URL of a proxy that drops `search_path` when somebody connects, as poolers may that share their servers."""
    parts = urlsplit(database_url)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream = await asyncio.open_connection(parts.hostname, parts.port)
        upstream.write(_without_search_path(await _first_message(reader, upstream_reader, upstream, writer)))
        try:
            await asyncio.gather(_copy(reader, upstream), _copy(upstream_reader, writer))
        finally:
            upstream.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    user = f"{parts.username}@" if parts.username else ""
    yield urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{port}"))
    server.close()


async def _first_message(
    reader: asyncio.StreamReader,
    upstream_reader: asyncio.StreamReader,
    upstream: asyncio.StreamWriter,
    writer: asyncio.StreamWriter,
) -> bytes:
    """The start-up message; a request for TLS before it is answered by the server."""
    while True:
        length = await reader.readexactly(4)
        message = length + await reader.readexactly(int.from_bytes(length) - 4)
        if len(message) > 8:
            return message
        upstream.write(message)
        writer.write(await upstream_reader.readexactly(1))


def _without_search_path(message: bytes) -> bytes:
    words = message[8:].rstrip(b"\0").split(b"\0")
    pairs = [(name, text) for name, text in zip(words[::2], words[1::2], strict=True) if name != b"search_path"]
    body = message[4:8] + b"".join(name + b"\0" + text + b"\0" for name, text in pairs) + b"\0"
    return (len(body) + 4).to_bytes(4) + body


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()

"""Reading for people: threads, turns, receipts and what was refused, as JSON documents. It never writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import asyncpg

from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import ConfigurationError, InfrastructureError
from intention_kernel.ports.stored_builds import OpenEffect, ThreadsOfBuild
from intention_kernel.postgres.packing import unpack
from intention_kernel.postgres.reading_documents import (
    Document,
    receipt_document,
    receipt_history_document,
    rejection_document,
    rejection_record_document,
    text_of,
    thread_document,
    turn_document,
    unfinished_document,
)
from intention_kernel.postgres.schema import installed_revision, require_schema
from intention_kernel.postgres.statements import statement

_CONNECT_SECONDS = 10.0
_STATEMENT_SECONDS = 30.0
_SETTINGS = {"application_name": "intention-cli", "default_transaction_read_only": "on"}
_LAST_TURNS = 20
_UNSETTLED = ("prepared", "uncertain")


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A committed turn's content digest and stored result."""

    digest: bytes
    result: JsonValue


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was rejected, or its turn set aside."""

    reason: str
    detail: str


class Reading:
    """One read-only connection, StoredBuilds among what it answers; made by `open_reading`.

    Lists hold at most `limit` documents.
    """

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def thread(self, thread_id: str) -> Document | None:
        """A thread's head, memory, last turns and unsettled receipts; None where there is none."""
        head = await self._one("cli_thread", thread_id)
        if head is None:
            return None
        turns = await self._all("cli_thread_turns", thread_id, _LAST_TURNS)
        return thread_document(head, turns, await self._all("cli_thread_receipts", thread_id))

    async def turn(self, thread_id: str, turn_id: str) -> Document | None:
        """A turn that is committed, in progress or set aside; None where nothing is known of it."""
        turn = await self._one("cli_turn", thread_id, turn_id)
        receipts = await self._all("cli_turn_receipts", thread_id, turn_id)
        asides = await self._all("cli_turn_set_aside", thread_id, turn_id)
        if turn is not None:
            return turn_document(turn, receipts, asides)
        head = await self._one("cli_thread", thread_id)
        return unfinished_document(thread_id, turn_id, head, receipts, asides)

    async def receipts(self, state: str | None, limit: int) -> list[Document]:
        """Receipts, or those in one state."""
        name = "cli_receipts_open" if state in _UNSETTLED else "cli_receipts"
        return [receipt_document(row) for row in await self._all(name, state, limit)]

    async def receipt(self, receipt_id: str) -> Document | None:
        """One receipt with payload, value and history."""
        row = await self._one("cli_receipt", receipt_id)
        if row is None:
            return None
        place = (row["thread_id"], row["effect_key"])
        transitions = await self._all("cli_receipt_transitions", *place)
        return receipt_history_document(row, transitions, await self._all("cli_receipt_waiting", *place))

    async def rejected(self, limit: int) -> list[Document]:
        """Rejected records and set-aside turns, newest first."""
        return [rejection_document(row) for row in await self._all("cli_rejected", limit)]

    async def rejected_request(self, topic: str, partition: int, offset: int, digest: str) -> Document | None:
        """One rejected record, with its bytes; `digest` may be its first hex digits."""
        row = await self._one("cli_rejected_request", topic, partition, offset, digest)
        return None if row is None else rejection_record_document(row)

    async def set_aside_turn(self, thread_id: str, revision: int) -> Document | None:
        """One set-aside turn, with its record's bytes."""
        row = await self._one("cli_set_aside_turn", thread_id, revision)
        return None if row is None else rejection_record_document(row)

    async def stored_turn(self, thread_id: str, turn_id: str) -> StoredTurn | None:
        """What a committed turn left."""
        row = await self._one("cli_turn", thread_id, turn_id)
        return None if row is None else StoredTurn(row["digest"], loads(unpack(row["result"])))

    async def open_set_aside(self, thread_id: str, turn_id: str, digest: bytes) -> Refusal | None:
        """Why the turn of that content is given up, unless it was redriven since."""
        rows = await self._all("cli_turn_set_aside", thread_id, turn_id)
        if not rows or rows[-1]["state"] == "redriven" or rows[-1]["digest"] != digest:
            return None
        return Refusal(rows[-1]["reason"], text_of(rows[-1]["detail"]))

    async def threads_of_builds(self) -> tuple[ThreadsOfBuild, ...]:
        """See StoredBuilds."""
        return tuple(ThreadsOfBuild(*row) for row in await self._all("check_threads"))

    async def open_effects(self) -> tuple[OpenEffect, ...]:
        """See StoredBuilds."""
        return tuple(OpenEffect(*row) for row in await self._all("check_open_effects"))

    async def _one(self, name: str, *parameters: object) -> asyncpg.Record | None:
        row: asyncpg.Record | None = await self._connection.fetchrow(statement(name), *parameters)
        return row

    async def _all(self, name: str, *parameters: object) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._connection.fetch(statement(name), *parameters)
        return rows


@asynccontextmanager
async def open_reading(database_url: str) -> AsyncIterator[Reading]:
    """Raises InfrastructureError, also from the calls inside, and SchemaVersionError for another build's database."""
    async with _connected(database_url) as connection:
        await require_schema(connection)
        yield Reading(connection)


async def stored_partition_count(database_url: str) -> int | None:
    """The partition count that the database was migrated for; None where it is not migrated."""
    async with _connected(database_url) as connection:
        if await installed_revision(connection) is None:
            return None
        count: int = await connection.fetchval(statement("cli_partition_count"))
        return count


@asynccontextmanager
async def _connected(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    with database_errors(database_url):
        connection = await asyncpg.connect(
            database_url, timeout=_CONNECT_SECONDS, command_timeout=_STATEMENT_SECONDS, server_settings=_SETTINGS
        )
        try:
            yield connection
        finally:
            await connection.close(timeout=_CONNECT_SECONDS)


@contextmanager
def database_errors(database_url: str) -> Iterator[None]:
    """The driver's errors as ours, with the server's address and without its password."""
    try:
        yield
    except (asyncpg.InvalidCatalogNameError, asyncpg.InvalidAuthorizationSpecificationError) as error:
        raise ConfigurationError(f"INTENTION_DATABASE_URL: {error}") from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise InfrastructureError(f"Postgres at {_address(database_url)}: {error or type(error).__name__}") from error


def _address(database_url: str) -> str:
    return urlsplit(database_url).netloc.rpartition("@")[2] or "its default address"

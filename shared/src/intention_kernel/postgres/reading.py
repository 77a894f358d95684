"""Reading for people: threads, turns, receipts and what was refused, as JSON documents. It never writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import asyncpg

from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import ConfigurationError, InfrastructureError
from intention_kernel.ports.conversations import LAST_TURNS, Document, EventPage, GivenUp, GivenUpPlace
from intention_kernel.ports.stored_builds import OpenEffect, ThreadsOfBuild
from intention_kernel.postgres.packing import unpack
from intention_kernel.postgres.reading_documents import (
    receipt_document,
    receipt_history_document,
    rejection_document,
    rejection_record_document,
    text_of,
    thread_document,
    turn_document,
    turn_events,
    unfinished_document,
)
from intention_kernel.postgres.schema import installed_revision, require_schema
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean

_CONNECT_SECONDS = 10.0
_STATEMENT_SECONDS = 30.0
_SETTINGS = {"application_name": "intention-cli", "default_transaction_read_only": "on"}
_UNSETTLED = ("prepared", "uncertain")

Ask = Callable[[str, Sequence[object]], Awaitable[list[asyncpg.Record]]]
"""Runs a statement with its parameters."""


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


@dataclass(frozen=True, slots=True)
class Bound:
    """Whose a thread is; None: nobody's yet, or of an application without tenants."""

    tenant_id: str | None


class Reading:
    """What every surface reads, over one read-only connection (`open_reading`) or a pool; StoredBuilds among it.

    Lists hold at most `limit` documents.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def tenant(self, thread_id: str) -> Bound | None:
        """Whose a thread is; None where there is none."""
        head = await self._one("cli_thread", thread_id)
        return None if head is None else Bound(head["tenant_id"])

    async def thread(
        self, thread_id: str, *, before: int | None = None, known_tenant_only: bool = False
    ) -> Document | None:
        """A thread's head, memory, unsettled receipts, who waits for which receipt, what was set aside of it, and its last
        turns, of those older than revision `before`; None where there is none.

        `known_tenant_only`: without what was set aside before the thread was anybody's.
        """
        head = await self._one("cli_thread", thread_id)
        if head is None:
            return None
        newest = head["revision"] if before is None else min(before - 1, head["revision"])
        return thread_document(
            head,
            turns=await self._all("cli_thread_turns", thread_id, newest, LAST_TURNS + 1),
            receipts=await self._all("cli_thread_receipts", thread_id),
            blocked=await self._all("cli_thread_blocked", thread_id),
            asides=await self._all("cli_thread_set_aside", thread_id, known_tenant_only, LAST_TURNS),
        )

    async def events(self, thread_id: str, *, after: int, limit: int) -> EventPage:
        """The committed events of a thread with a sequence over `after`."""
        turns = await self._all("cli_thread_events", thread_id, after, LAST_TURNS + 1)
        found: list[Document] = []
        for turn in turns[:LAST_TURNS]:
            newer = [event for event in map(_members, turn_events(turn["events"])) if _sequence(event) > after]
            found.extend(newer[: limit - len(found)])
            if len(found) == limit and newer and found[-1] is not newer[-1]:
                return EventPage(tuple(found), _sequence(found[-1]), more=True)
            after = max(after, turn["first_sequence"] + turn["event_count"] - 1)
        return EventPage(tuple(found), after, more=len(turns) > LAST_TURNS)

    async def given_up(self, scope_tenants: list[str] | None, after: GivenUpPlace | None, limit: int) -> list[GivenUp]:
        """Rejected records and set-aside turns, newest first, of those tenants (None: of all)."""
        place = (None, None) if after is None else (after.at, clean(after.id))
        rows = await self._all("cli_rejected", limit, *place, scope_tenants)
        return [GivenUp(GivenUpPlace(row["at"], row["place"]), rejection_document(row)) for row in rows]

    async def turn(self, thread_id: str, turn_id: str, *, known_tenant_only: bool = False) -> Document | None:
        """A turn that is committed, in progress or set aside; None where nothing is known of it."""
        turn = await self._one("cli_turn", thread_id, turn_id)
        receipts = await self._all("cli_turn_receipts", thread_id, turn_id)
        asides = await self._asides(thread_id, turn_id, known_tenant_only=known_tenant_only)
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
        return [line.document for line in await self.given_up(None, None, limit)]

    async def rejected_request(self, topic: str, partition: int, offset: int, digest: str) -> Document | None:
        """One rejected record, with its bytes; `digest` may be its first hex digits, which must be one record's alone."""
        rows = await self._all("cli_rejected_request", topic, partition, offset, digest)
        return rejection_record_document(rows[0]) if len(rows) == 1 else None

    async def set_aside_turn(
        self, thread_id: str, revision: int, *, known_tenant_only: bool = False
    ) -> Document | None:
        """One set-aside turn, with its record's bytes."""
        row = await self._one("cli_set_aside_turn", thread_id, revision, known_tenant_only)
        return None if row is None else rejection_record_document(row)

    async def stored_turn(self, thread_id: str, turn_id: str) -> StoredTurn | None:
        """What a committed turn left."""
        row = await self._one("cli_turn", thread_id, turn_id)
        return None if row is None else StoredTurn(row["digest"], loads(unpack(row["result"])))

    async def open_set_aside(self, thread_id: str, turn_id: str, digest: bytes) -> Refusal | None:
        """Why the turn of that content is given up, unless it was redriven since."""
        rows = await self._asides(thread_id, turn_id)
        if not rows or rows[-1]["state"] == "redriven" or rows[-1]["digest"] != digest:
            return None
        return Refusal(rows[-1]["reason"], text_of(rows[-1]["detail"]))

    async def threads_of_builds(self) -> tuple[ThreadsOfBuild, ...]:
        """See StoredBuilds."""
        return tuple(ThreadsOfBuild(*row) for row in await self._all("check_threads"))

    async def open_effects(self) -> tuple[OpenEffect, ...]:
        """See StoredBuilds."""
        return tuple(OpenEffect(*row) for row in await self._all("check_open_effects"))

    async def _asides(self, thread_id: str, turn_id: str, *, known_tenant_only: bool = False) -> list[asyncpg.Record]:
        return await self._all("cli_turn_set_aside", thread_id, turn_id, known_tenant_only)

    async def _one(self, name: str, *parameters: object) -> asyncpg.Record | None:
        rows = await self._all(name, *parameters)
        return rows[0] if rows else None

    async def _all(self, name: str, *parameters: object) -> list[asyncpg.Record]:
        return await self._ask(statement(name), parameters)


def _members(event: JsonValue) -> Document:
    return event if isinstance(event, dict) else {}


def _sequence(event: Document) -> int:
    number = event.get("sequence")
    return number if isinstance(number, int) else 0


@asynccontextmanager
async def open_reading(database_url: str) -> AsyncIterator[Reading]:
    """Raises InfrastructureError, also from the calls inside, and SchemaVersionError for another build's database."""
    async with _connected(database_url) as connection:
        await require_schema(connection)

        async def ask(sql: str, parameters: Sequence[object]) -> list[asyncpg.Record]:
            rows: list[asyncpg.Record] = await connection.fetch(sql, *parameters)
            return rows

        yield Reading(ask)


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

"""The Conversations port in Postgres, over a pool: the documents that `Reading` makes, within the reader's scope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import asyncpg

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.conversations import (
    Document,
    EventPage,
    GivenUp,
    GivenUpPlace,
    GivenUpRecord,
    RejectedPrefix,
)
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.redrives import RejectedRef, SetAsideRef
from intention_kernel.postgres.errors import DRIVER_ERRORS, refused
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.reading import Reading
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.text import clean


class PostgresConversations:
    """See the port. It needs nothing but the pool of the queue."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._reading = Reading(self._fetch)

    async def thread(self, thread_id: str, scope: Scope, *, before: int | None = None) -> Document | None:
        if not await self._covers(scope, thread_id):
            return None
        found = await self._reading.thread(clean(thread_id), before=before, known_tenant_only=_is_bounded(scope))
        return None if found is None else _within(found, scope, "openReceipts", "blocked")

    async def turn(self, thread_id: str, turn_id: str, scope: Scope) -> Document | None:
        if not await self._covers(scope, thread_id):
            return None
        ids = (clean(thread_id), clean(turn_id))
        found = await self._reading.turn(*ids, known_tenant_only=_is_bounded(scope))
        return None if found is None else _within(found, scope, "receipts")

    async def events(self, thread_id: str, scope: Scope, *, after: int, limit: int) -> EventPage | None:
        if not await self._covers(scope, thread_id):
            return None
        return await self._reading.events(clean(thread_id), after=after, limit=limit)

    async def given_up(self, scope: Scope, after: GivenUpPlace | None, limit: int) -> tuple[GivenUp, ...]:
        return tuple(await self._reading.given_up(_listed(scope.tenants), after, limit))

    async def given_up_record(self, ref: SetAsideRef | RejectedPrefix, scope: Scope) -> GivenUpRecord | None:
        if isinstance(ref, SetAsideRef):
            return await self._set_aside(ref, scope)
        if _is_bounded(scope):
            return None
        topic = clean(ref.topic)
        found = await self._reading.rejected_request(topic, ref.partition, ref.offset, clean(ref.digest))
        if found is None:
            return None
        whole = bytes.fromhex(str(found["digest"]))
        return GivenUpRecord(RejectedRef(topic, ref.partition, ref.offset, whole), found)

    async def note_reveal_of_receipt(self, receipt_id: str, scope: Scope, actor: str, reason: str) -> bool:
        within = (_listed(scope.tenants), _listed(scope.effects))
        values = (clean(receipt_id), clean(actor), clean(reason), *within)
        return bool(await self._fetch(statement("cli_reveal_receipt"), values))

    async def note_reveal_of_turn(
        self, thread_id: str, turn_id: str | None, scope: Scope, actor: str, reason: str
    ) -> bool:
        turn = None if turn_id is None else clean(turn_id)
        values = (clean(thread_id), turn, clean(actor), clean(reason), _listed(scope.tenants))
        return bool(await self._fetch(statement("cli_reveal_turn"), values))

    async def _set_aside(self, ref: SetAsideRef, scope: Scope) -> GivenUpRecord | None:
        known_only = _is_bounded(scope)
        if not await self._covers(scope, ref.thread_id):
            return None
        found = await self._reading.set_aside_turn(clean(ref.thread_id), ref.revision, known_tenant_only=known_only)
        return None if found is None else GivenUpRecord(ref, found)

    async def _covers(self, scope: Scope, thread_id: str) -> bool:
        """Whether the thread is there within reach. A turn in progress may be of a thread that no row says more of."""
        bound = await self._reading.tenant(clean(thread_id))
        return bound is not None and scope.covers_tenant(bound.tenant_id)

    async def _fetch(self, sql: str, parameters: Sequence[object]) -> list[asyncpg.Record]:
        try:
            return await self._pool.fetch(sql, parameters)
        except DRIVER_ERRORS as error:
            raise refused(error) from error


def _is_bounded(scope: Scope) -> bool:
    return scope.tenants is not None


def _listed(values: Iterable[str] | None) -> list[str] | None:
    return None if values is None else sorted(map(clean, values))


def _within(document: Document, scope: Scope, *lists: str) -> Document:
    """The document without receipts of effects that are out of scope."""
    if scope.effects is None:
        return document
    return document | {name: _covered(document[name], scope.effects) for name in lists}


def _covered(receipts: JsonValue, effects: frozenset[str]) -> list[JsonValue]:
    listed = receipts if isinstance(receipts, list) else []
    return [receipt for receipt in listed if isinstance(receipt, dict) and receipt.get("effect") in effects]

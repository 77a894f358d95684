"""The world of the receipts' state machine: one effect on real Postgres, its provider, and time that passes as a test wants it.

Time passes by making everything that is stored about the receipt older: what the database compares with its own clock is then
as long ago. Moments that matter are hundreds of seconds away from those that a test can reach, so that a slow machine changes
no answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

import asyncpg
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import Prepare, Prepared
from intention_kernel.ports.receipt_ledger import OpenReceipt
from intention_kernel.postgres.operator_queue import PostgresQueue
from intention_kernel.postgres.reconciliation_rows import open_receipt
from intention_kernel.postgres.statements import statement
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.reconciliation.admissible import Terms
from intention_kernel.testing.boundary_calls import begun, new_thread, prepare_of

CALL_SECONDS = 10_400.0
QUIET_SECONDS = 30_400.0
WINDOW_SECONDS = 90_805.0
LEASE_SECONDS = 10_000_000.0
TERMS = Terms(call_timeout_seconds=CALL_SECONDS, quiet_period_seconds=QUIET_SECONDS)

_AGE = (
    "update receipts set prepared_at = prepared_at - $2, first_prepared_at = first_prepared_at - $2,"
    " call_deadline = call_deadline - $2, returned_at = returned_at - $2, retry_until = retry_until - $2 where thread_id = $1",
    "update processes set started_at = started_at - $2, stopped_at = stopped_at - $2 where instance = $1",
    "update audit_log set at = at - $2 where thread_id = $1",
    "update reconciliation_items set next_look_at = next_look_at - $2 where thread_id = $1",
)
_SEEN = (
    "select r.state, r.version, r.contradicted, r.settlements, (select count(*) from reconciliation_items as i"
    " where i.thread_id = r.thread_id and i.kind = 'effect' and i.phase = 'open') as open_items,"
    " (select count(*) from reconciliation_items as i where i.thread_id = r.thread_id and i.kind = 'effect'"
    " and i.phase = 'open' and i.settlement = r.settlements + 1) as next_items from receipts as r where r.thread_id = $1"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The receipt's row, and its open items: all, and those of its next settlement."""

    state: ReceiptState
    version: int
    contradicted: bool
    settlements: int
    open_items: int
    next_items: int

    @property
    def needs_somebody(self) -> bool:
        """Whether it waits for a resolver or a person."""
        return self.state == "uncertain" or self.contradicted


@dataclass(slots=True)
class Call:
    """A request to the provider: it may still be sent, is on its way since a moment, or has arrived."""

    may_send: bool = True
    sent_at: float | None = None

    @property
    def is_on_its_way(self) -> bool:
        """Sent, and not there yet."""
        return self.sent_at is not None

    @property
    def may_arrive(self) -> bool:
        """Whether the provider may still see it."""
        return self.may_send or self.is_on_its_way


@dataclass(slots=True)
class Retry:
    """A repeat of the call by a reconciler, and what it was recorded as."""

    due: OpenReceipt
    version: int
    earlier_unfinished: bool
    until: float
    call: Call = field(default_factory=Call)


class World:
    """One thread with one receipt. `applied` is how many effects the provider made of it, `now` seconds since the prepare."""

    def __init__(self, connection: asyncpg.Connection, store: PostgresStore, queue: PostgresQueue) -> None:
        self.connection, self.store, self.queue = connection, store, queue
        self.thread = new_thread()
        self.now = 0.0
        self.deduplicates = False
        self.applied = 0
        self.applied_at = 0.0
        self.attempt = Call()
        self.retries: list[Retry] = []
        self.lease_is_live = True
        self.contested_by: set[str] = set()
        self.boot: UUID = random_id()
        self.ask: Prepare

    async def prepare(self, *, deduplicates: bool) -> None:
        """Permission to call, once."""
        self.deduplicates = deduplicates
        fence = (await begun(self.store, self.thread, "turn-1")).fence
        self.ask = replace(
            prepare_of(self.thread, "turn-1", fence),
            deduplicates=deduplicates,
            key_window_seconds=WINDOW_SECONDS if deduplicates else None,
            call_timeout_seconds=CALL_SECONDS,
            lease_seconds=LEASE_SECONDS,
            instance=self.thread,
            boot=self.boot,
        )
        assert isinstance(await self.store.prepare(self.ask), Prepared)
        sql = (
            "insert into processes (instance, boot, started_at) values ($1, $2, clock_timestamp() - interval '1 hour')"
        )
        await self.connection.execute(sql, self.thread, self.boot)

    async def pass_by(self, seconds: float) -> None:
        """That much time; what was on its way for longer than a request takes has arrived."""
        async with self.connection.transaction():
            await self.connection.execute("set local intention.forgets = 'on'")
            for sql in _AGE:
                await self.connection.execute(sql.replace("$2", f"make_interval(secs => {seconds})"), self.thread)
        for call in self.calls:
            if call.sent_at is not None and call.sent_at + QUIET_SECONDS <= self.now + seconds:
                self.arrive(call)
        self.now += seconds

    @property
    def calls(self) -> list[Call]:
        """All that was ever granted."""
        return [self.attempt, *(retry.call for retry in self.retries)]

    @property
    def running(self) -> Retry | None:
        """The repeat that nobody may settle beside (R26)."""
        return next((retry for retry in self.retries if retry.until > self.now), None)

    def arrive(self, call: Call) -> None:
        """The provider takes it for the same effect while it knows the key."""
        call.sent_at = None
        if not (self.deduplicates and self.applied and self.now <= self.applied_at + WINDOW_SECONDS):
            self.applied += 1
            self.applied_at = self.now

    def can_take_effect(self) -> bool:
        """Whether an effect may still come about that is not there."""
        return not self.applied and any(call.may_arrive for call in self.calls)

    async def seen(self) -> Seen:
        """The receipt as it is now."""
        row = await self.connection.fetchrow(_SEEN, self.thread)
        assert row is not None
        return Seen(**dict(row))

    async def due(self) -> OpenReceipt:
        """As a reconciler or a person reads it."""
        receipt = await self.connection.fetchval("select receipt_id from receipts where thread_id = $1", self.thread)
        row = await self.connection.fetchrow(statement("reconciler_queue_receipt"), receipt)
        assert row is not None
        return open_receipt(row)

    async def workers_stopped(self) -> None:
        """A person says so, and it is so."""
        for call in self.calls:
            call.may_send = False
        await self.connection.execute(
            statement("reconciler_state_stopped"), self.thread, self.ask.effect_key, "ana", b""
        )

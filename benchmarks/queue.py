"""The operator's queue over all that was ever settled: a page, one receipt, and the reconciler's scan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from time import perf_counter

import asyncpg
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ids import receipt_id
from intention_kernel.postgres.migrate import migrate
from intention_kernel.postgres.operator_queue import PostgresQueue, open_queue
from intention_kernel.postgres.packing import pack
from intention_kernel.reconciliation.listing import Page, list_items
from intention_kernel.reconciliation.showing import show
from intention_kernel.servers.embedded import embedded_servers

from benchmarks.by_hand import SQL
from benchmarks.plan import Plan, progress
from benchmarks.result import Result, percentile

_EFFECT_KEY = "bank.charge:order"
_PAGE = 50
_QUERIES = (
    "",
    "owner:none age>2h",
    "provider:provider-3",
    "status:contradicted",
    "amount>500 tenant:tenant-7",
    "window<1h",
)
_SCANNED = 64
_BATCH = 500_000
_SERVER: Mapping[str, str] = {
    "shared_buffers": "2GB",
    # For the filling, of which nothing is measured.
    "max_wal_size": "16GB",
    "full_page_writes": "off",
    "fsync": "off",
    "autovacuum": "off",
}
_PAYLOAD = pack(b'{"order":"A-1041","amount":"240.00","currency":"EUR","note":"' + b"n" * 120 + b'"}')
_VALUE = pack(b'{"charge":"ch_3Q7Xy2","status":"succeeded"}')


@dataclass(frozen=True, slots=True)
class _Times:
    """Milliseconds of every call."""

    pages: dict[str, list[float]] = field(default_factory=dict)
    shown: list[float] = field(default_factory=list)
    scans: list[float] = field(default_factory=list)


async def queue(plan: Plan, data_dir: Path) -> list[Result]:
    """`plan.open_items` wait for people, first alone and then beside `plan.settled_items` that are done."""
    async with embedded_servers(data_dir, say=progress, postgres_settings=_SERVER) as servers:
        await migrate(servers.database_url)
        async with _filling(servers.database_url) as connection:
            await _fill_open(connection, plan.open_items)
            await connection.execute("vacuum analyze")
        alone = await _measured(servers.database_url, plan, settled=0)
        async with _filling(servers.database_url) as one, _filling(servers.database_url) as other:
            await asyncio.gather(_fill_settled(one, plan), _fill_around(other, plan))
            await one.execute("vacuum analyze")
        beside = await _measured(servers.database_url, plan, settled=plan.settled_items)
    return _results(plan, alone, beside)


@asynccontextmanager
async def _filling(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Rows as they are left, without the triggers that led to them."""
    connection = await asyncpg.connect(database_url, command_timeout=None)
    try:
        await connection.execute("set session_replication_role = replica; set synchronous_commit = off")
        yield connection
    finally:
        await connection.close()


async def _fill_open(connection: asyncpg.Connection, count: int) -> None:
    await connection.execute(SQL["fill_threads"], 1, count)
    await connection.execute(SQL["fill_receipts"], 1, count, "uncertain", _PAYLOAD, _VALUE)
    await connection.execute(SQL["fill_transitions"], 1, count, "uncertain")
    await connection.execute(SQL["fill_items"], 1, count, "open")
    await connection.execute(SQL["fill_observations"], 1, count)
    await connection.execute(SQL["fill_blocked"], 1, count)


async def _fill_settled(connection: asyncpg.Connection, plan: Plan) -> None:
    for first, until in _batches(plan):
        await connection.execute(SQL["fill_receipts"], first, until, "completed", _PAYLOAD, _VALUE)
        progress(f"queue: {until - plan.open_items:,} settled of {plan.settled_items:,}")


async def _fill_around(connection: asyncpg.Connection, plan: Plan) -> None:
    """What settled receipts leave beside themselves."""
    for first, until in _batches(plan):
        await connection.execute(SQL["fill_transitions"], first, until, "completed")
        await connection.execute(SQL["fill_items"], first, until, "done")
        await connection.execute(SQL["fill_decisions"], first, until, _VALUE)
        await connection.execute(SQL["fill_observations"], first, until)
        await connection.execute(SQL["fill_audit"], first, until)


def _batches(plan: Plan) -> Iterator[tuple[int, int]]:
    """The numbers of settled receipts, first and last of each."""
    last = plan.open_items + plan.settled_items
    for first in range(plan.open_items + 1, last + 1, _BATCH):
        yield first, min(first + _BATCH - 1, last)


async def _measured(database_url: str, plan: Plan, *, settled: int) -> _Times:
    times = _Times()
    async with open_queue(database_url) as store:
        for query in _QUERIES:
            times.pages[query] = [await _timed(partial(_page, store, query)) for _ in range(plan.queue_calls)]
        for number in _numbers(plan, settled):
            times.shown.append(await _timed(partial(_show, store, number)))
        times.scans.extend([await _timed(partial(store.scan, _SCANNED)) for _ in range(plan.queue_calls)])
    return times


def _numbers(plan: Plan, settled: int) -> Sequence[int]:
    """Of receipts all over the tables, open and settled ones in turns; without settled ones open ones alone."""
    opens = [1 + n * plan.open_items // plan.queue_calls for n in range(plan.queue_calls)]
    dones = (
        [plan.open_items + 1 + n * settled // plan.queue_calls for n in range(plan.queue_calls)] if settled else opens
    )
    chosen = cycle((opens, dones))
    return [next(chosen)[n] for n in range(plan.queue_calls)]


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    start = perf_counter()
    await call()
    return (perf_counter() - start) * 1000


async def _page(store: PostgresQueue, query: str) -> None:
    found = await list_items(store, query, reader="ana", limit=_PAGE)
    assert isinstance(found, Page), found
    assert found.items, query


async def _show(store: PostgresQueue, number: int) -> None:
    shown = await show(store, receipt_id(f"thread-{number}", _EFFECT_KEY))
    assert shown is not None, number


def _results(plan: Plan, alone: _Times, beside: _Times) -> list[Result]:
    by_query: dict[str, JsonValue] = {query or "(none)": median(ms) for query, ms in beside.pages.items()}
    sizes: dict[str, JsonValue] = {"open": plan.open_items, "settled": plan.settled_items}
    return [
        _result("queue_list", _all(alone), _all(beside), {**sizes, "median_ms_by_query": by_query}),
        _result("queue_show", alone.shown, beside.shown, sizes),
        _result("scan", alone.scans, beside.scans, sizes),
    ]


def _all(times: _Times) -> list[float]:
    return [ms for each in times.pages.values() for ms in each]


def _result(name: str, alone: Sequence[float], beside: Sequence[float], detail: dict[str, JsonValue]) -> Result:
    ours, reference = median(beside), median(alone)
    worst: dict[str, JsonValue] = {"p99_ms": percentile(beside, 0.99), "worst_ms": max(beside)}
    return Result(name, ours, reference, ours / reference, "ms", len(beside), {**detail, **worst})

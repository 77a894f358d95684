"""`boundary_N`: the durable boundary alone, N threads at once, against the same by hand, in rounds that take turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id
from intention_kernel.postgres.migrate import migrate
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.servers.lock import directory_lock
from intention_kernel.servers.postgres import postgres_server

from benchmarks.by_hand import HandSide, create_tables, held_connections
from benchmarks.ours import OurSide
from benchmarks.payloads import payloads
from benchmarks.plan import Plan, progress
from benchmarks.result import Result, compared
from benchmarks.sides import Round, Threads

MOST_CONNECTIONS = 16
"""Of the hand-written side: enough for a group commit of its own, and what two cores can serve."""


@dataclass(frozen=True, slots=True)
class _Measured:
    ours: list[Round]
    by_hand: list[Round]


async def boundary(threads: int, plan: Plan, data_dir: Path) -> list[Result]:
    """One Postgres with its default settings, a database for each side."""
    async with _postgres(data_dir) as database_url:
        await _require_durability(database_url)
        measured = await _measure(database_url, threads, plan)
    return [_result(threads, measured)]


@asynccontextmanager
async def _postgres(data_dir: Path) -> AsyncIterator[str]:
    async with directory_lock(data_dir, progress) as lock, postgres_server(data_dir, lock=lock, say=progress) as server:
        yield server.database_url


async def _measure(database_url: str, threads: int, plan: Plan) -> _Measured:
    thread_ids = [f"thread-{number}" for number in range(threads)]
    ours_url, hand_url = [await _new_database(database_url, f"{side}_{threads}") for side in ("ours", "by_hand")]
    await migrate(ours_url)
    await create_tables(hand_url, thread_ids)
    bodies = payloads()
    async with (
        PostgresStore.open(ours_url) as store,
        held_connections(hand_url, min(threads, MOST_CONNECTIONS)) as connections,
    ):
        ours = Threads(OurSide(store, bodies, random_id()), thread_ids)
        by_hand = Threads(HandSide(connections, bodies), thread_ids)
        return await _rounds(ours, by_hand, plan)


async def _rounds(ours: Threads, by_hand: Threads, plan: Plan) -> _Measured:
    """The first round of each warms up; then they take turns, and who begins alternates."""
    await ours.round(plan.round_seconds / 2)
    await by_hand.round(plan.round_seconds / 2)
    measured = _Measured([], [])
    pair = [(ours, measured.ours), (by_hand, measured.by_hand)]
    for _ in range(plan.rounds):
        for side, rounds in pair:
            rounds.append(await side.round(plan.round_seconds))
        pair.reverse()
        progress(f"{measured.ours[-1].rate:,.0f} turns/s, by hand {measured.by_hand[-1].rate:,.0f}")
    return measured


def _result(threads: int, measured: _Measured) -> Result:
    client: dict[str, JsonValue] = {
        "ours": median(one.client_cpu_us for one in measured.ours),
        "reference": median(one.client_cpu_us for one in measured.by_hand),
    }
    server: dict[str, JsonValue] = {
        "ours": median(one.server_cpu_us for one in measured.ours),
        "reference": median(one.server_cpu_us for one in measured.by_hand),
    }
    sizes: JsonValue = payloads()[0].sizes()
    return compared(
        f"boundary_{threads}",
        "turns/s",
        sum(one.turns for one in measured.ours),
        [one.rate for one in measured.ours],
        [one.rate for one in measured.by_hand],
        {
            "client_cpu_us": client,
            "server_cpu_us": server,
            "connections_by_hand": min(threads, MOST_CONNECTIONS),
            "bytes": sizes,
        },
    )


async def _new_database(database_url: str, name: str) -> str:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(f"create database {name}")
    finally:
        await connection.close()
    return urlunsplit(urlsplit(database_url)._replace(path=f"/{name}"))


async def _require_durability(database_url: str) -> None:
    """A server that does not flush what it commits measures something else."""
    connection = await asyncpg.connect(database_url)
    try:
        found = {name: await connection.fetchval(f"show {name}") for name in ("fsync", "synchronous_commit")}
    finally:
        await connection.close()
    if set(found.values()) != {"on"}:
        raise ConfigurationError(f"the benchmark wants a durable Postgres, this one has {found}")

"""What a durable receipt costs, and what a turn leaves behind: the same turns with and without an effect, in one run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ids import random_id
from intention_kernel.servers.embedded import embedded_servers

from benchmarks.application import AGENT, PLAIN
from benchmarks.by_hand import SQL
from benchmarks.load import Load, open_load
from benchmarks.machine import cpu_seconds, server_cpu_seconds
from benchmarks.plan import Plan, progress
from benchmarks.result import Result
from benchmarks.system import PARTITIONS, Running, running_processes

_THREADS = 8
_WARM_TURNS = 40


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two agents, with threads of its own; `bytes` and `cpu` are of a turn."""

    load: Load
    ms: list[float]
    wal_bytes: list[float]
    stored_bytes: list[float]
    cpu_us: list[float]


async def durable_receipt(plan: Plan, data_dir: Path) -> list[Result]:
    """One turn at a time, the two agents in turns: the difference is the receipt."""
    async with (
        embedded_servers(data_dir, say=progress) as servers,
        running_processes(servers) as running,
        _side(running) as ours,
        _side(running, PLAIN) as plain,
    ):
        for side in (ours, plain):
            await side.load.run(_WARM_TURNS, at_once=1)
        for _ in range(plan.rounds):
            for side in (ours, plain):
                await _round(running, side, plan.single_turns // 2)
    return _results(ours, plain, plan)


@asynccontextmanager
async def _side(running: Running, agent_id: str = AGENT) -> AsyncIterator[_Side]:
    threads = [f"{agent_id}-{random_id().hex[:8]}-{number}" for number in range(_THREADS)]
    servers, prefix = running.installation.kafka_bootstrap_servers, running.installation.topic_prefix
    async with open_load(servers, prefix, PARTITIONS, threads, agent_id) as load:
        yield _Side(load, [], [], [], [])


async def _round(running: Running, side: _Side, turns: int) -> None:
    before, used = await _sizes(running), _cpu(running)
    took = await side.load.run(turns, at_once=1)
    await running.system.await_rows("select 1 where not exists (select from outbox)")
    after = await _sizes(running)
    side.ms.extend(seconds * 1000 for seconds in took)
    side.wal_bytes.append((after["wal"] - before["wal"]) / turns)
    side.stored_bytes.append((after["stored"] - before["stored"]) / turns)
    side.cpu_us.append((_cpu(running) - used) / turns * 1e6)


async def _sizes(running: Running) -> Mapping[str, int]:
    [row] = await running.system.fetch(SQL["sizes"])
    return {"wal": int(row["wal"]), "stored": int(row["stored"])}


def _cpu(running: Running) -> float:
    """Of all processes that a turn keeps busy but the load and the broker."""
    return sum(map(cpu_seconds, running.processes.values())) + server_cpu_seconds("postgres")


def _results(ours: _Side, plain: _Side, plan: Plan) -> list[Result]:
    with_effect, without = median(ours.ms), median(plain.ms)
    detail: dict[str, JsonValue] = {
        "extra_ms": with_effect - without,
        "extra_cpu_us": median(ours.cpu_us) - median(plain.cpu_us),
        "extra_wal_bytes": median(ours.wal_bytes) - median(plain.wal_bytes),
    }
    sizes: dict[str, JsonValue] = {
        "stored": _mean(ours.stored_bytes),
        "plain_wal": median(plain.wal_bytes),
        "plain_stored": _mean(plain.stored_bytes),
    }
    wal = median(ours.wal_bytes)
    return [
        Result("durable_receipt", with_effect, without, with_effect / without, "ms", len(ours.ms), detail),
        Result("turn_bytes", wal, None, None, "bytes of WAL/turn", len(ours.ms), sizes),
    ]


def _mean(values: Sequence[float]) -> float:
    """Tables grow by pages and by steps: over all rounds, not in the middle one."""
    return sum(values) / len(values)

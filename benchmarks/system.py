"""The whole system: real processes on real servers, from a request on its topic to the last event on its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import psutil
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import IntentionKernelError
from intention_kernel.ids import random_id
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.postgres.migrate import migrate
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.embedded import embedded_servers
from intention_kernel.testing.system import QUICK_SETTINGS, Installation, System, open_system
from turn_runner.settings import RunnerSettings

from benchmarks.application import EVENTS
from benchmarks.by_hand import SQL
from benchmarks.load import Load, open_load
from benchmarks.machine import cpu_seconds, server_cpu_seconds
from benchmarks.plan import Plan, progress
from benchmarks.result import Result, percentile

PARTITIONS = 4
THREADS = 200
_WARM_TURNS = 5  # of each thread


@dataclass(frozen=True, slots=True)
class Running:
    """A running system: runner and relay with default settings, and the processes whose CPU is counted."""

    system: System
    installation: Installation
    processes: Mapping[str, psutil.Process]


@dataclass(frozen=True, slots=True)
class _Bench:
    """A running system, and what loads it."""

    system: System
    load: Load
    thread_ids: Sequence[str]
    processes: Mapping[str, psutil.Process]

    def cpu_seconds(self) -> dict[str, float]:
        """What each process has used up to now."""
        used = {name: cpu_seconds(process) for name, process in self.processes.items()}
        used["load"] = cpu_seconds(psutil.Process())
        used["postgres"] = server_cpu_seconds("postgres")
        used["kafka"] = server_cpu_seconds("java")
        return used


@dataclass(frozen=True, slots=True)
class _Round:
    turns: int
    seconds: float
    took: Sequence[float]
    cpu: Mapping[str, float]

    @property
    def rate(self) -> float:
        return self.turns / self.seconds


async def one_at_a_time(plan: Plan, data_dir: Path) -> list[Result]:
    """Request produced -> last event consumed, nothing else running. Eight threads take turns."""
    thread_ids = _thread_ids(8)
    async with _running(data_dir, thread_ids) as bench:
        await bench.load.run(_WARM_TURNS * len(thread_ids), at_once=1)
        took = await bench.load.run(plan.single_turns, at_once=1)
        left = await _account(bench, _WARM_TURNS * len(thread_ids) + plan.single_turns)
    ms = [seconds * 1000 for seconds in took]
    detail: dict[str, JsonValue] = {
        "p90_ms": percentile(ms, 0.9),
        "p99_ms": percentile(ms, 0.99),
        "worst_ms": max(ms),
        "bytes": left,
    }
    return [Result("one_at_a_time", median(ms), None, None, "ms", len(ms), detail)]


async def whole_turn(plan: Plan, data_dir: Path) -> list[Result]:
    """A closed loop: 200 threads on 4 partitions, each with one turn under way at any time."""
    thread_ids = _thread_ids(THREADS)
    async with _running(data_dir, thread_ids) as bench:
        await bench.load.run(_WARM_TURNS * THREADS, at_once=THREADS)
        rounds = [await _round(bench, plan.round_turns) for _ in range(plan.rounds)]
        left = await _account(bench, _WARM_TURNS * THREADS + plan.rounds * plan.round_turns)
    return _results(rounds, left)


@asynccontextmanager
async def _running(data_dir: Path, thread_ids: Sequence[str]) -> AsyncIterator[_Bench]:
    """The system under one load; the servers have their default settings, too."""
    async with embedded_servers(data_dir, say=progress) as servers, running_processes(servers) as running:
        prefix = running.installation.topic_prefix
        async with open_load(servers.kafka_bootstrap_servers, prefix, PARTITIONS, thread_ids) as load:
            yield _Bench(running.system, load, thread_ids, running.processes)


@asynccontextmanager
async def running_processes(servers: Servers) -> AsyncIterator[Running]:
    """A migrated database and topics, a runner and a relay that are ready."""
    installation = await migrated_installation(servers, _default_settings())
    async with open_system(installation) as system:
        runner, relay = await system.start_runner(), await system.start_relay()
        await runner.await_ready()
        await relay.await_ready()
        yield Running(system, installation, {"runner": psutil.Process(runner.pid), "relay": psutil.Process(relay.pid)})


async def migrated_installation(servers: Servers, settings: Mapping[str, str]) -> Installation:
    """Tables and topics for the benchmarks' application; no process yet."""
    prefix = f"bench-{random_id().hex[:8]}."
    await create_missing_topics(servers.kafka_bootstrap_servers, prefix, PARTITIONS)
    await migrate(servers.database_url, partitions=PARTITIONS)
    application = "benchmarks.application:application"
    return Installation(servers.database_url, servers.kafka_bootstrap_servers, prefix, application, settings)


def _default_settings() -> dict[str, str]:
    """In place of QUICK_SETTINGS: what a process has that is told nothing."""
    fields = RunnerSettings.model_fields
    names = {name: name.removeprefix("INTENTION_").lower() for name in QUICK_SETTINGS}
    return {name: str(fields[member].default) for name, member in names.items() if member in fields}


async def _round(bench: _Bench, turns: int) -> _Round:
    before, start = bench.cpu_seconds(), perf_counter()
    took = await bench.load.run(turns, at_once=THREADS)
    seconds, after = perf_counter() - start, bench.cpu_seconds()
    done = _Round(turns, seconds, took, {name: after[name] - used for name, used in before.items()})
    progress(f"{done.rate:,.0f} turns/s, runner {done.cpu['runner'] / turns * 1e6:,.0f} µs a turn")
    return done


def _results(rounds: Sequence[_Round], left: dict[str, JsonValue]) -> list[Result]:
    n = sum(one.turns for one in rounds)
    rates: list[JsonValue] = [one.rate for one in rounds]
    ms = [seconds * 1000 for one in rounds for seconds in one.took]
    cpu: dict[str, JsonValue] = {
        name: median(one.cpu[name] / one.turns * 1e6 for one in rounds) for name in rounds[0].cpu
    }
    turns: dict[str, JsonValue] = {
        "rounds": rates,
        "p50_ms": percentile(ms, 0.5),
        "p99_ms": percentile(ms, 0.99),
        "cpu_us": cpu,
    }
    runner_ms = median(one.cpu["runner"] / one.turns * 1000 for one in rounds)
    return [
        Result("whole_turn", median(one.rate for one in rounds), None, None, "turns/s", n, {**turns, "bytes": left}),
        Result("runner_cpu", runner_ms, None, None, "ms/turn", n),
    ]


async def _account(bench: _Bench, turns: int) -> dict[str, JsonValue]:
    """What was stored. Raises where a turn is missing, came twice, or has other events than it should."""
    (row,) = await bench.system.fetch(SQL["committed_turns"], list(bench.thread_ids))
    found = (row["turns"], row["fewest_events"], row["most_events"])
    if found != (turns, EVENTS, EVENTS):
        raise IntentionKernelError(
            f"the run left {found[0]} turns of {found[1]} to {found[2]} events, not {turns} of {EVENTS}"
        )
    return {"checkpoint_stored": row["checkpoint_bytes"], "events_stored": row["events_bytes"]}


def _thread_ids(count: int) -> list[str]:
    run = random_id().hex[:8]
    return [f"thread-{run}-{number}" for number in range(count)]

"""How long a crash is felt: a runner dies by SIGKILL, and others serve its threads; its receipt comes to the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.ids import random_id
from intention_kernel.servers.embedded import embedded_servers
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import System, open_system

from benchmarks.application import AGENT, PLAIN
from benchmarks.by_hand import SQL
from benchmarks.plan import Plan, progress
from benchmarks.result import Result
from benchmarks.system import migrated_installation

TIMEOUT_SECONDS = 2.0
"""Of the Kafka session and of the lease: what a crash cannot be noticed before."""

_LOOK_AGAIN_SECONDS = 0.005

_SETTINGS: Mapping[str, str] = {
    "INTENTION_LEASE_SECONDS": str(TIMEOUT_SECONDS),
    "INTENTION_SESSION_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
}


async def crashes(plan: Plan, data_dir: Path) -> list[Result]:
    """Each crash is one of a runner that stands at a failpoint, so that it surely has the turn."""
    async with embedded_servers(data_dir, say=progress) as servers:
        installation = await migrated_installation(servers, _SETTINGS)
        async with open_system(installation) as system:
            for process in (await system.start_relay(), await system.start_reconciler()):
                await process.await_ready()
            served = [await _served(system, number) for number in range(plan.crashes)]
            listed = [await _listed(system, number) for number in range(plan.crashes)]
    return [_result("recover", served), _result("crash_to_queue", listed)]


async def _served(system: System, number: int) -> float:
    """Seconds from the death of a runner that has begun a turn to the commit of that turn by another."""
    dying, other = await _two_runners(system, "runner.after_begin=stop", number)
    thread_id = await _sent_to(system, dying, PLAIN)
    died = _killed(dying)
    await system.await_rows(SQL["committed"], thread_id)
    took = perf_counter() - died
    await _ended(other, dying)
    progress(f"recover: {took:.2f} s")
    return took


async def _listed(system: System, number: int) -> float:
    """Seconds from the death of a runner that has prepared an effect to the receipt's item in the queue."""
    dying, other = await _two_runners(system, "runner.after_prepare=stop", number)
    thread_id = await _sent_to(system, dying, AGENT)
    died = _killed(dying)
    await system.await_rows(SQL["listed"], thread_id)
    took = perf_counter() - died
    await _ended(other, dying)
    progress(f"crash_to_queue: {took:.2f} s")
    return took


async def _two_runners(system: System, failpoint: str, number: int) -> tuple[Process, Process]:
    dying = await system.start_runner(failpoint, instance=f"dying-{number}")
    other = await system.start_runner(instance=f"other-{number}")
    await dying.await_ready()
    await other.await_ready()
    return dying, other


async def _sent_to(system: System, dying: Process, agent_id: str) -> str:
    """A thread whose turn the dying runner stands in: threads are tried until one is on a partition of its own."""
    while True:
        thread_id = f"thread-{random_id().hex}"
        await system.send(
            TurnRequest(
                schema_version=1,
                thread_id=thread_id,
                turn_id="turn",
                agent_id=agent_id,
                input=TurnInput(text="reserve"),
            )
        )
        while not dying.is_stopped():
            if await system.fetch(SQL["committed"], thread_id):
                break
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        else:
            return thread_id


def _killed(process: Process) -> float:
    process.kill()
    return perf_counter()


async def _ended(*processes: Process) -> None:
    for process in processes:
        process.terminate()
        await process.await_end()


def _result(name: str, seconds: list[float]) -> Result:
    took = median(seconds)
    detail: dict[str, JsonValue] = {"worst": max(seconds), "best": min(seconds), "beyond": took - TIMEOUT_SECONDS}
    return Result(name, took, TIMEOUT_SECONDS, took / TIMEOUT_SECONDS, "s", len(seconds), detail)

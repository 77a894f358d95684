"""The scenarios of the protocol's model on real Postgres, for a fixed set of seeds (protocol R1-R6, R11, R14-R31)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from intention_kernel.ids import random_id

from tests.stress.run import open_bench, run
from tests.stress.scenario import SCENARIOS
from tests.stress.seeds import SEEDS
from tests.stress.world import Bench
from tests.support.servers import SharedServers, create_database, drop_database

LANES = 3
"""So many databases: the waits of one run are the work of another. A scan sees a whole database, so runs share none."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Programs fail on purpose here; their tracebacks say nothing."""
    logging.getLogger("intention_kernel").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("intention_kernel").setLevel(logging.NOTSET)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def benches(servers: SharedServers) -> AsyncIterator[list[Bench]]:
    names = [f"test_{random_id().hex[:16]}" for _ in range(LANES)]
    urls = [await create_database(servers, name, template=servers.template) for name in names]
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_bench(url)) for url in urls]
    for name in names:
        await drop_database(servers, name)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_promises_hold(scenario: str, benches: list[Bench]) -> None:
    """Every fault of the scenario, wherever these seeds put it."""
    waiting = iter(SEEDS[scenario])

    async def lane(bench: Bench) -> None:
        for seed in waiting:
            await run(scenario, seed, bench)

    async with asyncio.TaskGroup() as group:
        for bench in benches:
            group.create_task(lane(bench))

"""One set of servers for all workers of a run, gone with the process that the run was started in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.state import DATABASE_URL, KAFKA_BOOTSTRAP_SERVERS

from tests.servers.foreground import is_running, wait_until
from tests.support.servers import Run, SharedServers, current_run, stop_shared_servers

_WORKER = """
import dataclasses, json, sys
from pathlib import Path
from tests.support.servers import Run, shared_servers
print(json.dumps(dataclasses.asdict(shared_servers(Run(Path(sys.argv[1]), int(sys.argv[2]))))))
"""


def _workers(run: Run, servers: Servers) -> list[SharedServers]:
    """What two workers of a run on `servers` get when both ask at the same moment."""
    addresses = {DATABASE_URL: servers.database_url, KAFKA_BOOTSTRAP_SERVERS: servers.kafka_bootstrap_servers}
    command = [sys.executable, "-c", _WORKER, str(run.directory), str(run.controller_pid)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **addresses}) for _ in range(2)]
    return [SharedServers(**json.loads(worker.communicate(timeout=90)[0])) for worker in workers]


async def _exists(servers: Servers, database: str) -> bool:
    connection = await asyncpg.connect(servers.database_url)
    try:
        return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database))
    finally:
        await connection.close()


@pytest.fixture
def controller() -> Iterator[subprocess.Popen[bytes]]:
    """A process to end the run with; nobody waits for it before the test is over, as after a kill."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


async def test_workers_share_one_keeper_and_it_ends_when_the_controller_is_killed(
    tmp_path: Path, servers: SharedServers, controller: subprocess.Popen[bytes]
) -> None:
    run = Run(tmp_path / "run", controller.pid)
    first, second = _workers(run, servers)
    assert first == second
    assert await _exists(servers, first.template)
    keeper = psutil.Process(int((run.directory / "keeper.pid").read_text()))
    controller.kill()
    wait_until(lambda: not is_running(keeper), seconds=30, what="the end of the keeper")
    assert not run.directory.exists()
    assert not await _exists(servers, first.template)


async def test_the_controller_stops_the_keeper_and_its_template_goes(tmp_path: Path, servers: SharedServers) -> None:
    run = Run(tmp_path / "run", os.getpid())
    assert run.is_mine
    first, _ = _workers(run, servers)
    keeper = psutil.Process(int((run.directory / "keeper.pid").read_text()))
    stop_shared_servers(run)
    assert not is_running(keeper)
    assert not await _exists(servers, first.template)
    assert not run.directory.exists()


def test_a_pytest_inside_a_test_shares_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_run() == current_run()
    monkeypatch.setenv("INTENTION_TEST_RUN", f"{os.getppid()}:/elsewhere")
    assert current_run() == Run(Path("/elsewhere"), os.getppid())
    assert not current_run().is_mine

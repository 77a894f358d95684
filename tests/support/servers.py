"""One Postgres and one Kafka for a whole test run, started when the first test asks for them.

The process that pytest was started in (with xdist: the controller) chooses a run directory and leaves it in the
environment, where xdist's workers find it. The first worker whose test needs servers takes a lock there and starts a
keeper: a process of its own that brings the servers up (embedded, docker or external), migrates a template database,
writes the addresses into the run directory and waits until the controller tells it to stop or is gone.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import psutil
from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id
from intention_kernel.postgres.migrate import migrate
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.select import selected_servers

RUN_VARIABLE = "INTENTION_TEST_RUN"
PARTITIONS = 4
"""Of every topic of a test; each partition costs the broker something."""
_START_SECONDS = 300.0
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.05
_CONTROLLER_POLL_SECONDS = 0.5
# A killed process loses nothing by this; only a machine that loses power would.
_SETTINGS = {"max_connections": "300", "fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class SharedServers(Servers):
    """The run's servers, and the name of the migrated database from which tests get copies."""

    template: str


@dataclass(frozen=True, slots=True)
class Run:
    """One pytest run: its directory, and the process that ends it."""

    directory: Path
    controller_pid: int

    @property
    def is_mine(self) -> bool:
        """True in the controller, false in workers and in a pytest that a test starts."""
        return os.getpid() == self.controller_pid


def current_run() -> Run:
    """This pytest run; the first call, in the controller, names it. Nothing is created before servers are needed."""
    named = os.environ.get(RUN_VARIABLE)
    if named is None:
        directory = Path(tempfile.gettempdir()) / f"intention-tests-{os.getpid()}-{random_id().hex[:8]}"
        named = os.environ[RUN_VARIABLE] = f"{os.getpid()}:{directory}"
    pid, _, directory_name = named.partition(":")
    return Run(Path(directory_name), int(pid))


def with_database(database_url: str, database: str) -> str:
    """The same server and user, another database."""
    return urlunsplit(urlsplit(database_url)._replace(path=f"/{database}"))


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("wb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _spawn_keeper(run: Run) -> int:
    """Not a child object of ours: it outlives a worker, and ends with the controller."""
    log = os.open(run.directory / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "tests.support.servers", str(run.directory), str(run.controller_pid)],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
        )
    finally:
        os.close(log)


def _alive(pid: int) -> bool:
    """A killed process that its parent has not waited for yet is not alive."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def shared_servers(run: Run) -> SharedServers:
    """The run's servers, started if nobody has yet. Raises with the keeper's last words when they do not come up."""
    run.directory.mkdir(mode=0o755, exist_ok=True)
    addresses = run.directory / "addresses.json"
    with _locked(run.directory / "lock"):
        if not addresses.exists():
            keeper = _spawn_keeper(run)
            (run.directory / "keeper.pid").write_text(str(keeper))
            deadline = time.monotonic() + _START_SECONDS
            while not addresses.exists():
                if not _alive(keeper) or time.monotonic() > deadline:
                    raise RuntimeError("no test servers:\n" + (run.directory / "keeper.log").read_text()[-4000:])
                time.sleep(_POLL_SECONDS)
    return SharedServers(**json.loads(addresses.read_text()))


def stop_shared_servers(run: Run) -> None:
    """End the keeper, if one was started, and wait for it; the run directory goes with it. For the controller."""
    pid_file = run.directory / "keeper.pid"
    if pid_file.exists():
        with suppress(psutil.NoSuchProcess):
            keeper = psutil.Process(int(pid_file.read_text()))
            keeper.terminate()
            keeper.wait(_STOP_SECONDS)
    shutil.rmtree(run.directory, ignore_errors=True)


async def create_database(servers: Servers, name: str, *, template: str = "template0") -> str:
    """A new database copied from `template`; its URL."""
    connection = await asyncpg.connect(servers.database_url)
    try:
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
    finally:
        await connection.close()
    return with_database(servers.database_url, name)


async def drop_database(servers: Servers, name: str) -> None:
    """Drop it, whoever is still connected."""
    connection = await asyncpg.connect(servers.database_url)
    try:
        await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    finally:
        await connection.close()


def _say(line: str) -> None:
    print(line, flush=True)


async def _keep(directory: Path, controller_pid: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with selected_servers(
        directory / "data", environment=os.environ, say=_say, postgres_settings=_SETTINGS
    ) as servers:
        template = f"intention_template_{random_id().hex[:12]}"
        await migrate(await create_database(servers, template), partitions=PARTITIONS)
        try:
            partial = directory / "addresses.tmp"
            shared = SharedServers(servers.database_url, servers.kafka_bootstrap_servers, template)
            partial.write_text(json.dumps(asdict(shared)))
            partial.rename(directory / "addresses.json")
            while not stop.is_set() and _alive(controller_pid):
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _CONTROLLER_POLL_SECONDS)
        finally:
            await drop_database(servers, template)


def main() -> None:
    """The keeper: `python -m tests.support.servers RUN_DIRECTORY CONTROLLER_PID`."""
    os.setsid()
    directory, controller_pid = Path(sys.argv[1]), int(sys.argv[2])
    try:
        asyncio.run(_keep(directory, controller_pid))
    except ConfigurationError as error:
        sys.exit(str(error))
    finally:
        if not _alive(controller_pid):
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

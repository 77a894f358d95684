"""Postgres and Kafka with nothing to set up: both start together, and both end with us."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.jars import default_jar_cache
from intention_kernel.servers.kafka import RunningKafka, kafka_server
from intention_kernel.servers.lock import directory_lock
from intention_kernel.servers.postgres import RunningPostgres, postgres_server
from intention_kernel.servers.supervisor import Child

_NEEDED_BYTES = 300 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class EmbeddedServers(Servers):
    """Two servers of ours."""

    postgres: Child
    kafka: Child

    async def wait_until_one_stops(self) -> str:
        """Returns what to tell people when a server ended by itself."""
        waits = {
            asyncio.ensure_future(child.wait()): (name, child)
            for name, child in (("Postgres", self.postgres), ("Kafka", self.kafka))
        }
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        first = done.pop()
        name, child = waits[first]
        return f"{name} stopped by itself (exit code {first.result()}):\n{child.log_tail()}"


def _prepared(data_dir: Path) -> Path:
    """The directory as an absolute path, there and writable and with room."""
    data_dir = data_dir.resolve()
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot create the data directory {data_dir}: {error.strerror}") from error
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise ConfigurationError(f"the data directory {data_dir} is not writable: change its owner or choose another")
    free = shutil.disk_usage(data_dir).free
    if free < _NEEDED_BYTES:
        raise ConfigurationError(
            f"only {free // 2**20} MB are free for {data_dir}; the two servers need {_NEEDED_BYTES // 2**20} MB"
        )
    return data_dir


def _remove_data(data_dir: Path) -> None:
    for path in (*data_dir.glob("pg[0-9]*"), data_dir / "kafka"):
        shutil.rmtree(path, ignore_errors=True)


def _failure(results: Sequence[object]) -> BaseException | None:
    """What to raise: everything that people can put right in one error, anything else as it is."""
    errors = [result for result in results if isinstance(result, BaseException)]
    problems: list[str] = []
    for error in errors:
        if isinstance(error, ConfigurationError):
            problems += error.problems
        elif isinstance(error, OSError):
            problems.append(f"the servers could not be set up: {error}")
        else:
            return error
    return ConfigurationError(*problems) if problems else None


async def _start_both(
    stack: AsyncExitStack, data_dir: Path, lock: int, say: Callable[[str], None], settings: Mapping[str, str]
) -> EmbeddedServers:
    results: tuple[RunningPostgres | BaseException, RunningKafka | BaseException] = await asyncio.gather(
        stack.enter_async_context(postgres_server(data_dir, lock=lock, say=say, settings=settings)),
        stack.enter_async_context(kafka_server(data_dir, lock=lock, jar_cache=default_jar_cache(), say=say)),
        return_exceptions=True,
    )
    postgres, kafka = results
    if isinstance(postgres, BaseException) or isinstance(kafka, BaseException):
        failure = _failure(results)
        assert failure is not None
        raise failure
    return EmbeddedServers(postgres.database_url, kafka.bootstrap_servers, postgres.child, kafka.child)


@asynccontextmanager
async def embedded_servers(
    data_dir: Path,
    *,
    say: Callable[[str], None],
    keep: bool = True,
    postgres_settings: Mapping[str, str] | None = None,
) -> AsyncIterator[EmbeddedServers]:
    """Both servers on `data_dir`, started side by side, on loopback; when it yields, both answer.

    They end with the context, and with this process however it ends. `keep=False` removes the data of an earlier run
    first and its own at the end. `postgres_settings` are Postgres settings by name. `say` is told of progress, one
    line at a time, from the event loop. One ConfigurationError lists everything that is missing or in the way.
    """
    data_dir = _prepared(data_dir)
    async with directory_lock(data_dir, say) as lock:
        try:
            if not keep:
                _remove_data(data_dir)
            async with AsyncExitStack() as stack:
                yield await _start_both(stack, data_dir, lock, say, postgres_settings or {})
        finally:
            if not keep:
                _remove_data(data_dir)

"""The two servers under a campaign: somebody else's, or own ones that can be killed and come back with their data."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from intention_kernel.errors import InfrastructureError
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.jars import default_jar_cache
from intention_kernel.servers.kafka import kafka_server
from intention_kernel.servers.lock import directory_lock
from intention_kernel.servers.postgres import postgres_server
from intention_kernel.servers.select import external_servers

_SETTINGS: Mapping[str, str] = {"max_connections": "200"}
_GONE_SECONDS = 30.0


class Ground:
    """Made by `opened_ground`. `scratch` is a folder for anything else."""

    def __init__(self, servers: Servers, scratch: Path, own: OwnServers | None = None) -> None:
        self.servers = servers
        self.scratch = scratch
        self._own = own

    @property
    def is_own(self) -> bool:
        """Whether they may be killed."""
        return self._own is not None

    @property
    def own(self) -> OwnServers:
        """The servers as those that may be killed. Raises InfrastructureError where they are somebody else's."""
        if self._own is None:
            raise InfrastructureError(
                "this campaign kills its servers; unset the addresses of yours, and it starts some"
            )
        return self._own


@dataclass(slots=True)
class OwnServers:
    """Embedded servers. After a kill the same address answers again once `start_…` has returned."""

    data: Path
    lock: int
    postgres: AsyncExitStack = field(default_factory=AsyncExitStack)
    kafka: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start_postgres(self) -> str:
        """Its URL; returns when it answers."""
        self.postgres = AsyncExitStack()
        running = await self.postgres.enter_async_context(
            postgres_server(self.data, lock=self.lock, say=_silent, settings=_SETTINGS)
        )
        return running.database_url

    async def start_kafka(self) -> str:
        """Its address; returns when it answers."""
        self.kafka = AsyncExitStack()
        running = await self.kafka.enter_async_context(
            kafka_server(self.data, lock=self.lock, jar_cache=default_jar_cache(), say=_silent)
        )
        return running.bootstrap_servers

    def postgres_pid(self) -> int:
        """The postmaster's."""
        [cluster] = self.data.glob("pg[0-9]*")
        return int((cluster / "postmaster.pid").read_text("ascii").partition("\n")[0])

    async def kill_postgres(self) -> None:
        """SIGKILL to the postmaster and all its children; returns when they are gone."""
        postmaster = psutil.Process(self.postgres_pid())
        _kill_all([postmaster, *postmaster.children(recursive=True)])
        await self.postgres.aclose()

    async def stop_postgres(self) -> None:
        """A fast shutdown, in order."""
        await self.postgres.aclose()

    async def kill_kafka(self) -> None:
        """SIGKILL to the broker; returns when it is gone."""
        _kill_all([self.kafka_process()])
        await self.kafka.aclose()

    async def stop_kafka(self) -> None:
        """A shutdown in order."""
        await self.kafka.aclose()

    def kafka_process(self) -> psutil.Process:
        """The broker's JVM."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.name() == "java" and process.cmdline()[-1].startswith(str(self.data)):
                    return process
        raise InfrastructureError("the broker does not run")

    async def aclose(self) -> None:
        """Stop what runs."""
        await self.kafka.aclose()
        await self.postgres.aclose()


def _kill_all(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(processes, timeout=_GONE_SECONDS)
    if alive:
        raise InfrastructureError(f"{alive} did not end by SIGKILL")


def _silent(_: str) -> None:
    """Servers that come and go need no words."""


@asynccontextmanager
async def opened_ground(data: Path, *, own: bool) -> AsyncIterator[Ground]:
    """Servers on `data`, ended and removed at the end; those that the environment names unless `own` ones are needed."""
    external = external_servers(os.environ)
    if external is not None and not own:
        yield Ground(external, data)
        return
    async with directory_lock(data, _silent) as lock:
        servers = OwnServers(data, lock)
        try:
            database_url, bootstrap = await servers.start_postgres(), await servers.start_kafka()
            yield Ground(Servers(database_url, bootstrap), data, servers)
        finally:
            await servers.aclose()

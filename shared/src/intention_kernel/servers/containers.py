"""The same two servers from their official images, for machines that have a container engine (testcontainers)."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol, TypeVar

from intention_kernel.clock import SystemClock
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.broker_probe import answers_api_versions
from intention_kernel.servers.jars import KAFKA_VERSION
from intention_kernel.servers.kafka import broker_properties
from intention_kernel.servers.postgres import DATABASE, MAJOR

POSTGRES_IMAGE = f"postgres:{MAJOR}"
KAFKA_IMAGE = f"apache/kafka:{KAFKA_VERSION}"
_KAFKA_PORT = 9092
START_SCRIPT = "/tmp/start-with-address.sh"
"""Inside the image: started once the mapped port is known."""
_START_SECONDS = 120.0
_POLL_SECONDS = 0.1


class Container(Protocol):
    """What we use of a testcontainers container; all of it blocks."""

    def start(self) -> object: ...

    def stop(self) -> None: ...

    def with_command(self, command: list[str]) -> Container: ...

    def get_container_host_ip(self) -> str: ...

    def get_exposed_port(self, port: int) -> int: ...

    def copy_into_container(self, transferable: bytes, destination_in_container: str, mode: int) -> None: ...

    def get_logs(self) -> tuple[bytes, bytes]: ...


class DatabaseContainer(Container, Protocol):
    """A Postgres container."""

    def with_command(self, command: list[str]) -> DatabaseContainer: ...

    def get_connection_url(self) -> str: ...


def kafka_environment() -> dict[str, str]:
    """The broker's properties as the image takes them: KAFKA_, upper case, dots as underscores.

    The broker talks to itself over a listener inside the container: the advertised one is an address of the host.
    """
    listeners = {
        "controller.quorum.voters": "1@localhost:9094",
        "listeners": f"PLAINTEXT://0.0.0.0:{_KAFKA_PORT},BROKER://localhost:9093,CONTROLLER://localhost:9094",
        "inter.broker.listener.name": "BROKER",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": "/tmp/kraft-combined-logs",
    }
    properties = broker_properties(listeners)
    return {"KAFKA_" + name.upper().replace(".", "_"): value for name, value in properties.items()}


def kafka_start_script(host: str, port: int) -> str:
    """What the container runs once the engine has told which port of the host is its."""
    advertised = f"PLAINTEXT://{host}:{port},BROKER://localhost:9093"
    return f"#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS={advertised}\nexec /etc/kafka/docker/run\n"


def _postgres_container(settings: Mapping[str, str]) -> DatabaseContainer:
    postgres = importlib.import_module("testcontainers.community.postgres")
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    container: DatabaseContainer = postgres.PostgresContainer(
        POSTGRES_IMAGE, username="postgres", password="postgres", dbname=DATABASE, driver=None
    )
    return container.with_command(["postgres", *options])


def _kafka_container() -> Container:
    core = importlib.import_module("testcontainers.core.container")
    waiting = f"until [ -s {START_SCRIPT} ]; do sleep 0.1; done; exec bash {START_SCRIPT}"
    container: Container = core.DockerContainer(
        KAFKA_IMAGE, env=kafka_environment(), ports=[_KAFKA_PORT], entrypoint=["sh", "-c"]
    )
    return container.with_command([waiting])


ContainerType = TypeVar("ContainerType", bound=Container)


async def _started(stack: AsyncExitStack, make: Callable[[], ContainerType]) -> ContainerType:
    """Start a container off the event loop; it is removed when `stack` closes, and by the engine's reaper otherwise."""
    try:
        container = await asyncio.to_thread(make)
        stack.push_async_callback(asyncio.to_thread, container.stop)
        await asyncio.to_thread(container.start)
    except Exception as error:  # docker, requests and testcontainers each have an error tree of their own
        raise ConfigurationError(
            f"the container engine could not start a test server ({type(error).__name__}: {error}): "
            "is it running? INTENTION_TEST_SERVERS=embedded needs none"
        ) from error
    return container


async def _start_kafka(stack: AsyncExitStack) -> str:
    container = await _started(stack, _kafka_container)
    host = await asyncio.to_thread(container.get_container_host_ip)
    port = await asyncio.to_thread(container.get_exposed_port, _KAFKA_PORT)
    script = kafka_start_script(host, port).encode()
    await asyncio.to_thread(container.copy_into_container, script, START_SCRIPT, 0o755)
    clock = SystemClock()
    deadline = clock.monotonic_seconds() + _START_SECONDS
    while not await answers_api_versions(host, port):
        if clock.monotonic_seconds() > deadline:
            stdout, stderr = await asyncio.to_thread(container.get_logs)
            raise ConfigurationError(f"Kafka's container does not answer:\n{(stdout + stderr)[-4000:].decode()}")
        await asyncio.sleep(_POLL_SECONDS)
    return f"{host}:{port}"


@asynccontextmanager
async def container_servers(*, postgres_settings: Mapping[str, str] | None = None) -> AsyncIterator[Servers]:
    """Postgres and Kafka in containers, removed afterwards; ConfigurationError when no engine answers."""
    if importlib.util.find_spec("testcontainers") is None:
        raise ConfigurationError("INTENTION_TEST_SERVERS=docker needs the package testcontainers: pip install it")
    async with AsyncExitStack() as stack:
        postgres = await _started(stack, lambda: _postgres_container(postgres_settings or {}))
        database_url = await asyncio.to_thread(postgres.get_connection_url)
        yield Servers(database_url, await _start_kafka(stack))

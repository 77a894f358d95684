"""`intention dev`: everything on this machine, from one command."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import click

from intention_kernel.application.loading import load_application
from intention_kernel.cli.dev_console import sign_in_line
from intention_kernel.cli.dev_processes import DevProcess, start_process
from intention_kernel.cli.exit_codes import FAILED, OK
from intention_kernel.cli.installing import install
from intention_kernel.cli.settings import APPLICATION, DEV_DIRECTORY, TOPIC_PREFIX
from intention_kernel.lifecycle import stop_requested
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.embedded import EmbeddedServers, embedded_servers
from intention_kernel.servers.ports import free_port
from intention_kernel.servers.state import (
    DATABASE_URL,
    KAFKA_BOOTSTRAP_SERVERS,
    read_state,
    remove_state,
    state_lines,
    write_state,
)

_EXAMPLE = "examples.fan7:application"
_INVENTORY_URL = "FAN7_INVENTORY_URL"
_PARTITIONS = 12
_RECONCILER = "receipt-reconciler"
_SERVICES = ("turn-runner", "outbox-relay", _RECONCILER)
_CONSOLE_PORT, _CONSOLE_HOST, _HOST = "INTENTION_CONSOLE_PORT", "INTENTION_CONSOLE_HOST", "127.0.0.1"


@click.command()
@click.option("--servers-only", is_flag=True, help="Postgres and Kafka alone, migrated.")
@click.option("--application", metavar="M:A", envvar=APPLICATION, help=f"The application; by default {_EXAMPLE}.")
@click.option(
    "--data",
    "data_dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEV_DIRECTORY,
    show_default=True,
    metavar="DIR",
    help="Where the servers keep their data between runs.",
)
@click.pass_context
def dev(context: click.Context, /, data_dir: Path, application: str | None, *, servers_only: bool) -> None:
    """Run everything on this machine: Postgres, Kafka, the three services, and the operators' console.

    Prints where the console is and how to sign in, and one line that starts with `ready` when all of it answers; runs until
    Ctrl-C. What the services say goes to stderr. The file .intention/env tells other commands in this directory where the servers are.

    Example: intention dev --application shop.agents:application
    """
    name = None if servers_only else _application(application)
    context.exit(asyncio.run(_run(data_dir.resolve(), name)))


def _application(named: str | None) -> str:
    """The application to run, which can be loaded: better said now than by a service later."""
    if named is None and importlib.util.find_spec("examples") is None:
        raise click.UsageError(f"no application: give --application module:attribute, or set {APPLICATION}")
    load_application(named or _EXAMPLE)
    return named or _EXAMPLE


async def _run(data_dir: Path, application: str | None) -> int:
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(stop_requested())
        stopping = asyncio.ensure_future(_asked(stop))
        running = asyncio.ensure_future(_bring_up(stack, data_dir, application))
        try:
            await asyncio.wait({stopping, running}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                click.echo(stopping.result(), err=True)
                return OK
            servers, processes = running.result()
            click.echo("ready: stop with Ctrl-C")
            return await _until_the_end(stopping, servers, processes)
        finally:
            stopping.cancel()
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def _asked(stop: asyncio.Event) -> str:
    await stop.wait()
    return "stopping: what is in hand is finished first"


async def _bring_up(
    stack: AsyncExitStack, data_dir: Path, application: str | None
) -> tuple[EmbeddedServers, list[DevProcess]]:
    servers = await stack.enter_async_context(embedded_servers(data_dir, say=click.echo))
    prefix = os.environ.get(TOPIC_PREFIX, "")
    await install(servers.database_url, servers.kafka_bootstrap_servers, prefix, _PARTITIONS, click.echo)
    more = {TOPIC_PREFIX: prefix} | ({APPLICATION: application} if application else {})
    await stack.enter_async_context(_state_file(data_dir, servers, more))
    for line in state_lines(servers):
        click.echo(line)
    if application is None:
        return servers, []
    environment = {
        **os.environ,
        DATABASE_URL: servers.database_url,
        KAFKA_BOOTSTRAP_SERVERS: servers.kafka_bootstrap_servers,
        APPLICATION: application,
    }
    return servers, await _start_processes(stack, data_dir, environment)


async def _start_processes(stack: AsyncExitStack, data_dir: Path, environment: dict[str, str]) -> list[DevProcess]:
    processes: list[DevProcess] = []
    stack.push_async_callback(_stop, processes)
    if environment[APPLICATION] == _EXAMPLE and not environment.get(_INVENTORY_URL):
        port = free_port()
        arguments = ["-m", "examples.fan7.inventory", "--port", str(port)]
        arguments += ["--database", str(data_dir / "inventory.db")]
        processes.append(await start_process("inventory", arguments, environment, port, "/ledger"))
        environment = {**environment, _INVENTORY_URL: f"http://127.0.0.1:{port}"}
    wanted = environment.get(_CONSOLE_PORT, "")
    console_port = str(free_port()) if wanted in ("", "0") else wanted
    for name in _SERVICES:
        port = free_port()
        ported = {**environment, "INTENTION_HTTP_PORT": str(port)}
        if name == _RECONCILER:
            ported |= {_CONSOLE_PORT: console_port, _CONSOLE_HOST: _HOST}
        processes.append(await start_process(name, [name, "run"], ported, port, "/readyz"))
    await asyncio.gather(*(_ready(process) for process in processes))
    click.echo(f"console: http://{_HOST}:{console_port}: {await sign_in_line(environment[DATABASE_URL])}")
    return processes


async def _stop(processes: list[DevProcess]) -> None:
    await asyncio.gather(*(process.stop() for process in processes))


async def _ready(process: DevProcess) -> None:
    await process.wait_until_ready()
    click.echo(f"{process.name}: {process.url}")


@asynccontextmanager
async def _state_file(data_dir: Path, servers: Servers, more: dict[str, str]) -> AsyncIterator[None]:
    """The file in the data directory and, where that is another, the one that commands in this directory read."""
    directories = _state_directories(data_dir)
    for directory in directories:
        write_state(directory, servers, more)
    try:
        yield
    finally:
        for directory in directories:
            written = read_state(directory)
            # Another run may have written the file of this directory since.
            if written is not None and written.database_url == servers.database_url:
                remove_state(directory)


def _state_directories(data_dir: Path) -> set[Path]:
    here = DEV_DIRECTORY.resolve()
    here.mkdir(exist_ok=True)
    return {data_dir, here}


async def _until_the_end(stopping: asyncio.Future[str], servers: EmbeddedServers, processes: list[DevProcess]) -> int:
    ends = [asyncio.ensure_future(servers.wait_until_one_stops())]
    ends += [asyncio.ensure_future(process.wait_until_it_ends()) for process in processes]
    try:
        done, _ = await asyncio.wait({stopping, *ends}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
    if stopping in done:
        click.echo(stopping.result(), err=True)
        return OK
    for end in ends:
        if end in done:
            click.echo(end.result(), err=True)
    return FAILED

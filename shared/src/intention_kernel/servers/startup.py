"""Bring a server up on a free port: start, wait until it answers, take another port when this one is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.ports import LOOPBACK, free_port, remembered_port
from intention_kernel.servers.supervisor import Child

_START_SECONDS = 90.0
_POLL_SECONDS = 0.02
_PORT_TRIES = 5


@dataclass(frozen=True, slots=True)
class Startup:
    """How one server comes up.

    `answers` must be sure that it is this server that answers, since another may have taken the port a moment before.
    `address_taken`: what it logs, one of these, when it cannot have its port.
    """

    name: str
    data: Path
    port_file: Path
    launch: Callable[[int], Awaitable[Child]]
    answers: Callable[[int], Awaitable[bool]]
    address_taken: tuple[str, ...]


async def _until_it_answers(startup: Startup, port: int) -> None:
    while True:
        if await startup.answers(port):
            return
        await asyncio.sleep(_POLL_SECONDS)


async def _ready(startup: Startup, child: Child, port: int) -> bool:
    """True when it answers, False when it ended; ConfigurationError when it does neither in time."""
    answering = asyncio.ensure_future(_until_it_answers(startup, port))
    ending = asyncio.ensure_future(child.wait())
    try:
        done, _ = await asyncio.wait({answering, ending}, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        answering.cancel()
        ending.cancel()
        await asyncio.gather(answering, ending, return_exceptions=True)
    if not done:
        raise ConfigurationError(
            f"{startup.name} did not answer within {_START_SECONDS:.0f} s (data in {startup.data}):\n{child.log_tail()}"
        )
    if ending in done:
        return False
    answering.result()
    return True


async def _launched(startup: Startup, port: int) -> tuple[Child, bool]:
    child = await startup.launch(port)
    try:
        return child, await _ready(startup, child, port)
    except BaseException:
        await child.stop()
        raise


async def start_on_a_free_port(startup: Startup) -> tuple[Child, int]:
    """The running server and its port: that of the last run if it is free still, so that addresses stay good.

    Raises ConfigurationError, with the server's last words, when it does not come up.
    """
    port = remembered_port(startup.port_file)
    for _ in range(_PORT_TRIES):
        child, ready = await _launched(startup, port)
        if ready:
            startup.port_file.write_text(f"{port}\n", "ascii")
            return child, port
        await child.stop()
        words = child.log_tail()
        if not any(mark in words for mark in startup.address_taken):
            raise ConfigurationError(f"{startup.name} did not start (data in {startup.data}):\n{words}")
        port = free_port()
    raise ConfigurationError(
        f"{startup.name} found {_PORT_TRIES} ports of {LOOPBACK} taken that were free a moment before: "
        "something on this machine takes every port; look for it and run again"
    )

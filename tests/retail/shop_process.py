"""A real shop process on a free port of loopback, for tests that kill it or lose its replies."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.testing.processes import Process

from examples.retail.shop_client import ShopClient

COMMAND = (sys.executable, "-m", "examples.retail.shop")
_LISTENING = "listening on "


@asynccontextmanager
async def running_shop(database: Path, failpoints: str = "") -> AsyncIterator[tuple[Process, ShopClient]]:
    """The process over the extract's records and a client of it; what still runs at the end is killed."""
    command: list[str | Path] = [*COMMAND, "--port", "0", "--database", database]
    environment = {"INTENTION_FAILPOINTS": failpoints}
    async with await Process.start("shop", command, environment, ready=_LISTENING) as process:
        url = (await process.await_ready()).removeprefix(_LISTENING)
        async with ShopClient(url, timeout_seconds=30) as client:
            yield process, client

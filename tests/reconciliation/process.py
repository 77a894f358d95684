"""The real `receipt-reconciler`, started, killed and stopped by a test."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.reconciliation.app import VARIABLE

_END_SECONDS = 30.0
QUICK = {
    "INTENTION_RECONCILE_SECONDS": "0.1",
    "INTENTION_RECONCILE_LOOKUP_SECONDS": "0.5",
    "INTENTION_RECONCILE_BACKOFF_SECONDS": "0.1",
    "INTENTION_RECONCILE_BACKOFF_LIMIT_SECONDS": "0.5",
    "INTENTION_RECONCILE_CONTINUATION_SECONDS": "0.5",
}


class ReconcilerProcess:
    """One life of the process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.ready_line = ""

    async def ready(self) -> str:
        """The line that starts `ready`."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_END_SECONDS):
            while not self.ready_line.startswith("ready"):
                line = await self._process.stdout.readline()
                assert line, "it ended before it was ready"
                self.ready_line = line.decode().strip()
        return self.ready_line

    @property
    def port(self) -> int:
        """Of /livez and /readyz; once ready."""
        return int(self.ready_line.rpartition("http=")[2])

    async def http_status(self, path: str) -> int:
        """The status that its HTTP server answers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return int(head.split()[1])

    async def ended(self) -> int:
        """Its exit status, once it has ended by itself."""
        async with asyncio.timeout(_END_SECONDS):
            return await self._process.wait()

    async def stop(self) -> int:
        """SIGTERM; its exit status."""
        self._process.terminate()
        return await self.ended()

    async def end(self) -> None:
        """Whatever it is doing."""
        if self._process.returncode is None:
            self._process.kill()
            await self.ended()


@asynccontextmanager
async def started(
    url: str, provider: Path, failpoints: str = "", application: str = "tests.reconciliation.app:application"
) -> AsyncIterator[ReconcilerProcess]:
    """A process of this test's application; ended at the end, if it has not ended by then."""
    environment = (
        {name: value for name, value in os.environ.items() if not name.startswith("INTENTION_")}
        | QUICK
        | {
            "INTENTION_DATABASE_URL": url,
            "INTENTION_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "INTENTION_APPLICATION": application,
            "INTENTION_FAILPOINTS": failpoints,
            VARIABLE: str(provider),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "receipt_reconciler", "run", env=environment, stdout=asyncio.subprocess.PIPE
    )
    running = ReconcilerProcess(process)
    try:
        yield running
    finally:
        await running.end()
